/** @file Fourier transforms on the GPU against loops in double precision. */
import type { StorageType } from "../../../cuda-runtime/ir/storage.ts";
import { emitFourier } from "../../../cuda-runtime/kernels/fourier/fourier.ts";
import type { KernelCase, Tolerance } from "../../../cuda-runtime/session/harness.ts";

const single: Tolerance = { relative: 1e-5, absolute: 1e-4 };

interface FourierCase {
  readonly type: StorageType;
  readonly rows: number;
  readonly samples: number;
  readonly parts: 1 | 2;
  readonly length?: number;
  readonly bins?: number;
  readonly isInverse?: boolean;
  readonly isWindowed?: boolean;
}

/** [rows, samples, parts] along axis 1. */
function fourierCase(each: FourierCase): KernelCase {
  const { type, rows, samples, parts, length = samples, bins = length, isInverse = false, isWindowed } = each;
  return {
    name: `dft ${type} ${rows}x${samples}x${parts} of ${length} to ${bins}${isInverse ? " inverse" : ""}`,
    run(harness) {
      const input = harness.tensor(type, [rows, samples, parts], { seed: 3 });
      const window = isWindowed ? harness.tensor("float32", [length], { seed: 4 }) : undefined;
      const output = harness.output(type, [rows, bins, 2]);
      const flags = { isInverse, isMirrored: false, operator: "DFT" };
      emitFourier(harness.emitter, { input, output, axis: 1, length, window, ...flags });
      harness.execute();
      const values = harness.values(input);
      const factors = window && harness.values(window);
      const expected: number[] = [];
      for (let row = 0; row < rows; row++) {
        for (let bin = 0; bin < bins; bin++) {
          let [real, imaginary] = [0, 0];
          for (let t = 0; t < Math.min(samples, length); t++) {
            const angle = ((isInverse ? 2 : -2) * Math.PI * ((bin * t) % length)) / length;
            const at = (row * samples + t) * parts;
            const factor = factors?.[t] ?? 1;
            const x = factor * (values[at] ?? 0);
            const y = parts === 2 ? factor * (values[at + 1] ?? 0) : 0;
            real += x * Math.cos(angle) - y * Math.sin(angle);
            imaginary += x * Math.sin(angle) + y * Math.cos(angle);
          }
          const scale = isInverse ? 1 / length : 1;
          expected.push(real * scale, imaginary * scale);
        }
      }
      harness.expectClose(
        output,
        expected,
        type === "float64" ? { relative: 1e-9, absolute: 1e-9 } : single,
        "bins",
      );
    },
  };
}

/** Half a spectrum of a real signal gives the signal back. */
const mirrored: KernelCase = {
  name: "dft of half a spectrum",
  run(harness) {
    for (const length of [8, 9, 600]) {
      const signal = harness.tensor("float32", [2, length, 1], { seed: length });
      const half = harness.output("float32", [2, Math.floor(length / 2) + 1, 2]);
      const back = harness.output("float32", [2, length, 1]);
      const common = { axis: 1, length, window: undefined, operator: "DFT" };
      emitFourier(harness.emitter, {
        input: signal,
        output: half,
        ...common,
        isInverse: false,
        isMirrored: false,
      });
      emitFourier(harness.emitter, {
        input: half,
        output: back,
        ...common,
        isInverse: true,
        isMirrored: true,
      });
      harness.execute();
      harness.expectClose(back, harness.values(signal), single, `signal of ${length}`);
    }
  },
};

export const cases: readonly KernelCase[] = [
  fourierCase({ type: "float32", rows: 3, samples: 16, parts: 1 }),
  fourierCase({ type: "float32", rows: 2, samples: 700, parts: 2 }),
  fourierCase({ type: "float32", rows: 2, samples: 300, parts: 1, bins: 151, isWindowed: true }),
  fourierCase({ type: "float32", rows: 2, samples: 20, parts: 2, length: 33 }),
  fourierCase({ type: "float32", rows: 2, samples: 50, parts: 2, length: 20, isInverse: true }),
  fourierCase({ type: "float64", rows: 1, samples: 400, parts: 2, isInverse: true }),
  mirrored,
];
