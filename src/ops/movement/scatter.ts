/** @file ScatterElements (Scatter before opset 11) and ScatterND: a copy of the data with some elements replaced. */

import { addDims, type Dim, maxDims, minDims, mulDims, type Shape, unknownDim } from "../../ir/dim.ts";
import { textOf } from "../../ir/message.ts";
import { defineOp, type OpContext, type OpDefinition, ShapeError, type TensorFact } from "../op.ts";
import { normalizeAxis, tensor, tensorAt } from "../shape.ts";
import { type HalfTraits, half, type Traits } from "../traits.ts";
import { elementAt, type Folded, fill, folded, wrapIndex } from "./elements.ts";

type Reduction = (before: Dim, update: Dim) => Dim;

const reductions: ReadonlyMap<string, Reduction> = new Map<string, Reduction>([
  ["none", (_before, update) => update],
  ["add", addDims],
  ["mul", mulDims],
  ["max", maxDims],
  ["min", minDims],
]);

/** The three inputs as arrays, the copy to write into, and how an update meets what is there. */
interface Scatter {
  readonly data: Folded;
  readonly indices: Folded;
  readonly updates: Folded;
  readonly result: Dim[];
  readonly reduce: Reduction;
}

interface Variant {
  /** The axis that indices count along: the attribute, or the first. */
  readonly indexAxis: "attribute" | "first";
  /** Throws where the indices cannot be indices into a tensor of `rank`. */
  readonly check: (indices: Shape, rank: number) => void;
  /** Writes every update into the result; false where an index is not known. */
  readonly write: (scatter: Scatter, context: OpContext) => boolean;
}

const byElement: Variant = { indexAxis: "attribute", check: checkRank, write: writeElements };
const bySlice: Variant = { indexAxis: "first", check: checkDepth, write: writeSlices };

export const scatterOps: readonly OpDefinition[] = [
  scatterOp("Scatter", byElement, half(9, undefined)),
  scatterOp("ScatterElements", byElement, half(11, 13), 11),
  scatterOp("ScatterND", bySlice, half(11, 13), 11),
];

function scatterOp(type: string, variant: Variant, halfTraits: HalfTraits, sameSince?: number): OpDefinition {
  const traits: Traits = {
    elements: "moved",
    half: halfTraits,
    layout: "fixed",
    uses: { 1: { kind: "index", table: 0, axis: variant.indexAxis } },
    ...(sameSince !== undefined && { sameSince }),
  };
  return defineOp({ domain: "", type, traits, infer: (context) => [scattered(context, variant)] });
}

function scattered(context: OpContext, { check, write }: Variant): TensorFact {
  const { dtype, shape } = tensorAt(context, 0);
  const indexShape = tensorAt(context, 1).shape;
  if (shape !== undefined && indexShape !== undefined) check(indexShape, shape.length);
  const [data, indices, updates] = [0, 1, 2].map((index) => folded(tensorAt(context, index)));
  const reduce = reductions.get(context.string("reduction") ?? "none");
  if (data === undefined || indices === undefined || updates === undefined || reduce === undefined) {
    return tensor(dtype, shape);
  }
  const result = [...data.elements];
  const isKnown = write({ data, indices, updates, result, reduce }, context);
  return tensor(dtype, shape, isKnown ? result : undefined);
}

function checkRank(indices: Shape, rank: number): void {
  if (indices.length !== rank) {
    throw new ShapeError(
      textOf`indices of rank ${indices.length} for a tensor of rank ${rank}, expected the same`,
    );
  }
}

function checkDepth(indices: Shape, rank: number): void {
  const depth = indices.at(-1);
  if (depth === undefined || (typeof depth === "number" && depth > rank)) {
    throw new ShapeError(textOf`indices of ${depth ?? "no"} coordinates for a tensor of rank ${rank}`);
  }
}

/** Each index replaces one coordinate of its own position. False where an index is not known. */
function writeElements({ data, indices, updates, result, reduce }: Scatter, context: OpContext): boolean {
  const axis = normalizeAxis(context.int("axis") ?? 0, data.shape.length);
  return everyPosition(indices.shape, (position) => {
    const index = wrapIndex(elementAt(indices, position), data.shape[axis]);
    if (index === undefined) return false;
    return writeAt({ data, result, reduce }, position.with(axis, index), elementAt(updates, position));
  });
}

/** The last axis of the indices holds positions of slices. False where an index is not known. */
function writeSlices({ data, indices, updates, result, reduce }: Scatter): boolean {
  const depth = indices.shape.at(-1) ?? 0;
  const rowAxes = indices.shape.length - 1;
  return everyPosition(updates.shape, (position) => {
    const row = position.slice(0, rowAxes);
    const place: number[] = [];
    for (let at = 0; at < depth; at++) {
      const index = wrapIndex(elementAt(indices, [...row, at]), data.shape[at]);
      if (index === undefined) return false;
      place.push(index);
    }
    const target = [...place, ...position.slice(rowAxes)];
    return writeAt({ data, result, reduce }, target, elementAt(updates, position));
  });
}

function writeAt(
  { data, result, reduce }: Pick<Scatter, "data" | "result" | "reduce">,
  position: readonly number[],
  update: Dim,
): boolean {
  if (position.length !== data.shape.length) return false;
  if (position.some((index, axis) => index < 0 || index >= (data.shape[axis] ?? 0))) return false;
  const offset = position.reduce((sum, index, axis) => sum + index * (data.strides[axis] ?? 0), 0);
  result[offset] = reduce(result[offset] ?? unknownDim(), update);
  return true;
}

/** Visits positions in row-major order, as later updates win; stops at the first that fails. */
function everyPosition(shape: readonly number[], visit: (position: readonly number[]) => boolean): boolean {
  let complete = true;
  fill("int64", shape, (position) => {
    complete &&= visit(position);
    return 0;
  });
  return complete;
}
