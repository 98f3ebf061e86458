/** @file NonZero and Unique: their results have as many elements as are found, so the input has to be known. */
import type { Lower, LowerContext, LowerTable } from "../plan/lowering.ts";
import { elementCount, stridesOf } from "../plan/view.ts";
import { axisOf } from "./movement-arguments.ts";

/** Coordinates [rank, found] of the elements that are not zero, in row-major order. */
const nonZero: Lower = (context) => {
  const elements = context.knownElements(0);
  const shape = context.inputShape(0);
  const axes = shape.length === 0 ? [1] : shape;
  const strides = stridesOf(axes);
  const found = [...elements.keys()].filter((at) => elements[at] !== 0);
  const rows = axes.flatMap((size, axis) => found.map((at) => Math.floor(at / (strides[axis] ?? 1)) % size));
  context.setOutput(0, context.constant("int64", [axes.length, found.length], rows));
};

/** Distinct elements, or slices along `axis`; where each first was; which one each input is; how often each occurs. */
const unique: Lower = (context) => {
  const named = context.int("axis");
  const slices = slicesOf(context, named);
  const { order, inverse } = distinctOf(slices, (context.int("sorted") ?? 1) !== 0);
  const kept = order.map(({ first }) => slices[first] ?? []);
  const lists = [order.map(({ first }) => first), inverse, order.map(({ count }) => count)];
  if (context.hasOutput(0)) {
    const shape = context.inputShape(0);
    const result = named === undefined ? [kept.length] : shape.with(axisOf(named, shape.length), kept.length);
    const values = joinSlices(kept, result, axisOf(named ?? 0, result.length));
    context.setOutput(0, context.constant(context.inputType(0), result, values));
  }
  for (const [at, list] of lists.entries()) {
    if (context.hasOutput(at + 1)) context.setOutput(at + 1, context.constant("int64", [list.length], list));
  }
};

/** The elements of each position along the axis; without an axis, of each element. */
function slicesOf(context: LowerContext, named: number | undefined): readonly (readonly number[])[] {
  const elements = context.knownElements(0);
  if (named === undefined) return elements.map((element) => [element]);
  const shape = context.inputShape(0);
  const axis = axisOf(named, shape.length);
  const size = shape[axis] ?? 1;
  const inner = elementCount(shape.slice(axis + 1));
  return Array.from({ length: size }, (_, at) =>
    elements.filter((_element, place) => Math.floor(place / inner) % size === at),
  );
}

function joinSlices(
  slices: readonly (readonly number[])[],
  shape: readonly number[],
  axis: number,
): number[] {
  const inner = elementCount(shape.slice(axis + 1));
  const size = shape[axis] ?? 1;
  return Array.from({ length: elementCount(shape) }, (_, place) => {
    const at = Math.floor(place / inner) % size;
    const outer = Math.floor(place / (inner * size));
    return slices[at]?.[outer * inner + (place % inner)] ?? 0;
  });
}

interface Found {
  readonly first: number;
  readonly count: number;
}

function distinctOf(
  slices: readonly (readonly number[])[],
  isSorted: boolean,
): { readonly order: readonly Found[]; readonly inverse: readonly number[] } {
  const groups = new Map<string, number[]>();
  for (const [at, slice] of slices.entries()) {
    const key = slice.join();
    const places = groups.get(key);
    if (places === undefined) groups.set(key, [at]);
    else places.push(at);
  }
  const found = [...groups.values()].map((places) => ({ first: places[0] ?? 0, places }));
  if (isSorted) found.sort((a, b) => compare(slices[a.first] ?? [], slices[b.first] ?? []));
  const inverse = new Array<number>(slices.length).fill(0);
  for (const [rank, { places }] of found.entries()) for (const at of places) inverse[at] = rank;
  return { order: found.map(({ first, places }) => ({ first, count: places.length })), inverse };
}

function compare(a: readonly number[], b: readonly number[]): number {
  const at = a.findIndex((element, index) => element !== b[index]);
  return at < 0 ? 0 : (a[at] ?? 0) - (b[at] ?? 0);
}

export const foundLowerings: LowerTable = { NonZero: nonZero, Unique: unique };
