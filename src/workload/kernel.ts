/** @file A kernel of a graph, before it has a time, and what finding them begins with. */
import type { Scope } from "../facts/scope.ts";
import type { Stack } from "../hardware/stacks.ts";
import { push } from "../ir/group.ts";
import type { Node } from "../ir/model.ts";
import type { TrafficVariant, Work } from "../ops/work.ts";
import type { CostedProduct } from "./product.ts";

/** One kernel of several that are of the same node alone. */
export type KernelPart = number | "conversion" | undefined;

export interface Kernel {
  /** Everything it computes, in graph order behind the product or the node that it began with. */
  readonly nodes: readonly Node[];
  readonly work: Work<number>;
  readonly product: CostedProduct | undefined;
  /** What its pass over memory was measured as, where that is known. */
  readonly pass?: TrafficVariant | undefined;
  /** Which of its node's kernels it is, where that has several: of the function that defines the operator (`OpDefinition.body`), by place; a pass to another layout. */
  readonly part?: KernelPart;
}

export interface KernelInput {
  readonly scope: Scope;
  /** Of this instance. */
  readonly products: readonly CostedProduct[];
  readonly bindings: ReadonlyMap<string, number>;
  readonly stack: Stack;
}

/** Whether products are those of an operator that is attention and nothing besides, as one with packed weights is. */
export function areOfAttention(products: readonly CostedProduct[] | undefined): boolean {
  return products?.length === 1 && products.every(({ sizes }) => sizes.kind === "attention");
}

/** Attention with packed weights is two products in one node. */
export function productsByNode(
  products: readonly CostedProduct[],
): ReadonlyMap<Node, readonly CostedProduct[]> {
  const byNode = new Map<Node, CostedProduct[]>();
  for (const product of products) for (const node of product.nodes) push(byNode, node, product);
  return byNode;
}
