/** @file What recognisers ask of a graph: who reads a value, what a constant is, whether a set of nodes stands alone. */
import type { Scope } from "../../src/facts/scope.ts";
import type { DType } from "../../src/ir/dtype.ts";
import { type Node, operatorOf, type Value } from "../../src/ir/model.ts";
import { own } from "../../src/ir/own.ts";
import { isCall } from "../graph/calls.ts";
import { elementsOfFact, sizesOfFact } from "../graph/known.ts";
import { LiveNodes } from "../graph/liveness.ts";

/** What exporters leave of the arithmetic behind a scale. */
const arithmetic: Readonly<Record<string, (a?: number, b?: number) => number>> = {
  Add: (a = 0, b = 0) => a + b,
  Cast: (a = 0) => a,
  Div: (a = 0, b = 0) => a / b,
  Identity: (a = 0) => a,
  Mul: (a = 0, b = 0) => a * b,
  Pow: (a = 0, b = 0) => a ** b,
  Reciprocal: (a = 0) => 1 / a,
  Sqrt: (a = 0) => Math.sqrt(a),
  Sub: (a = 0, b = 0) => a - b,
};

/** A zero point for each column of a vocabulary's weights. */
const mostRead = 2 ** 20;

const views = new WeakMap<Scope, PatternGraph>();

export class PatternGraph {
  readonly scope: Scope;
  readonly #live: LiveNodes;

  private constructor(scope: Scope) {
    this.scope = scope;
    this.#live = new LiveNodes(scope);
  }

  /** One for all recognisers. */
  static of(scope: Scope): PatternGraph {
    const known = views.get(scope) ?? new PatternGraph(scope);
    views.set(scope, known);
    return known;
  }

  /** Nodes to be computed, in order. */
  nodes(): Node[] {
    return this.scope.graph.nodes.filter((node) => this.#live.has(node));
  }

  readersOf(value: Value): readonly Node[] {
    return this.#live.readersOf(value);
  }

  /** The one node that reads the value, or undefined where there are more, none, or the value leaves the graph. */
  onlyReader(value: Value | undefined): Node | undefined {
    if (value === undefined || value.isOutput || value.graph !== this.scope.graph) return undefined;
    const [reader, ...more] = this.#live.readersOf(value);
    return more.length === 0 ? reader : undefined;
  }

  /** The node that makes the value, here. */
  producerOf(value: Value | undefined): Node | undefined {
    const producer = value?.producer;
    return producer?.graph === this.scope.graph ? producer : undefined;
  }

  /** The producer where it is this operator, and the value is read by nobody else. */
  innerProducer(value: Value | undefined, ...operators: readonly string[]): Node | undefined {
    const producer = this.producerOf(value);
    return producer !== undefined &&
      operators.includes(operatorOf(producer)) &&
      this.onlyReader(value) !== undefined
      ? producer
      : undefined;
  }

  /** Undefined where a size is not known. */
  shape(value: Value | undefined): readonly number[] | undefined {
    return value === undefined ? undefined : sizesOfFact(this.scope.fact(value));
  }

  elements(value: Value | undefined): readonly number[] | undefined {
    return value === undefined ? undefined : elementsOfFact(this.scope.fact(value));
  }

  /** The number that a constant of one element is, or that is computed from such constants alone. */
  number(value: Value | undefined, depth = 4): number | undefined {
    const elements = this.elements(value);
    if (elements !== undefined) return elements.length === 1 ? elements[0] : undefined;
    const producer = this.producerOf(value);
    const compute = producer === undefined ? undefined : own(arithmetic, operatorOf(producer));
    if (producer === undefined || compute === undefined || depth === 0) return undefined;
    if (this.shape(value)?.some((size) => size !== 1) ?? true) return undefined;
    const numbers = producer.inputs.map((input) => this.number(input, depth - 1));
    const isKnown = numbers.every((number) => number !== undefined) && this.isFloat(value);
    return isKnown ? compute(...numbers) : undefined;
  }

  /** Whether a value is known to be all zeros. */
  isZero(value: Value): boolean {
    return this.constants(value)?.every((element) => element === 0) ?? false;
  }

  /** Elements of a short list, or of a tensor of the file of any length up to a million. */
  constants(value: Value): readonly number[] | undefined {
    const tensor = value.isInput || value.producer !== undefined ? undefined : value.initializer;
    return (
      this.elements(value) ?? (tensor && this.scope.model.reader.elements(tensor, mostRead)) ?? undefined
    );
  }

  dtype(value: Value | undefined): DType | undefined {
    const fact = value === undefined ? undefined : this.scope.fact(value);
    return fact?.kind === "tensor" ? fact.dtype : undefined;
  }

  isFloat(value: Value | undefined): boolean {
    const dtype = this.dtype(value);
    return dtype === "float32" || dtype === "float16" || dtype === "bfloat16";
  }

  /** Version in force of ai.onnx. */
  get opset(): number {
    return this.scope.opsets.get("") ?? this.scope.model.opsets.get("") ?? 1;
  }

  /**
   * The nodes in order, where nothing between them is read elsewhere and the last of them makes `output`; else
   * undefined; so, too, for a call among them. Nodes whose outputs are known while planning are left out.
   */
  closed(nodes: Iterable<Node>, output: Value): readonly Node[] | undefined {
    const all = [...new Set(nodes)].filter((node) => this.#live.has(node)).sort((a, b) => a.id - b.id);
    const set = new Set(all);
    if (all.at(-1) !== output.producer) return undefined;
    const isClosed = all.every((node) =>
      node.outputs.every(
        (value) =>
          value === undefined ||
          value === output ||
          (!value.isOutput && this.readersOf(value).every((reader) => set.has(reader))),
      ),
    );
    const isHere = all.every((node) => node.graph === this.scope.graph && !isCall(node, this.scope));
    return isClosed && isHere ? all : undefined;
  }
}
