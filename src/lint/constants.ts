/** @file Which values of a graph are the same in every run: what a stack computes once, ahead of time. */
import { isConstant, type Scope } from "../facts/scope.ts";
import { isIntegral } from "../ir/dtype.ts";
import type { Node, Value } from "../ir/model.ts";

/** Operators whose result differs from run to run without any input. */
const randomOps = new Set([
  "RandomNormal",
  "RandomUniform",
  "RandomNormalLike",
  "RandomUniformLike",
  "Multinomial",
  "Bernoulli",
]);

export class ConstantValues {
  readonly #nodes = new Set<Node>();
  readonly #scope: Scope;

  /** Walks the graph once, in order. */
  constructor(scope: Scope) {
    this.#scope = scope;
    for (const node of scope.graph.nodes) if (this.#isFixed(node)) this.#nodes.add(node);
  }

  /** Whether a node is computed ahead of time: constant, or arithmetic on shapes. */
  has(node: Node): boolean {
    return this.#nodes.has(node);
  }

  isFixedValue(value: Value): boolean {
    if (value.graph !== this.#scope.graph) return isConstant(value, this.#scope.model);
    if (value.producer !== undefined) return this.#nodes.has(value.producer);
    return isConstant(value, this.#scope.model);
  }

  #isFixed(node: Node): boolean {
    if (randomOps.has(node.opType)) return false;
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
