/** @file Where a model leaves a half type's range, from how large its values were seen to get. */
import type { Facts } from "../../facts/infer.ts";
import { labelOf, type Node, operatorOf, type Value } from "../../ir/model.ts";
import type { HalfType } from "./accepts.ts";
import { formats } from "./formats.ts";
import { buildFloatGraph } from "./graph.ts";

export interface Overflow {
  readonly type: HalfType;
  /** Largest finite number of the type. */
  readonly limit: number;
  /** The first value beyond it, in the order of computation. */
  readonly value: string;
  readonly node: string;
  readonly operator: string;
  /** How large that value gets, and how large the largest one does. */
  readonly reaches: number;
  readonly largest: number;
  /** Names of the nodes that make or read a value beyond it: in FP32, everything else is in range. */
  readonly nodes: readonly string[];
  /** Whether bfloat16 holds all of them. */
  readonly isInBfloat16: boolean;
}

/**
 * Undefined where every value of the main graph is in range. `largest`: magnitudes by value name; infinite ones (the
 * model's own) are passed over.
 */
export function findOverflow(
  facts: Facts,
  largest: ReadonlyMap<string, number>,
  type: HalfType,
): Overflow | undefined {
  const { max } = formats[type];
  const graph = buildFloatGraph(facts, type);
  const sizeOf = ({ name }: Value) => largest.get(name) ?? 0;
  const beyond = facts.root.graph.nodes.flatMap(({ outputs }) =>
    outputs.flatMap((value) => (value !== undefined && isBeyond(sizeOf(value), max) ? [value] : [])),
  );
  const [first] = beyond;
  const maker = first?.producer;
  if (first === undefined || maker === undefined) return undefined;
  const nodes = new Set<Node>();
  for (const { producer, consumers } of beyond) {
    for (const node of [producer, ...consumers]) {
      if (node !== undefined && graph.byNode.has(node)) nodes.add(node);
    }
  }
  const most = beyond.reduce((size, value) => Math.max(size, sizeOf(value)), 0);
  return {
    type,
    limit: max,
    value: first.name,
    node: labelOf(maker),
    operator: operatorOf(maker),
    reaches: sizeOf(first),
    largest: most,
    nodes: [...nodes].map(labelOf),
    isInBfloat16: most <= formats.bfloat16.max,
  };
}

function isBeyond(size: number, max: number): boolean {
  return size > max && size !== Infinity;
}
