/** @file What lowerings of data movement read from attributes and constant inputs, over the opsets. */

import { textOf } from "../../src/ir/message.ts";
import { isPacked, orderOf, orderToReshape, reshaped, type View } from "../ir/view.ts";
import type { LowerContext } from "./context.ts";

export function axisOf(axis: number, rank: number): number {
  return axis < 0 ? axis + rank : axis;
}

function rankOf(context: LowerContext, index: number): number {
  return context.inputShape(index).length;
}

/** The attribute `axis`, non-negative. */
export function axisAttribute(context: LowerContext, fallback: number, rank: number): number {
  return checkedAxis(context, context.int("axis") ?? fallback, rank);
}

export function checkedAxis(context: LowerContext, named: number, rank: number): number {
  const axis = axisOf(named, rank);
  if (axis < 0 || axis >= rank) context.fail(textOf`axis ${named} is outside a tensor of rank ${rank}`);
  return axis;
}

/** Axes in input `index` since an opset, before in the attribute `axes`; undefined where left out. */
export function listedAxes(
  context: LowerContext,
  { index, since, rank }: { readonly index: number; readonly since: number; readonly rank: number },
): readonly number[] | undefined {
  const given = listOf(context, "axes", { index, since });
  return given?.map((axis) => checkedAxis(context, axis, rank));
}

/** Numbers that became input `index` with opset `since` and were an attribute before. */
export function listOf(
  context: LowerContext,
  attribute: string,
  { index, since }: { readonly index: number; readonly since: number },
): readonly number[] | undefined {
  if (context.opset < since) return context.ints(attribute);
  return context.hasInput(index) ? context.knownElements(index) : undefined;
}

export function allAxes(rank: number): number[] {
  return Array.from({ length: rank }, (_, axis) => axis);
}

/** The same elements in another shape: a view, or a copy where the strides do not allow one. */
export function reshapedOrCopied(context: LowerContext, view: View, shape: readonly number[]): View {
  const seen = reshaped(view, shape);
  if (seen !== undefined) return seen;
  return viewOf(context, context.packed(view, { order: orderToReshape(view, shape) }), shape);
}

function viewOf(context: LowerContext, packed: View, shape: readonly number[]): View {
  return (
    reshaped(packed, shape) ?? context.fail(`cannot view [${packed.shape.join(",")}] as [${shape.join(",")}]`)
  );
}

/** A part of new memory in another shape. Splitting axes always works. */
export function mustReshape(context: LowerContext, view: View, shape: readonly number[]): View {
  return viewOf(context, view, shape);
}

/** The memory order of a view, or row-major where it repeats elements or leaves gaps that say nothing. */
export function keptOrder(view: View): readonly number[] {
  const order = orderOf(view);
  return view.strides.every((stride, axis) => stride > 0 || view.shape[axis] === 1) && isDense(view, order)
    ? order
    : allAxes(view.shape.length);
}

/** Whether, apart from the outermost, axes follow each other as in packed memory or in a slice of it. */
function isDense(view: View, order: readonly number[]): boolean {
  if (isPacked(view, order)) return true;
  const inner = order.findLast((axis) => view.shape[axis] !== 1);
  return inner === undefined || view.strides[inner] === 1;
}

/** The known elements of an input, or undefined where it is left out or empty. */
export function givenElements(context: LowerContext, index: number): readonly number[] | undefined {
  if (!context.hasInput(index) || context.inputShape(index).includes(0)) return undefined;
  return context.knownElements(index);
}

/** As `writeOutput`, where `emit` writes to any strides. */
export function writePlaced(
  context: LowerContext,
  like: View,
  order: readonly number[] | undefined,
  emit: (to: View) => void,
): void {
  const home = like.type === context.outputType(0) ? context.homeInConcat(0, order) : undefined;
  if (home === undefined) return writeOutput(context, like, order, emit);
  emit(home);
  context.setOutput(0, home);
}

/** Memory of `like`'s type for output 0, written by `emit`; converted where the output is stored as another type. */
export function writeOutput(
  context: LowerContext,
  like: View,
  order: readonly number[] | undefined,
  emit: (to: View) => void,
): void {
  if (like.type === context.outputType(0)) return emit(context.output(0, order));
  const to = context.temporary(like.type, context.outputShape(0), order);
  emit(to);
  context.setOutput(0, to);
}

/** Fails where input `index` has another rank. */
export function requireRank(context: LowerContext, index: number, rank: number): void {
  const found = rankOf(context, index);
  if (found !== rank) context.fail(`input ${index} has rank ${found}, expected ${rank}`);
}

/** Fails where input `index` has another shape. */
export function requireShape(context: LowerContext, index: number, shape: readonly number[]): void {
  const found = context.inputShape(index).join(",");
  if (found !== shape.join(",")) context.fail(`input ${index} is [${found}], expected [${shape.join(",")}]`);
}
