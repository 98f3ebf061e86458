/** @file Which values of a graph are the same in every run: what a stack computes once, ahead of time. */
import { isConstant, type Scope } from "../facts/scope.ts";
import type { ById } from "../ir/by-id.ts";
import { isIntegral } from "../ir/dtype.ts";
import type { Node, Value } from "../ir/model.ts";
import { isRandom } from "../ops/ask.ts";

export class ConstantValues {
  static readonly #made = new WeakMap<Scope, ConstantValues>();
  readonly #nodes: ById<Node, true>;
  readonly #scope: Scope;

  /** Made once for a graph: the timeline and several rules ask. */
  static of(scope: Scope): ConstantValues {
    const known = ConstantValues.#made.get(scope) ?? new ConstantValues(scope);
    ConstantValues.#made.set(scope, known);
    return known;
  }

  /** Walks the graph once, in order. */
  private constructor(scope: Scope) {
    this.#scope = scope;
    this.#nodes = scope.byNode();
    for (const node of scope.graph.nodes) if (this.#isFixed(node)) this.#nodes.set(node, true);
  }

  /** Whether a node is computed ahead of time: constant, or arithmetic on shapes. */
  has(node: Node): boolean {
    return this.#nodes.get(node) === true;
  }

  isFixedValue(value: Value): boolean {
    if (value.graph !== this.#scope.graph) return isConstant(value, this.#scope.model);
    if (value.producer !== undefined) return this.has(value.producer);
    return isConstant(value, this.#scope.model) || this.#isGivenFixed(value);
  }

  /** One that is repeated over every axis but the last. */
  isFixedRow(value: Value): boolean {
    const sizes = this.isFixedValue(value) ? this.#scope.shape(value) : undefined;
    return sizes?.slice(0, -1).every((dim) => dim === 1) === true;
  }

  /** What a call gives its function: a weight is one in the body, too. */
  #isGivenFixed(value: Value): boolean {
    const { functionName, owner, parent, graph } = this.#scope;
    if (functionName === undefined || owner === undefined || parent === undefined) return false;
    const given = owner.inputs[graph.inputs.indexOf(value)];
    return given !== undefined && ConstantValues.of(parent).isFixedValue(given);
  }

  #isFixed(node: Node): boolean {
    if (isRandom(node)) return false;
    if (node.inputs.every((input) => input === undefined || this.isFixedValue(input))) return true;
    return this.#isShapeArithmetic(node);
  }

  /** Whole numbers that inference already knows (a shape, an index): a stack keeps these on the host. */
  #isShapeArithmetic(node: Node): boolean {
    return node.outputs.every((output) => {
      if (output === undefined) return true;
      const fact = this.#scope.fact(output);
      return fact?.kind === "tensor" && isIntegral(fact.dtype) && fact.elements !== undefined;
    });
  }
}
