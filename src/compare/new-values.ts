/**
 * @file Which value of head is which of base, where nodes are known: exporters leave weights and values to a counter, so that one layer more
 * gives every later one the name that another had.
 */
import { describe, goneName } from "../fix/diff.ts";
import { labelOf, type Model, type Node, operatorOf, type Value } from "../ir/model.ts";
import type { NewNames } from "../workload/paired-steps.ts";

/**
 * Of base's values of the main graph, names in head, where these are others; `nodes`: the same of its nodes. A name that is gone, and is
 * another value's in head, has one that nobody has. Names that only change places stay: what reads them reads something else.
 */
export function newValues(base: Model, head: Model, nodes: NewNames): ReadonlyMap<string, string> {
  const pairs = pairsOf(base, head, nodes);
  const circles = circlesOf(pairs);
  const names = new Map([...pairs].filter(([was]) => !circles.has(was)));
  const taken = new Set(names.values());
  for (const name of base.graph.values.keys())
    if (taken.has(name) && !names.has(name)) names.set(name, goneName(name));
  return names;
}

/** One to one: of nodes that disagree about a value, the first has it. */
function pairsOf(base: Model, head: Model, nodes: NewNames): ReadonlyMap<string, string> {
  const now = new Map(head.graph.nodes.map((node) => [labelOf(node), node]));
  const pairs = new Map<string, string>();
  const taken = new Set<string>();
  const pair = (was: Value | undefined, is: Value | undefined) => {
    if (was === undefined || is === undefined || pairs.has(was.name) || taken.has(is.name)) return;
    pairs.set(was.name, is.name);
    taken.add(is.name);
  };
  // What is fed is known by its name.
  for (const value of base.graph.inputs) pair(value, head.graph.values.get(value.name));
  for (const node of base.graph.nodes) {
    const other = now.get(nodes.get(labelOf(node)) ?? labelOf(node));
    if (other === undefined || operatorOf(other) !== operatorOf(node)) continue;
    for (const [was, is] of storedInputs(node, other)) if (isRenamed(was, is, { base, head })) pair(was, is);
    for (const [index, value] of node.outputs.entries()) pair(value, other.outputs[index]);
  }
  return pairs;
}

function* storedInputs(node: Node, other: Node): Iterable<readonly [Value, Value]> {
  for (const [index, was] of node.inputs.entries()) {
    const is = other.inputs[index];
    if (was?.initializer !== undefined && is?.initializer !== undefined) yield [was, is];
  }
}

/** A weight of another size, and a name of its own, is another weight; where its name was, or is, another's, names say nothing. */
function isRenamed(
  was: Value,
  is: Value,
  { base, head }: { readonly base: Model; readonly head: Model },
): boolean {
  if (was.initializer === undefined || is.initializer === undefined) return false;
  const isAlike = describe(was.initializer) === describe(is.initializer);
  return was.name === is.name || isAlike || head.graph.values.has(was.name) || base.graph.values.has(is.name);
}

/** Names that come back, followed from one model to the other: layers that are added or taken away move names on, and never round. */
function circlesOf(pairs: ReadonlyMap<string, string>): ReadonlySet<string> {
  const [seen, circles] = [new Set<string>(), new Set<string>()];
  for (const start of pairs.keys()) {
    const path: string[] = [];
    let name: string | undefined = start;
    while (name !== undefined && !seen.has(name)) {
      seen.add(name);
      path.push(name);
      name = pairs.get(name);
    }
    if (name === start) for (const each of path) circles.add(each);
  }
  return circles;
}
