/** @file A product of a model with what it takes on a target. */
import type { Estimate } from "../cost/model.ts";
import type { Product } from "../facts/products.ts";
import { groupBy } from "../ir/group.ts";
import type { ProductWork } from "../ops/work.ts";

/** A product with every symbol bound, and what it takes on the target. */
export interface CostedProduct extends Product {
  /** `work` with numbers for symbols. */
  readonly sizes: ProductWork<number>;
  /** How often it runs in one run of the model: a loop's trip count, else 1. */
  readonly runs: number;
  /** Of one run. */
  readonly estimate: Estimate;
  /** Of all runs. */
  readonly microseconds: number;
}

/** How many products the file has of these: attention that is written out is one where something fuses it, and is two of the file on every stack. */
export function productsInFile(products: readonly Pick<Product, "decomposed">[]): number {
  return products.reduce((count, { decomposed }) => count + (decomposed === undefined ? 1 : 2), 0);
}

/**
 * Of a workload that is priced in other types: a product's counterpart among `products`, at the same node and with the same weight, since a node may have
 * several; the product where there is none.
 */
export function counterpartIn(products: readonly CostedProduct[]): (product: CostedProduct) => CostedProduct {
  const byNode = groupBy(products, ({ node }) => node);
  return (product) => {
    const own = byNode.get(product.node)?.filter(({ scope }) => scope === product.scope) ?? [];
    return own.find(({ weight }) => weight === product.weight) ?? own[0] ?? product;
  };
}

/** Sizes that a fix would give a product; undefined where it would leave it as it is. */
export type ProposedSizes = (product: CostedProduct) => ProductWork<number> | undefined;
