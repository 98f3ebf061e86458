/** @file Split: one tensor cut along an axis into as many as the node has outputs. */

import { type Axis, type PaddedSizes, paddedSize } from "../../ir/axis.ts";
import { ceilDivDims, type Dim, floorDivDims, mulDims, subDims, unknownDim } from "../../ir/dim.ts";
import { textOf } from "../../ir/message.ts";
import type { AxisContext } from "../axes.ts";
import { keepLane } from "../lanes.ts";
import { defineOp, type OpContext, ShapeError, type TensorFact } from "../op.ts";
import { elementsAt, normalizeAxis, numbersOf, tensorAt } from "../shape.ts";
import { half } from "../traits.ts";
import { elementAt, fill, folded } from "./elements.ts";

export const split = defineOp({
  domain: "",
  type: "Split",
  traits: {
    elements: "moved",
    half: half(1, 13),
    layout: "axis",
    sameSince: 18,
    sameIf: { since: 13, applies: ({ inputs }) => inputs[1] !== undefined },
    // Parts were as many as results, and equal.
    newForm: ({ outputs }, opset) =>
      opset < 13 || opset >= 18 ? undefined : { attributes: { num_outputs: outputs.length } },
    scale: "first",
  },
  infer(context) {
    const input = tensorAt(context, 0);
    const count = context.outputCount;
    if (input.shape === undefined) {
      return Array.from({ length: count }, () => fill(input.dtype, undefined, undefined));
    }
    const axis = normalizeAxis(context.int("axis") ?? 0, input.shape.length);
    return pieces(input, axis, sizesOf(context, input.shape[axis] ?? unknownDim()));
  },
  axes: splitAxes,
  lanes: keepLane,
});

/** The axis cut into its parts, whose sizes are written again; parts that are not written have to stay equal. */
function splitAxes(context: AxisContext): void {
  const axes = context.axesOf(0);
  const at = normalizeAxis(context.int("axis") ?? 0, axes?.length ?? 1);
  const sizes = Array.from({ length: context.outputCount }, (_, index) => context.sizesOf(index)?.[at]);
  const parts =
    axes?.[at] !== undefined && sizes.every((size) => size !== undefined)
      ? context.solver.cutAll(axes[at], sizes)
      : undefined;
  if (axes === undefined || parts === undefined)
    return context.blockAll("cuts it where it does not come apart");
  for (const [index, part] of parts.entries()) context.setAxes(index, axes.with(at, part));
  const written = (padded: PaddedSizes) => parts.map((part) => paddedSize(part, padded));
  if (context.opset < 13) context.rewriteAttribute("split", written);
  else if (context.inputs[1] !== undefined) context.rewriteInput(1, written);
  else tieParts(context, parts);
}

function tieParts(context: AxisContext, parts: readonly Axis[]): void {
  const [first, ...more] = parts;
  for (const part of more) {
    if (first === undefined) return;
    context.solver.unify(first, part, `${context.node.opType} makes parts of one size`);
  }
}

/** Size of each output along the axis, from the sizes given or by equal parts. */
function sizesOf(context: OpContext, dim: Dim): readonly Dim[] {
  const count = context.outputCount;
  const given = context.opset < 13 ? context.ints("split") : elementsAt(context, 1);
  if (given !== undefined) return checkedSizes(given, dim, count);
  if (context.opset >= 13 && context.inputs[1] !== undefined)
    return Array.from({ length: count }, () => unknownDim());
  const parts = context.int("num_outputs") ?? count;
  if (parts < count)
    throw new ShapeError(textOf`num_outputs is ${parts}, expected at least the ${count} outputs of the node`);
  return equalSizes(dim, { parts, count, mayBeUneven: context.opset >= 18 });
}

function checkedSizes(sizes: readonly Dim[], dim: Dim, count: number): readonly Dim[] {
  const plain = numbersOf(sizes);
  const total = plain?.reduce((sum, size) => sum + size, 0);
  if (typeof dim === "number" && total !== undefined && total !== dim) {
    throw new ShapeError(textOf`Split sizes ${sizes} add up to ${total}, expected ${dim}`);
  }
  if (sizes.length < count)
    throw new ShapeError(textOf`Split has ${sizes.length} sizes, expected one for each of ${count} outputs`);
  return sizes.slice(0, count);
}

/** Since opset 18 the last part may be smaller; before, the parts must be equal. */
function equalSizes(
  dim: Dim,
  {
    parts,
    count,
    mayBeUneven,
  }: { readonly parts: number; readonly count: number; readonly mayBeUneven: boolean },
): readonly Dim[] {
  if (!mayBeUneven && typeof dim === "number" && dim % parts !== 0) {
    throw new ShapeError(
      textOf`Split into ${parts} parts of an axis of size ${dim}, expected a multiple of ${parts}`,
    );
  }
  const size = mayBeUneven ? ceilDivDims(dim, parts) : floorDivDims(dim, parts);
  const last = mayBeUneven ? subDims(dim, mulDims(size, parts - 1)) : size;
  return Array.from({ length: count }, (_, part) => (part === parts - 1 ? last : size));
}

function pieces(input: TensorFact, axis: number, sizes: readonly Dim[]): TensorFact[] {
  const source = folded(input);
  let begin: number | undefined = 0;
  return sizes.map((size) => {
    const from = begin;
    begin = from === undefined || typeof size !== "number" ? undefined : from + size;
    const shape = input.shape?.with(axis, size);
    if (source === undefined || from === undefined) return fill(input.dtype, shape, undefined);
    return fill(input.dtype, shape, (position) =>
      elementAt(source, position.with(axis, from + (position[axis] ?? 0))),
    );
  });
}
