/**
 * @file Where an elementwise result is read several times, and all of it comes together again: x · sigmoid(x).
 *
 * Between such a value and the one where its readers meet nothing has to be stored.
 */
import type { Scope } from "../../src/facts/scope.ts";
import type { Node, Value } from "../../src/ir/model.ts";

/** Chains of exporters (GELU, hard-swish, RoPE) are shorter than this. */
const maxRegionNodes = 24;

export interface RegionQuestions {
  /** Whether the operator is computed element by element. */
  isElementwise(node: Node): boolean;
  /** Nodes of the plan that read the value. */
  readersOf(value: Value): readonly Node[];
  /** Whether the value is read by something else than nodes of its graph: it is an output, or a subgraph reads it. */
  isSeen(value: Value): boolean;
}

/** From a value to where its readers meet. */
export interface Region {
  /** The value that is read several times. */
  readonly root: Value;
  /** Values that nothing outside reads, the root included. */
  readonly inside: ReadonlySet<Value>;
  readonly end: Value;
}

/** The region where everything that `root` goes into is elementwise, of its own shape, and ends in one value. */
export function regionFrom(root: Value, scope: Scope, questions: RegionQuestions): Region | undefined {
  const { isElementwise, isSeen, readersOf } = questions;
  const inside = new Set<Value>([root]);
  const nodes = new Set<Node>();
  const shape = scope.shape(root);
  // All readers are nodes of the region.
  if (readersOf(root).length > maxRegionNodes) return undefined;
  const pending = sorted(readersOf(root));
  while (pending.length > 0 && nodes.size < maxRegionNodes) {
    const node = pending.shift();
    if (node === undefined || nodes.has(node)) continue;
    const [output, ...others] = node.outputs;
    if (!isElementwise(node) || output === undefined || others.length > 0) return undefined;
    if (!sameSize(shape, scope.shape(output)) || node.graph !== root.graph) return undefined;
    nodes.add(node);
    const open = [...inside].filter((value) => readersOf(value).some((reader) => !nodes.has(reader)));
    if ([...inside].some(isSeen)) return undefined;
    if (open.length === 0) return { root, inside, end: output };
    inside.add(output);
    if (readersOf(output).length > maxRegionNodes) return undefined;
    for (const reader of readersOf(output)) if (!nodes.has(reader)) pending.push(reader);
    pending.sort((a, b) => a.id - b.id);
  }
  return undefined;
}

function sorted(nodes: readonly Node[]): Node[] {
  return [...nodes].sort((a, b) => a.id - b.id);
}

function sameSize(a: readonly unknown[] | undefined, b: readonly unknown[] | undefined): boolean {
  return (
    a !== undefined && b !== undefined && a.length === b.length && a.every((dim, axis) => dim === b[axis])
  );
}
