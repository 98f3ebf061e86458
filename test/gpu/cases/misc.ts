/** @file Fourier transforms, matrices, losses and distances on the GPU against loops in double precision. */

import type { StorageType } from "../../../cuda-runtime/ir/storage.ts";
import { emitDistance } from "../../../cuda-runtime/kernels/distance/distance.ts";
import { emitFourier } from "../../../cuda-runtime/kernels/fourier/fourier.ts";
import { emitLoss } from "../../../cuda-runtime/kernels/loss/loss.ts";
import { emitMatrix } from "../../../cuda-runtime/kernels/matrix/matrix.ts";
import type { Harness, KernelCase, Tolerance } from "../../../cuda-runtime/session/harness.ts";

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

/** Determinant and inverse of a copy of a matrix, in double precision. */
function eliminated(matrix: readonly number[], size: number): { determinant: number; inverse: number[] } {
  const width = 2 * size;
  const work = Array.from({ length: size }, (_, row) =>
    Array.from({ length: width }, (_, column) =>
      column < size ? (matrix[row * size + column] ?? 0) : Number(column - size === row),
    ),
  );
  let determinant = 1;
  for (let k = 0; k < size; k++) {
    const rest = work.slice(k).map((row) => Math.abs(row[k] ?? 0));
    const pivotRow = k + rest.indexOf(Math.max(...rest));
    const [own, other] = [work[k] ?? [], work[pivotRow] ?? []];
    [work[k], work[pivotRow]] = [other, own];
    const pivot = other[k] ?? 0;
    determinant *= pivotRow === k ? pivot : -pivot;
    for (const [row, values] of work.entries()) {
      const factor = row === k ? 0 : (values[k] ?? 0) / pivot;
      for (let column = k; column < width; column++) {
        values[column] = (values[column] ?? 0) - factor * (other[column] ?? 0);
      }
    }
  }
  const inverse = work.flatMap((row, k) => row.slice(size).map((value) => value / (row[k] ?? 1)));
  return { determinant, inverse };
}

function matrixCase(
  kind: "determinant" | "inverse",
  type: StorageType,
  count: number,
  size: number,
): KernelCase {
  return {
    name: `${kind} ${type} ${count} of ${size}x${size}`,
    run(harness) {
      const input = harness.tensor(type, [count, size, size], { seed: size });
      const output = harness.output(type, kind === "inverse" ? [count, size, size] : [count]);
      emitMatrix(harness.emitter, { kind, input, output, operator: kind });
      harness.execute();
      const values = Array.from(harness.values(input));
      const expected = Array.from({ length: count }, (_, at) => {
        const { determinant, inverse } = eliminated(
          values.slice(at * size * size, (at + 1) * size * size),
          size,
        );
        return kind === "inverse" ? inverse : [determinant];
      }).flat();
      const largest = Math.max(...expected.map(Math.abs));
      const share = type === "float64" ? 1e-9 : 1e-3;
      harness.expectClose(output, expected, { relative: share, absolute: share * largest }, kind);
    },
  };
}

interface LossCase {
  readonly type: StorageType;
  readonly batch: number;
  readonly classes: number;
  readonly spatial: number;
  readonly isSoftmax: boolean;
  readonly isWeighted: boolean;
}

function lossCase(each: LossCase): KernelCase {
  const { type, batch, classes, spatial, isSoftmax, isWeighted } = each;
  return {
    name: `loss ${type} ${batch}x${classes}x${spatial}${isSoftmax ? " softmax" : ""}${isWeighted ? " weighted" : ""}`,
    run: (harness) => runLoss(harness, each),
  };
}

function runLoss(harness: Harness, { type, batch, classes, spatial, isSoftmax, isWeighted }: LossCase): void {
  const input = harness.tensor(type, [batch, classes, spatial], { seed: 9, scale: 3 });
  const numbers = Array.from({ length: batch * spatial }, (_, at) => (7 * at + 1) % classes);
  const labels = harness.tensor("int64", [batch, spatial], { values: numbers });
  const weights = isWeighted ? harness.tensor("float32", [classes], { seed: 2 }) : undefined;
  const losses = harness.output("float32", [batch, spatial]);
  const counts = harness.output("float32", [batch, spatial]);
  const logarithms = isSoftmax ? harness.output(type, [batch, classes, spatial]) : undefined;
  const ignored = 1;
  const outputs = { losses, counts, logarithms };
  emitLoss(harness.emitter, { input, labels, weights, ...outputs, isSoftmax, ignored, operator: "Loss" });
  harness.execute();
  const x = harness.values(input);
  const expectedLosses: number[] = [];
  const expectedCounts: number[] = [];
  const expectedLogarithms = new Float64Array(x.length);
  for (const [at, label] of numbers.entries()) {
    const [n, s] = [Math.floor(at / spatial), at % spatial];
    const indices = Array.from({ length: classes }, (_, c) => (n * classes + c) * spatial + s);
    const sum = indices.reduce((total, index) => total + Math.exp(x[index] ?? 0), 0);
    for (const index of indices)
      expectedLogarithms[index] = (x[index] ?? 0) - (isSoftmax ? Math.log(sum) : 0);
    const weight = label === ignored ? 0 : weights === undefined ? 1 : (harness.values(weights)[label] ?? 0);
    expectedCounts.push(weight);
    expectedLosses.push(-weight * (expectedLogarithms[indices[label] ?? 0] ?? 0));
  }
  harness.expectClose(losses, expectedLosses, single, "losses");
  harness.expectClose(counts, expectedCounts, single, "counts");
  const rounding = type === "float32" ? single : { relative: 1e-2, absolute: 1e-2 };
  if (logarithms !== undefined) harness.expectClose(logarithms, expectedLogarithms, rounding, "logarithms");
}

function distanceCase(type: StorageType, isSquared: boolean): KernelCase {
  return {
    name: `distances ${type}${isSquared ? " squared" : ""}`,
    run(harness) {
      const [rows, columns, width] = [37, 29, 65];
      const a = harness.tensor(type, [rows, width], { seed: 1 });
      const b = harness.tensor(type, [columns, width], { seed: 2 });
      const output = harness.output("float32", [rows, columns]);
      emitDistance(harness.emitter, { a, b, output, isSquared });
      harness.execute();
      const [x, y] = [harness.values(a), harness.values(b)];
      const expected = Array.from({ length: rows * columns }, (_, at) => {
        const [row, column] = [Math.floor(at / columns), at % columns];
        let sum = 0;
        for (let i = 0; i < width; i++)
          sum += ((x[row * width + i] ?? 0) - (y[column * width + i] ?? 0)) ** 2;
        return isSquared ? sum : Math.sqrt(sum);
      });
      harness.expectClose(output, expected, single, "distances");
    },
  };
}

export const cases: readonly KernelCase[] = [
  fourierCase({ type: "float32", rows: 3, samples: 16, parts: 1 }),
  fourierCase({ type: "float32", rows: 2, samples: 700, parts: 2 }),
  fourierCase({ type: "float32", rows: 2, samples: 300, parts: 1, bins: 151, isWindowed: true }),
  fourierCase({ type: "float32", rows: 2, samples: 20, parts: 2, length: 33 }),
  fourierCase({ type: "float32", rows: 2, samples: 50, parts: 2, length: 20, isInverse: true }),
  fourierCase({ type: "float64", rows: 1, samples: 400, parts: 2, isInverse: true }),
  mirrored,
  matrixCase("determinant", "float32", 5, 4),
  matrixCase("determinant", "float32", 2, 33),
  matrixCase("determinant", "float64", 3, 20),
  matrixCase("inverse", "float32", 3, 7),
  matrixCase("inverse", "float64", 1, 40),
  lossCase({ type: "float32", batch: 3, classes: 5, spatial: 6, isSoftmax: false, isWeighted: true }),
  lossCase({ type: "float32", batch: 2, classes: 1000, spatial: 7, isSoftmax: true, isWeighted: false }),
  lossCase({ type: "float16", batch: 9, classes: 33, spatial: 1, isSoftmax: true, isWeighted: true }),
  distanceCase("float32", true),
  distanceCase("float16", false),
];
