/**
 * @file Ends of a product's tiles, by TMA where there is a residual: every Hopper tile, what is done to its elements, tails both ways,
 * batches, and more tiles than blocks.
 */
import type { Activation } from "../../../cuda-runtime/ir/epilogue.ts";
import type { Choice } from "../../../cuda-runtime/kernels/gemm/choose.ts";
import { gemmTable, type HopperRow } from "../../../cuda-runtime/kernels/gemm/table.ts";
import type { KernelCase } from "../../../cuda-runtime/session/harness.ts";
import { caseOf, type Draft, type Setup } from "./gemm.ts";

const relu: Activation = { kind: "relu", a: 0, b: 0 };
const plain: Draft = { bias: true };
const added = (precision: "float16" | "bfloat16"): Draft => ({ bias: true, residual: precision, last: relu });

function endCases(row: HopperRow, precision: "float16" | "bfloat16"): KernelCase {
  const { m, n, k } = row;
  const accepts = (choice: Choice) => choice.row === row && !choice.isSwapped && choice.splits === 1;
  const setup = { precision, b: "column", accepts, needs: row } as const;
  const activated = (kind: Activation["kind"], a = 0): Draft => ({
    ...added(precision),
    activation: { kind, a, b: 0 },
  });
  const setups: readonly Setup[] = [
    { ...setup, m, n, k },
    { ...setup, m: m + 3, n: n + 8, k: 3 * k + 8, epilogue: plain },
    { ...setup, m: 5, n: 8, k: 9 * k, epilogue: added(precision) },
    { ...setup, m: 2 * m - 7, n: 2 * n - 24, k: 2 * k, epilogue: added(precision), alpha: 0.5 },
    { ...setup, m: m + 40, n: 2 * n, k: 8, epilogue: { residual: precision, residualOrder: "row" } },
    { ...setup, m: m + 9, n: n + 16, k: 5 * k, epilogue: activated("gelu") },
    { ...setup, m: m + 9, n: n + 16, k, epilogue: activated("silu", 1) },
    { ...setup, m: 2 * m, n, k: 2 * k, epilogue: activated("geluTanh"), gap: 8 },
    { ...setup, m: 70, n: n + 8, k: 2 * k, batchA: [3], batchB: [3], epilogue: added(precision) },
    { ...setup, m: 70, n: n + 8, k, batchA: [2, 3], batchB: [2, 1], epilogue: plain },
    // Each block has several, of which the last rows and columns hang over.
    { ...setup, m: 20 * m - 11, n: 8 * n - 8, k: 2 * k, epilogue: added(precision) },
    { ...setup, m: 20 * m - 11, n: 7 * n, k: 8, epilogue: plain },
  ];
  return caseOf(`${precision} ${row.tile}`, setups);
}

export const cases: readonly KernelCase[] = (["float16", "bfloat16"] as const).flatMap((precision) =>
  gemmTable.flatMap((row) =>
    row.kind === "hopper" && row.team === "none" && row.m * row.n <= 256 * 128 && row.n !== 160
      ? [endCases(row, precision)]
      : [],
  ),
);
