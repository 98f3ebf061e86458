/** @file Where a graph ends for now: at nodes that the host has to look at data for. */
import type { Scope } from "../../src/facts/scope.ts";
import { functionKey, type Graph, type Node, operatorOf, type Value } from "../../src/ir/model.ts";
import { own } from "../../src/ir/own.ts";
import { isBranching, loopKind } from "../../src/ops/ask.ts";
import { maxFoldedElements } from "../../src/ops/op.ts";
import { isCall } from "../graph/calls.ts";
import { elementsOfFact, sizesOfFact } from "../graph/known.ts";
import { LiveNodes } from "../graph/liveness.ts";
import { hostOperators } from "../host/index.ts";
import type { HostOperator } from "../host/operator.ts";
import type { DataError } from "../ir/step.ts";
import { isStorageType } from "../ir/storage.ts";
import { elementCount } from "../ir/view.ts";
import { capturedBy, graphsOf } from "./control-body.ts";

/** What the host does between two segments. */
export type HostWork =
  /** Looks at elements, which are known from then on. */
  | { readonly kind: "read"; readonly node: Node; readonly values: readonly Value[] }
  | { readonly kind: "operator"; readonly node: Node; readonly operator: HostOperator }
  /** Runs the graph of the branch that the condition chose, or of a function, segment by segment. */
  | { readonly kind: "graph"; readonly node: Node; readonly graph: Graph }
  /** Runs a body as often as data says. */
  | { readonly kind: "loop"; readonly node: Node };

export interface Cut {
  /** None: the rest is one segment. */
  readonly work: readonly HostWork[];
  /** What the segment before has to leave in memory. */
  readonly wanted: readonly Value[];
}

/** What planning found out about nodes of one graph. */
export class Demands {
  readonly #model: Scope["model"];
  readonly #reads = new Map<Node, readonly Value[]>();
  readonly #nested = new Set<Node>();

  constructor(model: Scope["model"]) {
    this.#model = model;
  }

  /** The host's work at a node whose inputs are all in memory; undefined for one that a plan can hold. */
  workOf(node: Node, scope: Scope, live: LiveNodes): HostWork | undefined {
    const operator = isCall(node, scope) ? undefined : own(hostOperators, operatorOf(node));
    if (operator !== undefined) return { kind: "operator", node, operator };
    if (!this.#nested.has(node) && !this.#reads.has(node) && !hasOpenSize(node, scope, live))
      return undefined;
    const values = (this.#reads.get(node) ?? this.#deciding(node, scope)).filter((value) =>
      isOpen(value, scope),
    );
    if (values.length > 0) return { kind: "read", node, values };
    const isOpenStill = this.#nested.has(node) || hasOpenSize(node, scope, live);
    return isOpenStill ? this.#inside(node, scope) : undefined;
  }

  /** Whether what a planner asked for can be had from the host. */
  learn({ node, values }: DataError, scope: Scope, live: LiveNodes): boolean {
    const top = node === undefined ? undefined : this.#holderOf(node, scope, live);
    if (top === undefined) return false;
    const isOwn = top === node && this.#inside(top, scope) === undefined;
    const asked = isOwn && values !== undefined ? values : this.#deciding(top, scope);
    const open = asked.filter((value) => isOpen(value, scope));
    if (open.length > 0) {
      const before = this.#reads.get(top);
      if (before !== undefined && open.every((value) => before.includes(value))) return false;
      this.#reads.set(top, [...(before ?? []), ...open]);
      return true;
    }
    if (this.#nested.has(top) || this.#inside(top, scope) === undefined) return false;
    this.#nested.add(top);
    return true;
  }

  /** A graph inside a node that is run by itself. */
  #inside(node: Node, scope: Scope): HostWork | undefined {
    if (loopKind(node) === "loop") return { kind: "loop", node };
    const isChosen = isBranching(node) || isCall(node, scope);
    const [child, ...more] = isChosen ? (scope.children.get(node) ?? []) : [];
    return child === undefined || more.length > 0 ? undefined : { kind: "graph", node, graph: child.graph };
  }

  /** The inputs whose elements make the size of a result, or choose what is computed. */
  #deciding(node: Node, scope: Scope): readonly Value[] {
    const [condition] = node.inputs;
    if (isCall(node, scope) || loopKind(node) !== undefined) return [];
    if (isBranching(node)) return condition === undefined ? [] : [condition];
    const open = node.inputs.flatMap((value, index) =>
      value !== undefined && isOpen(value, scope) ? [{ value, index }] : [],
    );
    const whole = open.filter(({ value }) => !isFloat(value, scope));
    // Sizes and axes are behind the data that they are of.
    for (const some of [whole.filter(({ index }) => index > 0), whole, open.filter(({ index }) => index > 0)])
      if (some.length > 0) return some.map(({ value }) => value);
    return open.map(({ value }) => value);
  }

  /** The node of the scope's own graph that `node` is, or is inside of. */
  #holderOf(node: Node, scope: Scope, live: LiveNodes): Node | undefined {
    if (node.graph === scope.graph) return node;
    return scope.graph.nodes.find((own) => live.has(own) && this.#holds(own, node.graph));
  }

  #holds(node: Node, graph: Graph): boolean {
    const called = this.#model.functions.get(functionKey(node.domain, node.opType, node.overload));
    const inside = called === undefined ? graphsOf(node) : [called.graph];
    return inside.some((own) => own === graph || own.nodes.some((inner) => this.#holds(inner, graph)));
  }
}

/** Elements that nobody knows yet, few enough to be known. */
function isOpen(value: Value, scope: Scope): boolean {
  const fact = scope.fact(value);
  const sizes = sizesOfFact(fact);
  if (sizes === undefined || fact?.kind !== "tensor" || !isStorageType(fact.dtype)) return false;
  return elementsOfFact(fact) === undefined && elementCount(sizes) <= maxFoldedElements;
}

function isFloat(value: Value, scope: Scope): boolean {
  const fact = scope.fact(value);
  return fact?.kind === "tensor" && /float/.test(fact.dtype ?? "");
}

function hasOpenSize(node: Node, scope: Scope, live: LiveNodes): boolean {
  return node.outputs.some(
    (output) => output !== undefined && live.isLive(output) && sizesOfFact(scope.fact(output)) === undefined,
  );
}

/** Values that a node reads, in graphs inside it too. */
export function readsOf(node: Node): ReadonlySet<Value> {
  const reads = new Set(node.inputs.filter((value) => value !== undefined));
  if (graphsOf(node).length > 0) for (const value of capturedBy(node)) reads.add(value);
  return reads;
}

/**
 * All nodes that need nothing from the host are before the cut. What they leave behind is what those behind it read, but
 * for what weights alone make: that is made again, at load.
 */
export function cutOf(
  scope: Scope,
  outputs: readonly Value[],
  computed: ReadonlySet<Value>,
  demands: Demands,
): Cut {
  const live = new LiveNodes(scope, outputs, computed);
  const work: HostWork[] = [];
  const blocked = new Set<Value>();
  const varying = new Set<Value>(computed);
  const wanted = new Set<Value>();
  const isHere = (value: Value) =>
    !computed.has(value) &&
    !blocked.has(value) &&
    value.graph === scope.graph &&
    elementsOfFact(scope.fact(value)) === undefined;
  for (const node of scope.graph.nodes) {
    if (!live.has(node)) continue;
    const reads = readsOf(node);
    const isBehind = [...reads].some((value) => blocked.has(value));
    const own = isBehind ? undefined : demands.workOf(node, scope, live);
    if (own !== undefined) work.push(own);
    const produced = node.outputs.filter((value) => value !== undefined);
    if (!isBehind && own === undefined) {
      const varies = [...reads].some((value) => varying.has(value) || isFromAround(value, scope));
      if (varies) for (const value of produced) varying.add(value);
      continue;
    }
    const keepsAll = own !== undefined || graphsOf(node).length > 0 || isCall(node, scope);
    for (const value of reads) {
      // A weight is given to what the host works at; graphs inside nodes know those around them.
      const isMade = value.producer !== undefined || (own !== undefined && node.inputs.includes(value));
      if (isHere(value) && (varying.has(value) || (keepsAll && isMade))) wanted.add(value);
    }
    for (const value of produced) blocked.add(value);
  }
  const isKnown = (value: Value) => elementsOfFact(scope.fact(value)) !== undefined;
  const isLast = work.length === 0;
  for (const value of outputs) {
    const isMade = isLast ? !computed.has(value) : isHere(value) && value.producer !== undefined;
    if (isMade && !isKnown(value)) wanted.add(value);
  }
  return { work, wanted: [...wanted] };
}

function isFromAround({ graph, initializer }: Value, scope: Scope): boolean {
  return graph !== scope.graph && initializer === undefined;
}
