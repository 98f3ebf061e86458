/** @file Questions that rules ask about a graph. */
import { constantBehind } from "../facts/origin.ts";
import type { Scope } from "../facts/scope.ts";
import type { ById } from "../ir/by-id.ts";
import type { DType } from "../ir/dtype.ts";
import type { Node, Value } from "../ir/model.ts";
import type { CostedProduct } from "./context.ts";

export { intAttributeIn, intsAttributeIn } from "../facts/attributes.ts";
export { groupBy } from "../ir/group.ts";
export { labelOf, type Node, operatorOf, type Value } from "../ir/model.ts";
export { isOp } from "../ops/ask.ts";
export { patternOf } from "../workload/traffic.ts";
export { constantElements, sizesOf } from "../workload/values.ts";

export function dtypeOf(value: Value | undefined, scope: Scope): DType | undefined {
  const fact = value === undefined ? undefined : scope.fact(value);
  return fact?.kind === "tensor" ? fact.dtype : undefined;
}

/** A weight: stored with the model, possibly behind views and conversions. */
export function isStored(value: Value | undefined, scope: Scope): boolean {
  return value !== undefined && constantBehind(value, scope) !== undefined;
}

/** Products by node and instance. */
export class ProductIndex {
  static readonly #made = new WeakMap<readonly CostedProduct[], ProductIndex>();
  readonly #byScope = new Map<Scope, ById<Node, CostedProduct>>();

  /** Made once for a model's products: several rules ask. */
  static of(products: readonly CostedProduct[]): ProductIndex {
    const known = ProductIndex.#made.get(products) ?? new ProductIndex(products);
    ProductIndex.#made.set(products, known);
    return known;
  }

  private constructor(products: readonly CostedProduct[]) {
    for (const product of products) {
      const { scope } = product;
      const byNode = this.#byScope.get(scope) ?? scope.byNode<CostedProduct>();
      this.#byScope.set(scope, byNode);
      for (const node of product.nodes) byNode.set(node, product);
    }
  }

  get(node: Node | undefined, scope: Scope): CostedProduct | undefined {
    return node === undefined ? undefined : this.#byScope.get(scope)?.get(node);
  }

  /** Whether any product lies in a graph that the node owns or calls. */
  isInside(node: Node, scope: Scope): boolean {
    const pending = [...(scope.children.get(node) ?? [])];
    for (let child = pending.pop(); child !== undefined; child = pending.pop()) {
      if (this.#byScope.has(child)) return true;
      for (const more of child.children.values()) for (const each of more) pending.push(each);
    }
    return false;
  }
}

/** Whether no other product has a part in what a product reads: a network's first layer. */
export function isFirstLayer(product: CostedProduct, products: ProductIndex): boolean {
  if (product.input === undefined) return false;
  const seen = new Set<Value>();
  const pending: { value: Value; scope: Scope }[] = [{ value: product.input, scope: product.scope }];
  for (let place = pending.pop(); place !== undefined; place = pending.pop()) {
    const home = place.scope.scopeOf(place.value);
    if (home === undefined || seen.has(place.value)) continue;
    seen.add(place.value);
    const { producer } = place.value;
    if (producer !== undefined) {
      if (products.get(producer, home) !== undefined || products.isInside(producer, home)) return false;
      for (const value of producer.inputs) if (value !== undefined) pending.push({ value, scope: home });
    } else if (
      home.owner !== undefined &&
      home.parent !== undefined &&
      place.value.initializer === undefined
    ) {
      const index = home.graph.inputs.indexOf(place.value);
      const given = home.functionName === undefined ? home.owner.inputs : [home.owner.inputs[index]];
      for (const value of given) if (value !== undefined) pending.push({ value, scope: home.parent });
    }
  }
  return true;
}

/** The one node that reads a value, if nothing else does and it does not leave the graph. */
export function onlyReader(value: Value | undefined): Node | undefined {
  if (value === undefined || value.isOutput) return undefined;
  const [reader, ...others] = value.consumers;
  return others.length === 0 ? reader : undefined;
}
