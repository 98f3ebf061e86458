/** @file Which elements of a vector of sizes anything reads: a batch size read alone leaves the channels free. */
import type { Scope } from "../../facts/scope.ts";
import type { Node, Value } from "../../ir/model.ts";
import { clampedBounds } from "../../ops/movement/slice-extent.ts";
import { numbersOf } from "../../ops/shape.ts";

/** Positions in a 1-D value; all of them where a reader is anything but a Gather or Slice by constants. */
export function elementsRead(value: Value, scope: Scope): ReadonlySet<number> {
  const [length] = scope.shape(value) ?? [];
  const size = typeof length === "number" ? length : 0;
  const all = new Set(Array.from({ length: size }, (_, position) => position));
  if (value.isOutput) return all;
  const read = new Set<number>();
  for (const node of value.consumers) {
    const positions = node.graph === value.graph ? positionsReadBy(node, value, size, scope) : undefined;
    if (positions === undefined) return all;
    for (const position of positions) read.add(position);
  }
  return read;
}

function positionsReadBy(
  node: Node,
  value: Value,
  size: number,
  scope: Scope,
): readonly number[] | undefined {
  if (node.domain !== "" || node.inputs[0] !== value || node.inputs.lastIndexOf(value) !== 0)
    return undefined;
  if (node.opType === "Gather") {
    return elementsOf(node.inputs[1], scope)?.map((index) => (index < 0 ? index + size : index));
  }
  if (node.opType !== "Slice") return undefined;
  const [start] = elementsOf(node.inputs[1], scope) ?? [];
  const [end] = elementsOf(node.inputs[2], scope) ?? [];
  const [step] = node.inputs[4] === undefined ? [1] : (elementsOf(node.inputs[4], scope) ?? []);
  if (start === undefined || end === undefined || step !== 1) return undefined;
  const [from, to] = clampedBounds(size, start, end, step);
  return Array.from({ length: Math.max(0, to - from) }, (_, at) => from + at);
}

function elementsOf(value: Value | undefined, scope: Scope): readonly number[] | undefined {
  const fact = value === undefined ? undefined : scope.fact(value);
  return fact?.kind === "tensor" ? numbersOf(fact.elements) : undefined;
}
