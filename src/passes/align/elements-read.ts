/** @file Which elements of a vector of sizes anything reads: a batch size read alone leaves the channels free. */
import { NodeContext } from "../../facts/context.ts";
import type { Scope } from "../../facts/scope.ts";
import type { Node, Value } from "../../ir/model.ts";
import { axesKeptBySizes } from "../../ops/movement/resize.ts";
import { clampedBounds } from "../../ops/movement/slice-extent.ts";
import { numbersOf } from "../../ops/shape.ts";

/** Sizes travel through few nodes: a Gather, an Unsqueeze, a Concat. */
const maxSteps = 8;
/** Longer vectors hold something else. */
const maxSizes = 4096;

/**
 * Positions in a scalar or 1-D value; all of them where a reader does not say. An element that only travels to a Resize,
 * as the size that an axis has anyway, is not read: the axis itself tells it there.
 */
export function elementsRead(value: Value, scope: Scope): ReadonlySet<number> {
  return readOf(value, scope, maxSteps);
}

function readOf(value: Value, scope: Scope, steps: number): ReadonlySet<number> {
  const size = lengthOf(value, scope) ?? 0;
  const all = new Set(Array.from({ length: size }, (_, position) => position));
  if (value.isOutput || steps === 0) return all;
  const read = new Set<number>();
  for (const node of value.consumers) {
    const positions = node.graph === value.graph ? positionsReadBy(node, value, scope, steps) : undefined;
    if (positions === undefined) return all;
    for (const position of positions) read.add(position);
  }
  return read;
}

/** Undefined for all. */
function positionsReadBy(
  node: Node,
  value: Value,
  scope: Scope,
  steps: number,
): readonly number[] | undefined {
  if (node.domain !== "") return undefined;
  if (node.opType === "Resize") return readByResize(node, value, scope);
  const origins = originsOf(node, value, scope);
  const [output] = node.outputs;
  if (origins === undefined || output === undefined || lengthOf(output, scope) === undefined)
    return undefined;
  const read = readOf(output, scope, steps - 1);
  return [...read].flatMap((position) => origins[position] ?? []);
}

/** Of each element that a node gives, which of `value` it is; undefined for one that is from elsewhere. */
function originsOf(node: Node, value: Value, scope: Scope): readonly (number | undefined)[] | undefined {
  const size = lengthOf(value, scope);
  if (size === undefined) return undefined;
  const own = Array.from({ length: size }, (_, position) => position);
  if (node.opType === "Concat") {
    const lengths = node.inputs.map((input) => (input === undefined ? undefined : lengthOf(input, scope)));
    if (!lengths.every((length) => length !== undefined)) return undefined;
    return node.inputs.flatMap((input, at) =>
      input === value ? own : new Array<undefined>(lengths[at] ?? 0).fill(undefined),
    );
  }
  if (node.inputs[0] !== value || node.inputs.lastIndexOf(value) !== 0) return undefined;
  switch (node.opType) {
    case "Identity":
    case "Squeeze":
    case "Unsqueeze":
      return own;
    case "Gather":
      return numbersIn(node.inputs[1], scope)?.map((index) => (index < 0 ? index + size : index));
    case "Slice":
      return slicePositions(node, size, scope);
    default:
      return undefined;
  }
}

function slicePositions(node: Node, size: number, scope: Scope): readonly number[] | undefined {
  const [start] = numbersIn(node.inputs[1], scope) ?? [];
  const [end] = numbersIn(node.inputs[2], scope) ?? [];
  const [step] = node.inputs[4] === undefined ? [1] : (numbersIn(node.inputs[4], scope) ?? []);
  if (start === undefined || end === undefined || step !== 1) return undefined;
  const [from, to] = clampedBounds(size, start, end, step);
  return Array.from({ length: Math.max(0, to - from) }, (_, at) => from + at);
}

function readByResize(node: Node, value: Value, scope: Scope): readonly number[] | undefined {
  if (node.inputs.indexOf(value) !== 3) return undefined;
  const kept = axesKeptBySizes(new NodeContext(node, scope, scope.outputsOf(node)));
  const size = lengthOf(value, scope) ?? 0;
  return Array.from({ length: size }, (_, at) => at).filter((at) => kept[at] === undefined);
}

/** Of a scalar 1; undefined for matrices, and for lengths that are not known or are no list of sizes. */
function lengthOf(value: Value, scope: Scope): number | undefined {
  const shape = scope.shape(value);
  if (shape?.length === 0) return 1;
  const [length] = shape ?? [];
  return shape?.length === 1 && typeof length === "number" && length <= maxSizes ? length : undefined;
}

function numbersIn(value: Value | undefined, scope: Scope): readonly number[] | undefined {
  const fact = value === undefined ? undefined : scope.fact(value);
  return fact?.kind === "tensor" ? numbersOf(fact.elements) : undefined;
}
