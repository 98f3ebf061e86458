/** @file What came nearest to a match at a node: as the node that a pattern ends in, or as one above it. */
import type { Scope } from "../../facts/scope.ts";
import { describeNode, labelOf, type Node, operatorOf } from "../../ir/model.ts";
import { GraphFacts } from "./graph-facts.ts";
import { candidatesOf } from "./match.ts";
import { Matcher } from "./matcher.ts";
import { describeNodeOf, type Miss, partsOf, Trace } from "./miss.ts";
import { type Pattern, rootTypes } from "./pattern.ts";

/** How far behind a node the pattern may end, and among how many nodes it is looked for. */
const [mostSteps, mostNodes] = [32, 2000];

export interface MatchAttempt {
  readonly fits: boolean;
  /** The node that the pattern ended in, or was held to end in. */
  readonly root: string;
  readonly op: string;
  /** Nodes of the pattern that did fit, in graph order: `Mul "mul_0"`. */
  readonly fitted: readonly string[];
  /** Which part failed, from the root up: `operand "w" (input 1)`; none where it is the root itself, or where all fits. */
  readonly at: readonly string[];
  readonly expected: string | null;
  readonly found: string | null;
}

/** Of a pattern and a node that may be any of its nodes. Throws PatternTooLong. */
export function explainAt(
  pattern: Pattern,
  node: Node,
  scope: Scope,
  sizes: ReadonlyMap<string, number>,
): MatchAttempt {
  const facts = new GraphFacts(scope, sizes);
  const candidates = new Set(candidatesOf(pattern, scope.graph));
  let nearest: { root: Node; miss: Miss; isIn: boolean } | undefined;
  for (const root of behind(node)) {
    if (!candidates.has(root)) continue;
    const trace = new Trace();
    const found = new Matcher(facts, trace).match(pattern, root);
    if (found?.nodes().includes(node)) return fitting(root, found.nodes());
    const miss = trace.nearest;
    if (miss === undefined) continue;
    const isIn = root === node || miss.taken.nodes().includes(node);
    const isNearer =
      nearest === undefined ||
      Number(isIn) > Number(nearest.isIn) ||
      (isIn === nearest.isIn && miss.taken.size > nearest.miss.taken.size);
    if (isNearer) nearest = { root, miss, isIn };
  }
  return nearest === undefined ? elsewhere(pattern, node) : missing(nearest.root, nearest.miss);
}

/** A node, and what reads it, nearest first. */
function* behind(start: Node): Generator<Node> {
  const seen = new Set([start]);
  let now = [start];
  for (let step = 0; step <= mostSteps && now.length > 0; step++) {
    const next: Node[] = [];
    for (const node of now) {
      yield node;
      for (const reader of node.outputs.flatMap((value) => value?.consumers ?? [])) {
        if (reader.graph !== start.graph || seen.has(reader) || seen.size > mostNodes) continue;
        seen.add(reader);
        next.push(reader);
      }
    }
    now = next;
  }
}

function fitting(root: Node, nodes: readonly Node[]): MatchAttempt {
  const none = { at: [], expected: null, found: null };
  return {
    fits: true,
    root: labelOf(root),
    op: operatorOf(root),
    fitted: nodes.map(describeNodeOf),
    ...none,
  };
}

function missing(root: Node, { at, expected, found, taken }: Miss): MatchAttempt {
  const fitted = taken.nodes().map(describeNodeOf);
  return { fits: false, root: labelOf(root), op: operatorOf(root), fitted, at: partsOf(at), expected, found };
}

/** Nothing that the pattern could end in is near. */
function elsewhere(pattern: Pattern, node: Node): MatchAttempt {
  const types = [...(rootTypes(pattern) ?? [])].join(" or ");
  return {
    fits: false,
    root: labelOf(node),
    op: operatorOf(node),
    fitted: [],
    at: [],
    expected: `${types}, which the pattern ends in`,
    found: `${describeNode(node)}, and none that reads it, directly or through others`,
  };
}
