/** @file A product in the terms of its kernels: two operands, an output, few batch axes, all as numbers. */
import { type Epilogue, noActivation, plainEpilogue } from "../../ir/epilogue.ts";
import type { Problem, Target } from "../../ir/product.ts";
import type { View } from "../../ir/view.ts";

export type { Operand, Problem, Target } from "../../ir/product.ts";

export interface GemmRequest {
  /** [...batch, m, k]. */
  readonly a: View;
  /** [...batch, k, n], of the same rank. A batch axis of either may have size 1 where the output's is larger. */
  readonly b: View;
  /** [...batch, m, n]. */
  readonly to: View;
  readonly epilogue?: Epilogue | undefined;
  /** Whether scale and bias run along "m" or "n"; "n" unless given. */
  readonly channels?: "m" | "n" | undefined;
  /** What the sum is multiplied by before all else; 1 unless given. */
  readonly alpha?: number | undefined;
}

/** The request with batch axes merged into each other, into m or into n wherever strides allow. */
export function problemOf(request: GemmRequest): Problem {
  const { a, b, to, epilogue = plainEpilogue, channels = "n", alpha = 1 } = request;
  const rank = to.shape.length;
  const [m, n] = [sizeAt(to, rank - 2), sizeAt(to, rank - 1)];
  const axes = to.shape.slice(0, -2).flatMap((size, axis) => (size === 1 ? [] : [axis]));
  const batchOf = (view: View) => axes.map((axis) => strideAt(view, axis));
  const target = (view: View): Target => ({
    view,
    m: strideAt(view, rank - 2),
    n: strideAt(view, rank - 1),
    batch: batchOf(view),
  });
  let problem: Problem = {
    m,
    n,
    k: sizeAt(a, rank - 1),
    batch: axes.map((axis) => sizeAt(to, axis)),
    a: { view: a, outer: strideAt(a, rank - 2), k: strideAt(a, rank - 1), batch: batchOf(a) },
    b: { view: b, outer: strideAt(b, rank - 1), k: strideAt(b, rank - 2), batch: batchOf(b) },
    d: target(to),
    residual: epilogue.residual && target(epilogue.residual),
    scale: epilogue.scale,
    bias: epilogue.bias,
    channels,
    first: epilogue.activation ?? noActivation,
    last: epilogue.last ?? noActivation,
    alpha,
  };
  for (let next: Problem | undefined = problem; next !== undefined; next = mergeOnce(next)) problem = next;
  return problem;
}

function sizeAt(view: View, axis: number): number {
  return view.shape[axis] ?? 1;
}

/** 0 along an axis of one element, which repeats where the output's is larger. */
function strideAt(view: View, axis: number): number {
  return sizeAt(view, axis) === 1 ? 0 : (view.strides[axis] ?? 0);
}

/** The product of the transposes: Dᵀ = Bᵀ Aᵀ. */
export function swapped(problem: Problem): Problem {
  const turned = (target: Target): Target => ({ ...target, m: target.n, n: target.m });
  return {
    ...problem,
    m: problem.n,
    n: problem.m,
    a: problem.b,
    b: problem.a,
    d: turned(problem.d),
    residual: problem.residual && turned(problem.residual),
    channels: problem.channels === "m" ? "n" : "m",
  };
}

function mergeOnce(problem: Problem): Problem | undefined {
  for (const axis of problem.batch.keys()) {
    const merged =
      mergeIntoRows(problem, axis) ?? mergeIntoColumns(problem, axis) ?? mergeAxes(problem, axis);
    if (merged !== undefined) return merged;
  }
  return undefined;
}

function mergeIntoColumns(problem: Problem, axis: number): Problem | undefined {
  const merged = mergeIntoRows(swapped(problem), axis);
  return merged && swapped(merged);
}

/** One axis of `outer` and `inner` (sizes and strides), or undefined. The stride of one element's axis is of no matter. */
function joined(outer: number, outerSize: number, inner: number, innerSize: number): number | undefined {
  if (innerSize === 1) return outer;
  return outerSize === 1 || outer === inner * innerSize ? inner : undefined;
}

/** b is the same along the axis, and the rows of a, d and the residual go on as they do within m. */
function mergeIntoRows(problem: Problem, axis: number): Problem | undefined {
  const { m, a, b, d, residual, channels, scale, bias, batch } = problem;
  const size = batch[axis] ?? 1;
  if (b.batch[axis] !== 0) return undefined;
  if (channels === "m" && (scale !== undefined || bias !== undefined)) return undefined;
  const rows = [
    { outer: a.batch[axis] ?? 0, inner: a.outer },
    { outer: d.batch[axis] ?? 0, inner: d.m },
    ...(residual === undefined ? [] : [{ outer: residual.batch[axis] ?? 0, inner: residual.m }]),
  ];
  const outside = allOf(rows.map(({ outer, inner }) => joined(outer, size, inner, m)));
  const strides = outside ?? allOf(rows.map(({ outer, inner }) => joined(inner, m, outer, size)));
  if (strides === undefined) return undefined;
  const [aOuter = 0, dM = 0, residualM = 0] = strides;
  const rest = without(problem, axis);
  return {
    ...rest,
    m: m * size,
    a: { ...rest.a, outer: aOuter },
    d: { ...rest.d, m: dM },
    residual: rest.residual && { ...rest.residual, m: residualM },
  };
}

function allOf(values: readonly (number | undefined)[]): number[] | undefined {
  const known = values.flatMap((value) => value ?? []);
  return known.length === values.length ? known : undefined;
}

/** Two batch axes as one, where every view steps through them alike. */
function mergeAxes(problem: Problem, axis: number): Problem | undefined {
  const size = problem.batch[axis] ?? 1;
  for (const [other, otherSize] of problem.batch.entries()) {
    if (other === axis) continue;
    const continues = ({ batch }: { readonly batch: readonly number[] }) =>
      (batch[axis] ?? 0) === (batch[other] ?? 0) * otherSize;
    const views = [problem.a, problem.b, problem.d, ...(problem.residual ? [problem.residual] : [])];
    if (!views.every(continues)) continue;
    const rest = without({ ...problem, batch: problem.batch.with(other, size * otherSize) }, axis);
    return rest;
  }
  return undefined;
}

function without(problem: Problem, axis: number): Problem {
  const drop = <T extends { readonly batch: readonly number[] }>(from: T): T => ({
    ...from,
    batch: from.batch.toSpliced(axis, 1),
  });
  const { a, b, d, residual } = problem;
  return { ...drop(problem), a: drop(a), b: drop(b), d: drop(d), residual: residual && drop(residual) };
}
