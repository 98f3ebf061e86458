/** @file Normalization of groups of channels, whatever operator or pattern asks for it. */

import type { Emitter } from "../ir/emitter.ts";
import type { Expr } from "../ir/expr.ts";
import { isFloatStorage } from "../ir/storage.ts";
import { channelsLastOrder, elementCount, reshaped, type View } from "../ir/view.ts";
import { emitGroupNorm, innerOf, takesAddend } from "../kernels/norm/group.ts";
import { vectorOf } from "./normalization-rows.ts";

/** A sum that nobody has asked for in memory: of [samples, channels, …] and one element a channel, of each sample or of all. */
export interface SumWithChannels {
  readonly x: View;
  /** [samples, channels] */
  readonly addend: View;
}

export interface NormalizedGroups {
  /** [samples, channels, …], in memory once it is asked for. */
  readonly x: () => View;
  /** The same as a sum: the norm adds where it can. */
  readonly sum?: SumWithChannels | undefined;
  readonly groups: number;
  /** One element a channel, or one a group; of any shape. */
  readonly scale: View | undefined;
  readonly bias: View | undefined;
  readonly isParameterPerGroup: boolean;
  readonly epsilon: number;
  readonly isSilu: boolean;
  /** Memory of x's shape for the result, in an order of axes, outermost first. */
  readonly output: (order?: readonly number[]) => View;
}

/** Undefined unless the expression is such a sum. */
export function sumWithChannels(expr: Expr, shape: readonly number[]): SumWithChannels | undefined {
  if (expr.kind !== "binary" || expr.op !== "add") return undefined;
  const [first, second] = expr.args;
  if (first.kind !== "load" || second.kind !== "load") return undefined;
  const x = [first.view, second.view].find((view) => sameSizes(view.shape, shape));
  const other = x === first.view ? second.view : first.view;
  const addend = x?.type === other.type ? channelsOf(other, shape) : undefined;
  return x && addend && { x, addend };
}

/** Broadcast to `shape` along all axes but those of samples and channels. */
function channelsOf(view: View, shape: readonly number[]): View | undefined {
  const missing = shape.length - view.shape.length;
  const sizes = shape.map((_, axis) => view.shape[axis - missing] ?? 1);
  const [samples = 1, channels = 1, ...spatial] = shape;
  const isOfChannels = sizes[1] === channels && (sizes[0] === 1 || sizes[0] === samples);
  if (missing < 0 || spatial.length === 0 || !isOfChannels || sizes.slice(2).some((size) => size !== 1))
    return undefined;
  const strideAt = (axis: number) => (sizes[axis] === 1 ? 0 : (view.strides[axis - missing] ?? 0));
  return { ...view, shape: [samples, channels], strides: [strideAt(0), strideAt(1)] };
}

function sameSizes(a: readonly number[], b: readonly number[]): boolean {
  return a.length === b.length && a.every((size, axis) => size === b[axis]);
}

export function lowerGroups(emitter: Emitter, request: NormalizedGroups): void {
  const { sum } = request;
  if (sum === undefined || !isAddedBySlabs(emitter, sum, request))
    lowerGroupsOf(emitter, request.x(), request);
  else lowerGroupsOf(emitter, sum.x, request, sum.addend);
}

/** Whether what is innermost in x are channels, which are cut into slabs there and in an output of the same order. */
function isAddedBySlabs({ target }: Emitter, { x }: SumWithChannels, { groups }: NormalizedGroups): boolean {
  const [samples = 1, channels = 1, ...spatial] = x.shape;
  const seen = reshaped(x, [samples, channels, elementCount(spatial)]);
  return seen !== undefined && takesAddend({ x: seen, y: seen, groups }, target);
}

function lowerGroupsOf(emitter: Emitter, whole: View, request: NormalizedGroups, addend?: View): void {
  const { groups, isParameterPerGroup } = request;
  const given = isFloatStorage(whole.type) ? whole : emitter.packed(whole, { type: "float32" });
  const [samples = 1, channels = 1, ...spatial] = given.shape;
  const shape = [samples, channels, elementCount(spatial)];
  const asGroups = (view: View) => reshaped(view, shape);
  const seen = asGroups(given);
  const inner = (seen && innerOf(seen)) ?? (given.strides[1] === 1 ? "channels" : "positions");
  const order = inner === "channels" ? channelsLastOrder(given.shape.length) : [...given.shape.keys()];
  const x =
    seen !== undefined && innerOf(seen) !== undefined ? seen : asGroups(emitter.packed(given, { order }));
  const y = asGroups(request.output(order));
  if (x === undefined || y === undefined) throw new Error("tc-lint bug: packed memory has no positions");
  const parameters = [isParameterPerGroup ? groups : channels];
  const vector = (view: View | undefined) =>
    vectorOf(emitter, view && (reshaped(view, [elementCount(view.shape)]) ?? view), parameters);
  emitGroupNorm(emitter, {
    x,
    y,
    groups,
    addend,
    scale: vector(request.scale),
    bias: vector(request.bias),
    isParameterPerGroup,
    epsilon: request.epsilon,
    isSilu: request.isSilu,
  });
}
