/** @file Distances on the GPU against loops in double precision. */
import type { StorageType } from "../../../cuda-runtime/ir/storage.ts";
import { emitDistance } from "../../../cuda-runtime/kernels/distance/distance.ts";
import type { KernelCase, Tolerance } from "../../../cuda-runtime/session/harness.ts";

const single: Tolerance = { relative: 1e-5, absolute: 1e-4 };

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

export const cases: readonly KernelCase[] = [distanceCase("float32", true), distanceCase("float16", false)];
