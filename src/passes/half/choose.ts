/**
 * @file Which nodes compute in half: a minimum cut.
 *
 * Every node takes the side that costs least: a product is faster in half by what the cost model says, another node
 * saves half of its traffic, and a value that is made on one side and read on the other is cast once, for all its
 * readers. A product of unknown size counts as worth any number of Casts, if they run once. What a stack computes ahead of
 * time is worth nothing in half, and its Cast costs nothing.
 */
import type { Scope } from "../../facts/scope.ts";
import { evaluateDim, product } from "../../ir/dim.ts";
import type { Node } from "../../ir/model.ts";
import { findOp } from "../../ops/registry.ts";
import type { ProductWork } from "../../ops/work.ts";
import { ConstantValues } from "../../workload/constants.ts";
import { writtenNorms } from "../../workload/written-norm.ts";
import type { PassContext } from "../pass.ts";
import type { Evidence } from "./evidence.ts";
import { FlowNetwork, uncuttable } from "./flow.ts";
import { inputsOf, outputsOf } from "./follow.ts";
import type { FloatGraph, FloatNode, FloatValue } from "./graph.ts";

/**
 * The nodes of `graph` that compute in half. Where all products are wanted, they do at any price, save in bodies that
 * run again and again.
 */
export function chooseHalf(
  graph: FloatGraph,
  evidence: Evidence,
  context: PassContext,
  wanted: "where faster" | "products" = "where faster",
): Set<FloatNode> {
  return new Chooser(graph, evidence, context, wanted).run();
}

/** Microseconds that half takes off each product, over all its runs; products of unknown size are not there. */
export function productGains(
  graph: FloatGraph,
  { products, account, options }: PassContext,
): ReadonlyMap<FloatNode, number> {
  const gains = new Map<FloatNode, number>();
  for (const { nodes, scope, sizes, runs } of products) {
    const owners = nodes
      .flatMap((node) => ownerOf(node, scope, graph) ?? [])
      .filter(({ isProduct }) => isProduct);
    const turned = options.nhwcFollows === true ? inNhwc(sizes) : sizes;
    const saved = account.estimate(turned) - account.estimate({ ...turned, dtype: options.halfType });
    // Attention written out is two products.
    for (const owner of owners) {
      gains.set(owner, (gains.get(owner) ?? 0) + (saved * runs) / owners.length);
    }
  }
  return gains;
}

/** As far as there are NHWC forms: of two spatial axes. */
function inNhwc(work: ProductWork<number>): ProductWork<number> {
  return work.kind === "conv" && work.input.length === 2 ? { ...work, layout: "nhwc" } : work;
}

/** The node itself, or the call of the function that it is in. */
function ownerOf(node: Node, scope: Scope, graph: FloatGraph): FloatNode | undefined {
  let [at, around]: [Node | undefined, Scope | undefined] = [node, scope];
  while (at !== undefined && around?.functionName !== undefined) [at, around] = [around.owner, around.parent];
  return at && graph.byNode.get(at);
}

/** Of the datasheet's bandwidth, what streaming kernels reach. */
const bandwidthShare = 0.85;
/** Elements of a value whose size is not known. */
const defaultElements = 4096;

class Chooser {
  readonly #graph: FloatGraph;
  readonly #evidence: Evidence;
  readonly #context: PassContext;
  readonly #wanted: "where faster" | "products";
  readonly #gains: ReadonlyMap<FloatNode, number>;
  readonly #network = new FlowNetwork();
  /** Vertices of nodes whose type is open: on the source's side they compute in half. */
  readonly #vertices = new Map<FloatNode, number>();

  constructor(
    graph: FloatGraph,
    evidence: Evidence,
    context: PassContext,
    wanted: "where faster" | "products",
  ) {
    this.#graph = graph;
    this.#evidence = evidence;
    this.#context = context;
    this.#wanted = wanted;
    this.#gains = productGains(graph, context);
  }

  run(): Set<FloatNode> {
    for (const node of this.#graph.nodes) {
      if ([...node.inputs, ...node.outputs].includes("half"))
        this.#vertices.set(node, this.#network.addVertex());
    }
    for (const [node, vertex] of this.#vertices) this.#weigh(node, vertex);
    for (const value of this.#graph.values.values()) if (!value.isStored) this.#connect(value);
    this.#keepNormsWhole();
    const side = this.#network.sourceSide();
    return new Set([...this.#vertices].filter(([, vertex]) => side.has(vertex)).map(([node]) => node));
  }

  /** Stacks make one kernel of a norm that is written out, and of none with a Cast in the middle, however little that Cast moves. */
  #keepNormsWhole(): void {
    const scopes = new Set(this.#graph.nodes.map(({ scope }) => scope));
    for (const scope of scopes) {
      for (const { core } of writtenNorms(scope, this.#context.pricing)) {
        const vertices = core.flatMap((node) => {
          const own = this.#graph.byNode.get(node);
          return own?.scope === scope ? (this.#vertices.get(own) ?? []) : [];
        });
        for (const [index, vertex] of vertices.slice(1).entries()) {
          const before = vertices[index] ?? vertex;
          this.#network.addEdge(vertex, before, uncuttable);
          this.#network.addEdge(before, vertex, uncuttable);
        }
      }
    }
  }

  #weigh(node: FloatNode, vertex: number): void {
    const { source, sink } = this.#network;
    if (this.#evidence.reasons.has(node)) this.#network.addEdge(vertex, sink, uncuttable);
    else this.#network.addEdge(source, vertex, node.isProduct ? this.#productGain(node) : this.#gain(node));
  }

  #productGain(node: FloatNode): number {
    const isOnce = node.scope.totalRepeat === 1;
    const gain = this.#gains.get(node) ?? (isOnce ? Infinity : 0);
    if (isOnce && (this.#wanted === "products" || gain === Infinity)) return uncuttable;
    return Math.max(0, Math.round(gain * 1000));
  }

  /** Nanoseconds that half saves in a run of the model: 2 of every 4 bytes read or written. */
  #gain(node: FloatNode): number {
    if (findOp(node.node.domain, node.node.opType)?.traffic === "none") return 0;
    if (ConstantValues.of(node.scope).has(node.node)) return 0;
    const values = [...inputsOf(node, this.#graph), ...outputsOf(node, this.#graph)];
    const elements = values.reduce((total, value) => total + this.#elements(value), 0);
    return Math.round(this.#nanoseconds(2 * elements) * this.#runs(node.scope));
  }

  #connect(value: FloatValue): void {
    const { source, sink } = this.#network;
    const sides = new Set<number>();
    for (const { user, slot } of value.readers) {
      if (slot === "half") sides.add(this.#vertices.get(user) ?? sink);
      else if (slot === "float") sides.add(sink);
    }
    const isHalfEdge =
      this.#context.options.halfIo &&
      value.scope.parent === undefined &&
      !this.#graph.pinned.has(value.value) &&
      !this.#evidence.floatEdges.has(value.value);
    if (value.value.isOutput) sides.add(isHalfEdge ? source : sink);
    const { producer } = value;
    const open = producer?.slot === "half" ? this.#vertices.get(producer.user) : undefined;
    const home = open ?? (isHalfEdge && value.value.isInput ? source : sink);
    // Where a Cast has made it from half, half is there.
    const cost = value.halfSource === undefined ? Math.round(this.#castCost(value)) + 1 : 0;
    this.#castOnce(home, sides, cost);
  }

  /** One Cast for all readers on the other side, whichever side the value is made on. */
  #castOnce(home: number, readers: ReadonlySet<number>, cost: number): void {
    const toFloat = this.#network.addVertex();
    const toHalf = this.#network.addVertex();
    this.#network.addEdge(home, toFloat, cost);
    this.#network.addEdge(toHalf, home, cost);
    for (const reader of readers) {
      this.#network.addEdge(toFloat, reader, uncuttable);
      this.#network.addEdge(reader, toHalf, uncuttable);
    }
  }

  /** A kernel of its own on most stacks: reads 4 and writes 2 bytes an element, or the other way round. */
  #castCost(value: FloatValue): number {
    if (ConstantValues.of(value.scope).isFixedValue(value.value)) return 0;
    const elements = this.#elements(value);
    const microseconds = this.#context.account.estimate({
      kind: "traffic",
      pattern: "elementwise",
      rows: 1,
      columns: elements,
      bytesRead: 4 * elements,
      bytesWritten: 2 * elements,
      dtype: "float32",
    });
    return microseconds * 1000 * this.#runs(value.scope);
  }

  #nanoseconds(bytes: number): number {
    return bytes / (this.#context.target.gpu.dramGBps * bandwidthShare);
  }

  #runs(scope: Scope): number {
    return evaluateDim(scope.totalRepeat, this.#context.pricing.bindings) ?? 1;
  }

  #elements({ value, scope }: FloatValue): number {
    const shape = scope.shape(value);
    const size = shape && evaluateDim(product(shape), this.#context.pricing.bindings);
    return size ?? defaultElements;
  }
}
