/**
 * @file Products of many rows by few along k: every tile of gemm-thin, tails both ways, k off the instruction's 16, everything that may be
 * done to elements, residuals, rows of any alignment, and more tiles than blocks.
 */
import type { Activation, ActivationKind } from "../../../cuda-runtime/ir/epilogue.ts";
import type { Choice } from "../../../cuda-runtime/kernels/gemm/choose.ts";
import { type ThinRow, thinRows } from "../../../cuda-runtime/kernels/gemm/table.ts";
import type { KernelCase } from "../../../cuda-runtime/session/harness.ts";
import { caseOf, type Draft, describe, type Setup } from "./gemm.ts";

type Precision = "float16" | "bfloat16";

const relu: Activation = { kind: "relu", a: 0, b: 0 };
const kinds: readonly (readonly [ActivationKind, number, number])[] = [
  ["relu", 0, 0],
  ["clip", -0.5, 6],
  ["leakyRelu", 0.1, 0],
  ["sigmoid", 0, 0],
  ["silu", 1, 0],
  ["gelu", 0, 0],
  ["geluTanh", 0, 0],
  ["hardSigmoid", 0.2, 0.5],
  ["hardSwish", 1 / 6, 0.5],
];

function setupOf(row: ThinRow, precision: Precision): (size: Omit<Setup, "precision">) => Setup {
  const accepts = (choice: Choice) => choice.row === row && !choice.isSwapped;
  return (size) => ({ precision, b: "column", accepts, needs: row, ...size });
}

/** Sizes and strides, each alone: what fails has a name. */
function shapeCases(row: ThinRow, precision: Precision): KernelCase[] {
  const { m, n, tile } = row;
  const of = setupOf(row, precision);
  const bias: Draft = { bias: true };
  const added: Draft = { bias: true, residual: precision, last: relu };
  const silu: Activation = { kind: "silu", a: 1, b: 0 };
  const setups: readonly Setup[] = [
    of({ m, n, k: 16 }),
    of({ m: 1, n: 8, k: 8 }),
    ...[8, 24, 40, 64, 72, 96, 104, 144, 160].map((k) => of({ m: 2 * m + 3, n, k, epilogue: bias })),
    of({ m: m + 5, n: 2 * n + 8, k: 48, gap: 8, epilogue: bias }),
    of({ m: m + 5, n: 2 * n - 8, k: 40, pad: 16, epilogue: { ...bias, activation: silu } }),
    // Rows at 2 and at 4 bytes.
    of({ m: m + 9, n: n - 1, k: 32, epilogue: bias }),
    of({ m: m + 9, n: n + 3, k: 24, epilogue: { ...bias, activation: silu } }),
    of({ m: m + 9, n: n - 6, k: 64, epilogue: bias }),
    of({ m: m + 9, n: n + 2, k: 24, pad: 4 }),
    of({ m: m + 9, n: n - 1, k: 16, pad: 1 }),
    of({ m: m + 9, n: n - 1, k: 16, pad: 2, epilogue: bias }),
    // Residuals.
    of({ m, n, k: 32, epilogue: added }),
    of({ m: 2 * m - 7, n: 2 * n - 8, k: 104, epilogue: added }),
    of({ m: m + 1, n: 2 * n, k: 16, pad: 8, epilogue: { residual: precision, activation: silu } }),
  ];
  return setups.map((setup) => caseOf(`${tile} ${describe(setup)}${endOf(setup)}`, [setup]));
}

function endOf({ epilogue: { bias, residual, activation } = {} }: Setup): string {
  return `${bias ? " bias" : ""}${activation ? ` ${activation.kind}` : ""}${residual ? " residual" : ""}`;
}

/** Every activation, alone and before a residual. */
function activationCase(row: ThinRow, precision: Precision): KernelCase {
  const of = setupOf(row, precision);
  const { m, n } = row;
  const setups = kinds.flatMap(([kind, a, b]) => {
    const epilogue: Draft = { bias: true, activation: { kind, a, b } };
    return [
      of({ m: m + 7, n, k: 24, epilogue }),
      of({ m: m + 7, n: n + 8, k: 24, epilogue: { ...epilogue, residual: precision } }),
    ];
  });
  return caseOf(`${precision} ${row.tile} activations`, setups);
}

/** Each block has several tiles: rings come round, and what is stored is overwritten behind it. */
function manyCase(row: ThinRow, precision: Precision): KernelCase {
  const { n, blocks } = row;
  const of = setupOf(row, precision);
  const silu: Activation = { kind: "silu", a: 1, b: 0 };
  // Nine tiles and more for each block of two multiprocessors: rings have up to four stages.
  const [m, multiprocessors] = [19 * blocks * row.m - 11, 2];
  return caseOf(`${precision} ${row.tile} many tiles`, [
    of({ m, n, k: 24, multiprocessors, epilogue: { bias: true, activation: silu } }),
    of({ m, n: 2 * n, k: 160, multiprocessors }),
    of({ m, n: n - 1, k: 8, multiprocessors }),
    of({ m, n, k: 8, multiprocessors, epilogue: { residual: precision } }),
  ]);
}

export const cases: readonly KernelCase[] = (["float16", "bfloat16"] as const).flatMap((precision) =>
  thinRows.flatMap((row) => [
    ...shapeCases(row, precision),
    activationCase(row, precision),
    ...(precision === "float16" ? [manyCase(row, precision)] : []),
  ]),
);
