/** @file Normalization of groups of channels, whatever operator or pattern asks for it. */

import type { Emitter } from "../ir/emitter.ts";
import { isFloatStorage } from "../ir/storage.ts";
import { channelsLastOrder, elementCount, reshaped, type View } from "../ir/view.ts";
import { emitGroupNorm, innerOf } from "../kernels/norm/group.ts";
import { vectorOf } from "./normalization-rows.ts";

export interface NormalizedGroups {
  /** [samples, channels, …] */
  readonly x: View;
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

export function lowerGroups(emitter: Emitter, request: NormalizedGroups): void {
  const { groups, isParameterPerGroup } = request;
  const given = isFloatStorage(request.x.type) ? request.x : emitter.packed(request.x, { type: "float32" });
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
    scale: vector(request.scale),
    bias: vector(request.bias),
    isParameterPerGroup,
    epsilon: request.epsilon,
    isSilu: request.isSilu,
  });
}
