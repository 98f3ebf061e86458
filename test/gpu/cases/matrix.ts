/** @file Determinants and inverses on the GPU against loops in double precision. */
import type { StorageType } from "../../../cuda-runtime/ir/storage.ts";
import { emitMatrix } from "../../../cuda-runtime/kernels/matrix/matrix.ts";
import type { KernelCase } from "../../../cuda-runtime/session/harness.ts";

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
      emitMatrix(harness.emitter, { kind, input, output });
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

export const cases: readonly KernelCase[] = [
  matrixCase("determinant", "float32", 5, 4),
  matrixCase("determinant", "float32", 2, 33),
  matrixCase("determinant", "float64", 3, 20),
  matrixCase("inverse", "float32", 3, 7),
  matrixCase("inverse", "float64", 1, 40),
];
