/**
 * @file Concatenation in place, the pass: into which concatenation each value is written.
 *
 * One that goes into several (DenseNet) lives in the largest.
 */

import { intAttributeIn } from "../../src/facts/attributes.ts";
import type { Scope } from "../../src/facts/scope.ts";
import type { Node, Value } from "../../src/ir/model.ts";
import { isConcat } from "../../src/ops/ask.ts";
import { isCall } from "../graph/calls.ts";
import { sizesOfFact } from "../graph/known.ts";
import { elementCount } from "../ir/view.ts";
import type { FusedOperator, FusionGraph } from "./fused.ts";

/** Where a value lies in a concatenation. */
export interface Place {
  readonly concat: Node;
  readonly axis: number | undefined;
  /** Along the axis; undefined behind a part of unknown size. */
  readonly start: number | undefined;
}

interface Candidate extends Place {
  /** Elements of the concatenation. */
  readonly count: number;
}

/** By value: its place in the largest concatenation of its own graph that reads it once. */
export function placeInConcats(
  operators: readonly FusedOperator[],
  { scope, live }: FusionGraph,
): ReadonlyMap<Value, Place> {
  const places = new Map<Value, Candidate>();
  for (const operator of operators) {
    if (operator.kind !== "node" || !isConcat(operator.node)) continue;
    const concat = operator.node;

    if (isCall(concat, scope)) continue;
    const [output] = concat.outputs;
    const sizes = sizesOfFact(output === undefined ? undefined : scope.fact(output));
    if (sizes === undefined) continue;
    const count = elementCount(sizes);
    const axis = axisOf(concat, scope);
    for (const [value, start] of startsOf(concat, axis ?? 0, scope)) {
      // What is known while planning is read by nobody.
      if (value.graph !== concat.graph || live.readersOf(value).length === 0) continue;
      if (count <= (places.get(value)?.count ?? 0)) continue;
      places.set(value, { concat, axis, start, count });
    }
  }
  return places;
}

/** By input that goes in once. */
function startsOf(concat: Node, axis: number, scope: Scope): Map<Value, number | undefined> {
  const starts = new Map<Value, number | undefined>();
  const repeated = new Set<Value>();
  let start: number | undefined = 0;
  for (const input of concat.inputs) {
    if (input !== undefined && starts.has(input)) repeated.add(input);
    else if (input !== undefined) starts.set(input, start);
    const size: unknown = input === undefined ? undefined : scope.shape(input)?.[axis];
    start = start !== undefined && typeof size === "number" ? start + size : undefined;
  }
  for (const input of repeated) starts.delete(input);
  return starts;
}

export function axisOf(node: Node, scope: Scope): number | undefined {
  const axis = intAttributeIn(node, "axis", scope);
  const [output] = node.outputs;
  const rank = output === undefined ? undefined : scope.shape(output)?.length;
  if (axis === undefined || rank === undefined) return undefined;
  return axis < 0 ? axis + rank : axis;
}
