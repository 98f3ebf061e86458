/** @file Lists of sizes that hold the batch as a number, said so that they hold at any. */
import type { Facts } from "../../facts/infer.ts";
import { intAttributeOf } from "../../ir/attributes.ts";
import { mulDims, product, type Shape, sameDim, symbol } from "../../ir/dim.ts";
import type { Node } from "../../ir/model.ts";
import { type SizesInput, sizesInputOf } from "../../ops/samples.ts";
import { asTensor, elementsOf, numbersOf } from "../../ops/shape.ts";
import { type Batch, placeOf } from "./samples.ts";

/** What takes the place of a list of sizes. */
export interface Target {
  readonly index: number;
  /** Numbers as the operator reads them (-1 is what is left, 0 what input 0 has there); null is the batch itself. */
  readonly sizes: readonly (number | null)[];
}

/** A node that reads sizes, with what the file knows of it. */
export interface Sized {
  readonly node: Node;
  readonly input: SizesInput;
  readonly sizes: readonly number[];
  /** Of the result, at the batch that the file has. */
  readonly result: Shape;
}

/** Undefined for a node that reads none, or whose sizes only running the model tells. */
export function sizedNode(node: Node, facts: Facts): Sized | undefined {
  const input = sizesInputOf(node);
  const [output] = node.outputs;
  if (input === undefined || output === undefined) return undefined;
  const sizes = numbersOf(elementsOf(asTensor(facts.root.inputsOf(node)[input.index])));
  const result = facts.root.shape(output);
  return sizes === undefined || result === undefined ? undefined : { node, input, sizes, result };
}

/**
 * What is to stand for `sizes` where input 0 is of `shape`, with samples in it; undefined where they can stay as they are, and where
 * nothing is known to hold.
 */
export function targetFor(sized: Sized, shape: Shape, batch: Batch): Target | undefined {
  const place = placeOf(shape, batch);
  if (place === undefined || place === null) return undefined;
  const { input, sizes } = sized;
  if (input.as === "view") return viewFor(sized, shape, place.axis, batch);
  // A 1 is broadcast to the samples; what stands as it is has to say them.
  const at = input.as === "broadcast" ? sizes.length - shape.length + place.axis : place.axis;
  if (input.as === "sizes" && sizes[at] !== batch.size) return undefined;
  return replaced(sized, at, input.as === "broadcast" ? 1 : null);
}

/** As many elements before the samples as there were. */
function viewFor(sized: Sized, shape: Shape, axis: number, batch: Batch): Target | undefined {
  const { sizes, node, result } = sized;
  const copies = intAttributeOf(node, "allowzero") !== 1;
  const before = product(shape.slice(0, axis));
  const at = result.findIndex(
    (dim, position) =>
      sameDim(product(result.slice(0, position)), before) &&
      typeof dim === "number" &&
      dim % batch.size === 0 &&
      dim > 0,
  );
  const size = sizes[at];
  const own = result[at];
  if (size === undefined || typeof own !== "number" || size === -1) return undefined;
  const wanted = mulDims(own / batch.size, symbol(batch.symbol));
  if (copies && at === axis && sameDim(shape[axis] ?? 0, wanted)) return replaced(sized, at, 0);
  const rest = sizes.map((each, position) => {
    if (position === at) return -1;
    if (each !== -1) return each;
    const known = result[position];
    if (typeof known === "number") return known;
    return copies && known !== undefined && sameDim(known, shape[position] ?? -1) ? 0 : undefined;
  });
  return rest.every((each) => each !== undefined) ? changed(sized, rest) : undefined;
}

function replaced(sized: Sized, at: number, size: number | null): Target | undefined {
  return changed(
    sized,
    sized.sizes.map((each, position) => (position === at ? size : each)),
  );
}

function changed({ input, sizes }: Sized, after: readonly (number | null)[]): Target | undefined {
  return after.every((size, at) => size === sizes[at]) ? undefined : { index: input.index, sizes: after };
}

/** What stands in for a batch that nobody has inferred yet: most graphs keep it in front. */
export function assumedShape(shape: Shape, batch: Batch): Shape {
  const [first, ...rest] = shape;
  if (typeof first !== "number" || first % batch.size !== 0 || first === 0) return shape;
  return [mulDims(first / batch.size, symbol(batch.symbol)), ...rest];
}
