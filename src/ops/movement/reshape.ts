/** @file Reshape: the same elements, row-major, in another shape. */

import {
  type Dim,
  divideExactly,
  floorDivDims,
  isUnknown,
  product,
  type Shape,
  sameDim,
  unknownDim,
} from "../../ir/dim.ts";
import { textOf } from "../../ir/message.ts";
import { keepLane } from "../lanes.ts";
import { defineOp, ShapeError } from "../op.ts";
import { elementsOf, sizeOf, tensorAt, unknownShape } from "../shape.ts";
import { half } from "../traits.ts";
import { countOf, lengthOf, viewAs } from "./elements.ts";
import { regroupAxes } from "./regroup.ts";
import { rewriteTarget } from "./reshape-target.ts";

export const reshape = defineOp({
  domain: "",
  type: "Reshape",
  traits: { elements: "same", half: half(1, 13), layout: "view", sameSince: 7, scale: "first" },
  traffic: "none",
  infer(context) {
    const input = tensorAt(context, 0);
    const target = tensorAt(context, 1);
    const allowZero = context.opset >= 14 && context.int("allowzero") === 1;
    const sizes = elementsOf(target);
    if (sizes !== undefined) return [viewAs(input, reshaped(input.shape, sizes, allowZero))];
    const rank = lengthOf(target);
    return [viewAs(input, rank === undefined ? undefined : ofRank(input.shape, rank))];
  },
  axes(context) {
    const axes = regroupAxes(context);
    if (axes !== undefined) rewriteTarget(context, axes);
  },
  lanes: keepLane,
});

/** A vector has as many elements as its source, whatever its target said. */
function ofRank(input: Shape | undefined, rank: number): Shape {
  const count = countOf(input);
  return rank === 1 && count !== undefined ? [count] : unknownShape(rank);
}

/**
 * The shape after Reshape to `target`: 0 copies an axis of the input (unless `allowZero`), −1 is what remains.
 * Throws where plain sizes do not multiply to the elements of the input.
 */
function reshaped(input: Shape | undefined, target: readonly Dim[], allowZero: boolean): Shape {
  const dims = target.map((size, axis) => {
    if (typeof size !== "number" || size > 0) return size;
    if (size < -1) throw new ShapeError(textOf`Reshape target ${target} has a size below -1`);
    return size === 0 && !allowZero ? copiedAxis(input, axis, target) : size;
  });
  const open = openAxis(dims, target);
  if (open !== undefined) {
    const given = dims[open];
    const others = dims.filter((_, axis) => axis !== open);
    dims[open] = remaining(input, others) ?? (given === undefined || given === -1 ? unknownDim() : given);
  }
  checkCount(input, dims, target);
  return dims;
}

function copiedAxis(input: Shape | undefined, axis: number, target: readonly Dim[]): Dim {
  if (input === undefined) return unknownDim();
  const dim = input[axis];
  if (dim === undefined) {
    throw new ShapeError(
      textOf`Reshape target ${target} copies axis ${axis} of a tensor of rank ${input.length}`,
    );
  }
  return dim;
}

/** The axis that follows from the others: the one of −1, else the only one nobody knows. */
function openAxis(dims: readonly Dim[], target: readonly Dim[]): number | undefined {
  const inferred = [...dims.keys()].filter((axis) => dims[axis] === -1);
  if (inferred.length > 1) throw new ShapeError(textOf`Reshape target ${target} has more than one -1`);
  if (inferred.length === 1) return inferred[0];
  const unknown = [...dims.keys()].filter((axis) => isUnknown(dims[axis] ?? 0));
  return unknown.length === 1 ? unknown[0] : undefined;
}

/** Elements of the input over the product of the other axes; undefined where that cannot be told. */
function remaining(input: Shape | undefined, others: readonly Dim[]): Dim | undefined {
  if (input === undefined) return undefined;
  // Sizes on both sides go first: a sum such as (S + P) then need not be found again in a product.
  const left = [...input];
  const right: Dim[] = [];
  for (const dim of others) {
    const at = left.findIndex((candidate) => candidate !== 0 && sameDim(candidate, dim));
    if (at < 0) right.push(dim);
    else left.splice(at, 1);
  }
  const total = product(left);
  const divisor = product(right);
  if (divisor === 0) return undefined;
  if (typeof total === "number" && typeof divisor === "number" && total % divisor !== 0) {
    throw new ShapeError(textOf`Reshape: ${input} does not divide by ${others}`);
  }
  return divideExactly(total, divisor) ?? floorDivDims(total, divisor);
}

function checkCount(input: Shape | undefined, dims: Shape, target: readonly Dim[]): void {
  const before = sizeOf(input);
  const after = sizeOf(dims);
  if (before !== undefined && after !== undefined && before !== after) {
    throw new ShapeError(
      textOf`Reshape of ${input ?? []} to ${target}: ${before} elements do not fit ${after}`,
    );
  }
}
