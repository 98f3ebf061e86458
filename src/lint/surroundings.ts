/** @file The graph around what is found: a few nodes before and behind it, for reports that draw it. */
import { siteOf } from "../facts/nhwc-body.ts";
import { isConstant, type Scope } from "../facts/scope.ts";
import { evaluateDim } from "../ir/dim.ts";
import { labelOf, type Node, operatorOf, type Value } from "../ir/model.ts";
import type { LintContext } from "./context.ts";
import type {
  Finding,
  FindingGroup,
  SurroundingEdge,
  SurroundingNode,
  SurroundingsReport,
} from "./result.ts";

/** Nodes away from what is found. */
const mostHops = 2;
/** More than these no drawing shows; nearer ones come first. */
const mostNodes = 24;
/** A value may be read by all of a large model's nodes: that many say enough. */
const mostHidden = 999;
/** Entries are sorted: what matters most is drawn. */
const mostEntries = 40;

/** Around the first place of every entry, as far as there is a node of that name. */
export function surroundingsOf(
  context: LintContext,
  groups: readonly FindingGroup[],
  findings: readonly Finding[],
): SurroundingsReport[] {
  const byFingerprint = new Map(findings.map((finding) => [finding.fingerprint, finding]));
  const wanted = groups.slice(0, mostEntries).flatMap(({ findings: [first = ""] }) => {
    const finding = byFingerprint.get(first);
    return finding === undefined ? [] : [finding];
  });
  const places = placesOf(context, wanted);
  return wanted.flatMap((finding) => {
    const place = places.get(keyOf(finding.graph, finding.node));
    return place === undefined ? [] : [new Surroundings(context, place).report(finding)];
  });
}

interface Place {
  readonly node: Node;
  readonly scope: Scope;
}

function placesOf(context: LintContext, findings: readonly Finding[]): Map<string, Place> {
  const wanted = new Set(findings.map(({ graph, node }) => keyOf(graph, node)));
  const graphs = new Set(findings.map(({ graph }) => graph));
  const places = new Map<string, Place>();
  for (const scope of context.facts.scopes()) {
    const { path } = scope;
    if (!graphs.has(path)) continue;
    for (const node of scope.graph.nodes) {
      const key = keyOf(path, labelOf(node));
      if (wanted.has(key) && !places.has(key)) places.set(key, { node, scope });
    }
  }
  return places;
}

function keyOf(graph: string, node: string): string {
  return `${graph}\u0000${node}`;
}

class Surroundings {
  readonly #context: LintContext;
  readonly #scope: Scope;
  readonly #shown = new Map<Node, number>();
  readonly #center: Node;

  constructor(context: LintContext, { node, scope }: Place) {
    this.#context = context;
    this.#scope = scope;
    this.#center = node;
    this.#collect();
  }

  report({ fingerprint, graph }: Finding): SurroundingsReport {
    const nodes = [...this.#shown.keys()];
    return {
      finding: fingerprint,
      graph,
      nodes: nodes.map((node) => this.#nodeReport(node)),
      edges: this.#edges(),
    };
  }

  /** Nearest first, the node itself at the head. */
  #collect(): void {
    let ring: readonly Node[] = [this.#center];
    this.#shown.set(this.#center, 0);
    for (let hop = 0; hop < mostHops; hop++) {
      const next: Node[] = [];
      for (const node of ring) {
        for (const neighbour of this.#neighbours(node)) {
          if (this.#shown.has(neighbour)) continue;
          if (this.#shown.size >= mostNodes) return;
          this.#shown.set(neighbour, this.#shown.size);
          next.push(neighbour);
        }
      }
      ring = next;
    }
  }

  *#neighbours(node: Node): Iterable<Node> {
    for (const value of node.inputs) if (value?.producer?.graph === node.graph) yield value.producer;
    for (const value of node.outputs)
      for (const consumer of value?.consumers ?? []) if (consumer.graph === node.graph) yield consumer;
  }

  #nodeReport(node: Node): SurroundingNode {
    // Of a kernel of several nodes, the first has its time.
    const own = this.#context.timeline
      .stepsOf(node, this.#scope)
      .filter((step) => (step.product?.node ?? step.nodes[0]) === node);
    const hidden = new Set<Node>();
    for (const neighbour of this.#neighbours(node)) {
      if (!this.#shown.has(neighbour)) hidden.add(neighbour);
      if (hidden.size >= mostHidden) break;
    }
    return {
      node: labelOf(siteOf(node, this.#scope).node),
      op: operatorOf(node),
      microseconds: own.length === 0 ? null : own.reduce((total, step) => total + step.microseconds, 0),
      constants: node.inputs.flatMap((value) =>
        value !== undefined && isConstant(value, this.#context.model) ? [this.#typeOf(value)] : [],
      ),
      more: hidden.size,
    };
  }

  #edges(): SurroundingEdge[] {
    const edges: SurroundingEdge[] = [];
    for (const [node, to] of this.#shown) {
      for (const value of new Set(node.inputs)) {
        const from = value?.producer === undefined ? undefined : this.#shown.get(value.producer);
        if (value !== undefined && from !== undefined) edges.push({ from, to, type: this.#typeOf(value) });
      }
    }
    return edges;
  }

  /** `float32[1,64,56,56]` at the sizes that are priced; `?` for what is not known. */
  #typeOf(value: Value): string {
    const fact = this.#scope.fact(value);
    if (fact?.kind !== "tensor") return fact?.kind ?? "?";
    const { bindings } = this.#context;
    const dims = fact.shape?.map((dim) => evaluateDim(dim, bindings) ?? "?").join(",");
    return `${fact.dtype ?? "?"}[${dims ?? "…"}]`;
  }
}
