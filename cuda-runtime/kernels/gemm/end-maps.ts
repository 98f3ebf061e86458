/** @file What the end of a product's tile moves by TMA instead of through registers. */
import type { ActivationKind } from "../../ir/epilogue.ts";
import type { ValuesOf } from "../../ir/param-table.ts";
import type { TensorMap } from "../../ir/params.ts";
import type { hopperStruct } from "../gemm-hopper/params.table.ts";
import { neighboursOf, threeOf } from "./neighbours.ts";
import type { Problem, Target } from "./problem.ts";
import type { HopperRow } from "./table.ts";

type EndFields = Pick<ValuesOf<typeof hopperStruct>, "d" | "residual">;

/** Formulas that TileEnd (core/tile-end.cuh) has; the last one is a limit. */
const firsts: ReadonlySet<ActivationKind> = new Set(["none", "relu", "clip", "gelu", "geluTanh", "silu"]);
const lasts: ReadonlySet<ActivationKind> = new Set(["none", "relu", "clip"]);
/** Of a box, as TileEnd counts them: a warp stores its own rows, and a residual comes a block of wgmma at a time. */
const [rowsOfStore, rowsOfCopy] = [16, 64];

/** Maps are undefined where nothing goes by them. */
export function endFieldsOf(problem: Problem, row: HopperRow): EndFields {
  const { d, residual } = problem;
  if (!copiesEnds(problem, row)) return { d: undefined, residual: undefined };
  const box = row.n % 64 === 0 ? 64 : 32;
  return {
    d: targetMap(d, problem, [box, rowsOfStore]),
    residual: residual && targetMap(residual, problem, [box, rowsOfCopy]),
  };
}

/** Whether there is a kernel of this row whose ends are copied: what a group of warps computes fits a stage of its ring. */
export function hasCopiedEnds({ team, together, m, n, k }: HopperRow): boolean {
  return team === "none" && (together ? m / 2 : m) * n <= (m + n) * k;
}

/** Of such a kernel, behind the entry's name. */
export const copiedEnds = "_ends";

/**
 * Whether tiles of this row go out by TMA: where a residual can come by it (it comes too late through registers: 118 µs or 45, 100352 x 256
 * x 64 on an H200), since an end without one leaves sooner through registers. Halves in whole groups of 16 bytes, of the operands' type;
 * what is done to them is what the kernel knows.
 */
export function copiesEnds(problem: Problem, row: HopperRow): boolean {
  if (!hasCopiedEnds(row)) return false;
  const { a, d, residual, scale, bias, channels, first, last, m } = problem;
  const { type } = a.view;
  if (residual === undefined || (type !== "float16" && type !== "bfloat16")) return false;
  const targets = [d, residual];
  return (
    neighboursOf(problem) === 8 &&
    targets.every(({ view, m: step }) => view.type === type && (step !== 0 || m === 1)) &&
    scale === undefined &&
    (bias === undefined || (channels === "n" && bias.offset % 2 === 0)) &&
    firsts.has(first.kind) &&
    lasts.has(last.kind)
  );
}

/** The kernel of the same tile whose ends are copied. */
export function withCopiedEnds<Kernel extends { readonly entry: string }>(kernel: Kernel): Kernel {
  return { ...kernel, entry: `${kernel.entry}${copiedEnds}` };
}

/** Axes n, m, then one of the batch, or all three; those that the target does not have are of one element. */
export function targetMap(
  { view, m, batch }: Target,
  problem: Problem,
  box: readonly [number, number],
): TensorMap {
  const { n } = problem;
  const count = problem.batch.length > 1 ? 3 : 1;
  const steps = threeOf(batch, 0).reverse().slice(0, count);
  const sizes = threeOf(problem.batch, 1).reverse().slice(0, count);
  return {
    view,
    sizes: [n, problem.m, ...sizes.map((size, axis) => (steps[axis] === 0 ? 1 : size))],
    strides: [problem.m === 1 ? n : m, ...steps.map((step) => (step === 0 ? n : step))],
    box: [...box, 1, 1, 1].slice(0, 2 + count),
  };
}
