/** @file The parameter struct of kernels/gemm/params.cuh. */
import { type Activation, activations, noActivation } from "../../ir/epilogue.ts";
import { type ParamBlock, ParamWriter, type TensorMap } from "../../ir/params.ts";
import { bytesOfType, storageTypes } from "../../ir/storage.ts";
import type { View } from "../../ir/view.ts";
import type { Operand, Problem, Target } from "./problem.ts";
import type { HopperRow } from "./table.ts";

/** sizeof(GemmParams). */
export const gemmParamsBytes = 256;

/** The problem's numbers, and how it is cut up. */
export interface GemmLaunch {
  readonly problem: Problem;
  readonly tilesM: number;
  readonly tilesN: number;
  readonly splits: number;
  readonly kPerSplit: number;
  /** In elements of the output. */
  readonly splitStride: number;
  readonly aGrain: number;
  readonly bGrain: number;
}

/** Rows of tiles that blocks run through together. */
const rasterGroup = 8;

export function gemmParams(launch: GemmLaunch): ParamBlock {
  return writeParams(new ParamWriter(), launch).done();
}

/** HopperParams of gemm-hopper.cu: what is copied of each operand at once stands in front. */
export function hopperParams(launch: GemmLaunch, { m, n, k }: HopperRow): ParamBlock {
  const { problem } = launch;
  const writer = new ParamWriter()
    .tensorMap(operandMap(problem.a, problem, problem.m, [k, m]))
    .tensorMap(operandMap(problem.b, problem, problem.n, [k, n]));
  return writeParams(writer, launch).done();
}

/** Axes k, m (or n), then one of the batch, or all three; those that the operand does not have are of one element. */
function operandMap(
  { view, outer, batch }: Operand,
  problem: Problem,
  rows: number,
  box: readonly [number, number],
): TensorMap {
  const unit = 16 / bytesOfType(view.type);
  const packed = Math.ceil(problem.k / unit) * unit;
  const count = problem.batch.length > 1 ? 3 : 1;
  const steps = threeOf(batch, 0).reverse().slice(0, count);
  const sizes = threeOf(problem.batch, 1).reverse().slice(0, count);
  return {
    view,
    sizes: [problem.k, rows, ...sizes.map((size, axis) => (steps[axis] === 0 ? 1 : size))],
    strides: [rows === 1 ? packed : outer, ...steps.map((step) => (step === 0 ? packed : step))],
    box: [...box, ...sizes.map(() => 1)],
  };
}

function writeParams(writer: ParamWriter, launch: GemmLaunch): ParamWriter {
  const { problem } = launch;
  const { a, b, d, residual, scale, bias, m, n, k } = problem;
  const first = limitsOf(problem.first);
  const last = limitsOf(problem.last);
  return writer
    .pointer(a.view)
    .pointer(b.view)
    .pointer(d.view)
    .pointer(residual?.view)
    .pointer(scale)
    .pointer(bias)
    .i64(launch.splitStride)
    .i32(m, n, k)
    .i32(launch.tilesM, launch.tilesN, rasterGroup, launch.splits, launch.kPerSplit)
    .i32(...threeOf(problem.batch, 1))
    .i32(...[a, b, d, residual].flatMap((each) => threeOf(each?.batch ?? [], 0)))
    .i32(a.outer, a.k, b.k, b.outer, d.m, d.n, residual?.m ?? 0, residual?.n ?? 0)
    .i32(launch.aGrain, launch.bGrain)
    .i32(...[a.view, b.view, d.view, residual?.view ?? d.view].map(codeOf))
    .i32(neighboursOf(problem), problem.channels === "m" ? 1 : 0)
    .f32(problem.alpha)
    .i32(first.code)
    .f32(problem.first.a, problem.first.b)
    .i32(last.code)
    .f32(problem.last.a, problem.last.b)
    .f32(first.low, first.high, last.low, last.high);
}

function codeOf({ type }: View): number {
  return storageTypes[type].code;
}

/** Right-aligned, as the kernel counts through them. */
function threeOf(values: readonly number[], fill: number): number[] {
  if (values.length > 3) throw new Error("tc-lint bug: more than three batch axes");
  return [...new Array<number>(3 - values.length).fill(fill), ...values];
}

/** What is a clip goes without the switch over activations. */
function limitsOf({ kind, a, b }: Activation): { code: number; low: number; high: number } {
  if (kind === "relu") return { code: activations.none.code, low: 0, high: Number.POSITIVE_INFINITY };
  if (kind === "clip") return { code: activations.none.code, low: a, high: b };
  return {
    code: activations[kind].code,
    low: Number.NEGATIVE_INFINITY,
    high: Number.POSITIVE_INFINITY,
  };
}

/** How many elements of a row, from a multiple of their number on, can be stored (and read of a residual) at once. */
function neighboursOf({ n, d, residual }: Problem): 1 | 2 | 8 {
  const targets = residual === undefined ? [d] : [d, residual];
  if (n % 8 === 0 && targets.every((target) => isGrouped(target, 8))) return 8;
  return targets.every((target) => isGrouped(target, 2)) ? 2 : 1;
}

function isGrouped({ view, m, n, batch }: Target, count: number): boolean {
  return n === 1 && [view.offset, m, ...batch].every((step) => step % count === 0);
}

/** The same problem with its sums going to a workspace [splits, batch, m, n], float32, and nothing done to them. */
export function partialProblem(problem: Problem, workspace: View): Problem {
  const { m, n, batch } = problem;
  return {
    ...problem,
    d: { view: workspace, m: n, n: 1, batch: packedBatch(batch, m * n) },
    residual: undefined,
    scale: undefined,
    bias: undefined,
    first: noActivation,
    last: noActivation,
    alpha: 1,
  };
}

export function packedBatch(batch: readonly number[], innermost: number): number[] {
  let stride = innermost;
  const strides = batch.map(() => 0);
  for (const axis of [...batch.keys()].reverse()) {
    strides[axis] = stride;
    stride *= batch[axis] ?? 1;
  }
  return strides;
}

/** An operand that is read as the sum over splits reads it. */
export function workspaceOperand(workspace: View, problem: Problem): Operand {
  return {
    view: workspace,
    outer: problem.n,
    k: 1,
    batch: packedBatch(problem.batch, problem.m * problem.n),
  };
}
