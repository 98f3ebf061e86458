/** @file Normalization of trailing axes, whatever operator or pattern asks for it. */

import type { Emitter } from "../ir/emitter.ts";
import { OperandError } from "../ir/operand-error.ts";
import { isFloatStorage } from "../ir/storage.ts";
import { broadcastsTo, elementCount, expanded, orderOf, permuted, reshaped, type View } from "../ir/view.ts";
import { emitRowNorm } from "../kernels/norm/norm.ts";
import type { CodesWanted } from "./context.ts";

export interface NormalizedRows {
  readonly x: View;
  /** Axes from here on are normalized together. */
  readonly first: number;
  /** Added to x before; broadcast to it. */
  readonly skip?: View | undefined;
  /** One row, added as well. */
  readonly skipBias?: View | undefined;
  /** Broadcast to the normalized axes. */
  readonly scale?: View | undefined;
  readonly bias?: View | undefined;
  readonly isRms: boolean;
  readonly epsilon: number;
  /** Memory for the result; an order of axes, outermost first, where another than row-major is wanted. */
  readonly output: (order?: readonly number[]) => View;
  /** Codes of the result; where nobody reads the floats there is no memory for them. */
  readonly codes?: CodesWanted | undefined;
  /** What is normalized. */
  readonly sum?: ((order?: readonly number[]) => View) | undefined;
  /** Row-major, one element a row. */
  readonly mean?: View | undefined;
  readonly invStd?: View | undefined;
}

export function lowerRows(emitter: Emitter, request: NormalizedRows): void {
  const { first, mean, invStd } = request;
  const x = isFloatStorage(request.x.type) ? request.x : emitter.packed(request.x, { type: "float32" });
  const inner = x.shape.slice(first);
  const [cols, rows] = [elementCount(inner), elementCount(x.shape.slice(0, first))];
  const wantsRowMajor = mean !== undefined || invStd !== undefined || isRepeated(request.skip, x);
  const order = wantsRowMajor ? [...x.shape.keys()] : orderOfRows(x, first);
  const asRows = (view: View) => reshaped(permuted(view, order), [rows, cols]);
  const inMemory = (view: View) =>
    contiguousRows(asRows(view)) ?? asPackedRows(emitter, view, order, [rows, cols]);
  const { codes } = request;
  const y = codes?.areFloatsRead === false ? undefined : request.output(order);
  const sum = request.sum?.(order);
  const skip = request.skip && skipRows(emitter, request.skip, x, inMemory);
  const flat = (view: View | undefined) => (view === undefined ? undefined : reshaped(view, [rows]));
  emitRowNorm(emitter, {
    x: inMemory(x),
    y: y && mustBe(asRows(y)),
    codes: codes && { view: mustBe(asRows(codes.output(order))), numbers: codes.numbers },
    skip,
    skipBias: vectorOf(emitter, request.skipBias, inner),
    scale: vectorOf(emitter, request.scale, inner),
    bias: vectorOf(emitter, request.bias, inner),
    sum: sum && mustBe(asRows(sum)),
    mean: flat(mean),
    invStd: flat(invStd),
    isRms: request.isRms,
    epsilon: request.epsilon,
  });
}

/** Rows in the order of memory, so that any order of the axes before the normalized ones is a view. */
function orderOfRows(x: View, first: number): number[] {
  const outer = orderOf({ shape: x.shape.slice(0, first), strides: x.strides.slice(0, first) });
  return [...outer, ...[...x.shape.keys()].slice(first)];
}

function contiguousRows(view: View | undefined): View | undefined {
  return view !== undefined && (view.shape[1] === 1 || view.strides[1] === 1) ? view : undefined;
}

function asPackedRows(
  emitter: Emitter,
  view: View,
  order: readonly number[],
  shape: readonly number[],
): View {
  return mustBe(reshaped(permuted(emitter.packed(view, { order }), order), shape));
}

function mustBe(view: View | undefined): View {
  // Packed memory always is, in the shape that was computed; a declared one may contradict it.
  if (view === undefined)
    throw new OperandError("a normalization's shapes contradict what the model declares");
  return view;
}

/** Whether the skip has fewer rows than x. */
function isRepeated(skip: View | undefined, x: View): boolean {
  return skip !== undefined && elementCount(skip.shape) !== elementCount(x.shape);
}

/** [rows, cols] of x's type; fewer rows where it is x without leading axes. */
function skipRows(emitter: Emitter, skip: View, x: View, inMemory: (view: View) => View): View {
  const same = skip.type === x.type ? skip : emitter.packed(skip, { type: x.type });
  if (!isRepeated(same, x)) return inMemory(expanded(same, x.shape));
  const [length = 1, cols = 1] = x.shape.slice(-2);
  const isOneSample = elementCount(same.shape) === length * cols;
  if (!isOneSample) return inMemory(emitter.packed(expanded(same, x.shape)));
  return mustBe(
    contiguousRows(reshaped(same, [length, cols])) ?? reshaped(emitter.packed(same), [length, cols]),
  );
}

/** Float32, packed, one element for each of the `inner` ones. */
export function vectorOf(
  emitter: Emitter,
  view: View | undefined,
  inner: readonly number[],
): View | undefined {
  if (view === undefined) return undefined;
  if (!broadcastsTo(view.shape, inner))
    throw new OperandError(
      `a scale or bias of [${view.shape.join(",")}] does not broadcast to the normalized axes [${inner.join(",")}]`,
    );
  const packed = emitter.packed(expanded(view, inner), { type: "float32" });
  return mustBe(reshaped(packed, [elementCount(inner)]));
}
