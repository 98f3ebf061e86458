/** @file Products that read the same input the same way: they could be one wider product. */
import type { Value } from "../ir/model.ts";
import type { ConvWork, GemmWork, TrafficWork } from "../ops/work.ts";
import { extentOf, passOver } from "../workload/extent.ts";
import type { CostedProduct } from "./context.ts";
import { groupBy } from "./graph.ts";

/** Groups of two or more, in graph order, each sharing everything but the number of outputs. */
export function parallelProducts(products: readonly CostedProduct[]): CostedProduct[][] {
  const ids = new Map<object, number>();
  const idOf = (thing: object) => {
    const id = ids.get(thing) ?? ids.size;
    ids.set(thing, id);
    return id;
  };
  const candidates = products.flatMap((product) => {
    const { input, weight, scope } = product;
    const form = formOf(product);
    if (input === undefined || weight === undefined || form === undefined) return [];
    return [{ product, key: `${idOf(scope)} ${idOf(input)} ${form}` }];
  });
  return [...groupBy(candidates, ({ key }) => key).values()]
    .map((group) => group.map(({ product }) => product))
    .filter((group) => distinctWeights(group).size > 1);
}

/** All of them as one. */
export function merged(products: readonly CostedProduct[]): GemmWork<number> | ConvWork<number> | undefined {
  const [first] = products;
  const work = first?.sizes;
  const outputs = products.reduce((total, { sizes }) => total + outputsOf(sizes), 0);
  if (work?.kind === "gemm") return { ...work, n: outputs };
  return work?.kind === "conv" ? { ...work, filters: outputs } : undefined;
}

/**
 * The kernel that cuts the one result apart; undefined where a size is not known. Libraries whose slices are views have none.
 */
export function splitBehind(
  products: readonly CostedProduct[],
  bindings: ReadonlyMap<string, number>,
): TrafficWork<number> | undefined {
  const parts = products.flatMap(({ node, scope }) => {
    const [output] = node.outputs;
    return (output && extentOf(scope.fact(output), bindings)) ?? [];
  });
  const [first] = parts;
  if (first === undefined || parts.length !== products.length) return undefined;
  let [elements, bytes, columns] = [0, 0, 0];
  for (const part of parts) {
    elements += part.elements;
    bytes += part.bytes;
    columns += part.columns;
  }
  const isLast = products[0]?.sizes.kind === "gemm";
  return passOver({ ...first, elements, bytes, columns: isLast ? columns : first.columns }, "copy");
}

/** N of a product, filters of a convolution. */
export function outputsOf(work: CostedProduct["sizes"]): number {
  if (work.kind === "gemm") return work.n;
  return work.kind === "conv" ? work.filters : 0;
}

function formOf({ sizes }: CostedProduct): string | undefined {
  switch (sizes.kind) {
    case "gemm":
      return sizes.sharedB && !sizes.transA ? JSON.stringify({ ...sizes, n: 0 }) : undefined;
    case "conv":
      return isPointwise(sizes) ? JSON.stringify({ ...sizes, filters: 0 }) : undefined;
    default:
      return undefined;
  }
}

function isPointwise({ kernel, groups }: ConvWork<number>): boolean {
  return groups === 1 && kernel.every((size) => size === 1);
}

function distinctWeights(products: readonly CostedProduct[]): Set<Value | undefined> {
  return new Set(products.map(({ weight }) => weight));
}
