/** @file Parameters of the products of floats. */

import { type Activation, activations, noActivation } from "../../ir/epilogue.ts";
import { type ValuesOf, writeParams } from "../../ir/param-table.ts";
import type { ParamBlock, TensorMap } from "../../ir/params.ts";
import { bytesOfType, storageTypes } from "../../ir/storage.ts";
import type { View } from "../../ir/view.ts";
import { hopperStruct } from "../gemm-hopper/params.table.ts";
import { endFieldsOf } from "./end-maps.ts";
import { neighboursOf, threeOf } from "./neighbours.ts";
import { gemmStruct } from "./params.table.ts";
import type { Operand, Problem } from "./problem.ts";
import type { HopperRow } from "./table.ts";

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
  /** The operand that is a weight, if one is: it may be fetched before the launches in front are done. */
  readonly ahead?: "a" | "b" | undefined;
}

const aheadCodes = { a: 1, b: 2 } as const;

/** Rows of tiles that blocks run through together. */
const rasterGroup = 8;

export function gemmParams(launch: GemmLaunch): ParamBlock {
  return writeParams(gemmStruct, gemmFields(launch));
}

export function hopperParams(launch: GemmLaunch, row: HopperRow): ParamBlock {
  const { problem } = launch;
  const { m, n, k } = row;
  return writeParams(hopperStruct, {
    a: operandMap(problem.a, problem, problem.m, [k, m]),
    b: operandMap(problem.b, problem, problem.n, [k, n]),
    ...endFieldsOf(problem, row),
    p: gemmFields(launch),
  });
}

/** Axes k, m (or n), then one of the batch, or all three; those that the operand does not have are of one element. */
export function operandMap(
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

/** For structs that hold these fields among others. */
export function gemmFields(launch: GemmLaunch): ValuesOf<typeof gemmStruct> {
  const { problem } = launch;
  const { a, b, d, residual, scale, bias, m, n, k } = problem;
  const first = limitsOf(problem.first);
  const last = limitsOf(problem.last);
  return {
    a: a.view,
    b: b.view,
    d: d.view,
    residual: residual?.view,
    scale,
    bias,
    splitStride: launch.splitStride,
    m,
    n,
    k,
    tilesM: launch.tilesM,
    tilesN: launch.tilesN,
    group: rasterGroup,
    splits: launch.splits,
    kPerSplit: launch.kPerSplit,
    ...strideFields(problem),
    aGrain: launch.aGrain,
    bGrain: launch.bGrain,
    aType: codeOf(a.view),
    bType: codeOf(b.view),
    dType: codeOf(d.view),
    rType: codeOf(residual?.view ?? d.view),
    neighbours: neighboursOf(problem),
    channelOnM: problem.channels === "m",
    ahead: launch.ahead === undefined ? 0 : aheadCodes[launch.ahead],
    alpha: problem.alpha,
    first: { kind: first.code, a: problem.first.a, b: problem.first.b },
    last: { kind: last.code, a: problem.last.a, b: problem.last.b },
    firstLow: first.low,
    firstHigh: first.high,
    lastLow: last.low,
    lastHigh: last.high,
  };
}

function strideFields({ batch, a, b, d, residual }: Problem) {
  return {
    batch: threeOf(batch, 1),
    aBatch: threeOf(a.batch, 0),
    bBatch: threeOf(b.batch, 0),
    dBatch: threeOf(d.batch, 0),
    rBatch: threeOf(residual?.batch ?? [], 0),
    aM: a.outer,
    aK: a.k,
    bK: b.k,
    bN: b.outer,
    dM: d.m,
    dN: d.n,
    rM: residual?.m ?? 0,
    rN: residual?.n ?? 0,
  };
}

function codeOf({ type }: View): number {
  return storageTypes[type].code;
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

function packedBatch(batch: readonly number[], innermost: number): number[] {
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
