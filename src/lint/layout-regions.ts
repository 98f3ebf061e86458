/** @file Connected convolutions: through operators with no say in the layout of their channels. */

import type { Scope } from "../facts/scope.ts";
import { choosesLayout, stacks } from "../hardware/stacks.ts";
import { DisjointSets } from "../ir/disjoint-sets.ts";
import type { Node, Value } from "../ir/model.ts";
import { traitsOf } from "../ops/ask.ts";
import { ConstantValues } from "../workload/constants.ts";
import { crosses } from "../workload/wanted-layout.ts";
import type { CostedProduct, LintContext } from "./context.ts";
import { ProductIndex, patternOf } from "./graph.ts";

export interface LayoutRegion {
  readonly scope: Scope;
  readonly convolutions: readonly CostedProduct[];
  /** Values that enter or leave: each needs a conversion if the region alone changes its layout. */
  readonly borders: readonly Value[];
}

/** Has no say in where channels are: any place will do, or its axes or attributes can name it. */
function isFree(node: Node, scope: Scope): boolean {
  return crosses(node, scope) || traitsOf(node)?.layout === "channels";
}

/** Regions of convolutions with channels second, in graph order: of as many spatial axes as a setting turns, else of two or more. */
export function layoutRegions({ products, facts, layoutSetting }: LintContext): LayoutRegion[] {
  const index = ProductIndex.of(products);
  const isOf = (axes: number) =>
    layoutSetting === undefined ? axes >= 2 : choosesLayout(stacks[layoutSetting.stack], axes);
  return [...facts.scopes()].flatMap((scope) => new RegionFinder(scope, index, isOf).find());
}

class RegionFinder {
  readonly #scope: Scope;
  readonly #index: ProductIndex;
  /** By the number of spatial axes, whether a convolution is looked at. */
  readonly #isOf: (axes: number) => boolean;
  readonly #constants: ConstantValues;
  /** Union-find over values. */
  readonly #sets: DisjointSets<Value>;

  constructor(scope: Scope, index: ProductIndex, isOf: (axes: number) => boolean) {
    this.#isOf = isOf;
    this.#scope = scope;
    this.#index = index;
    this.#constants = ConstantValues.of(scope);
    this.#sets = new DisjointSets(scope.byValue<Value>());
  }

  find(): LayoutRegion[] {
    const { nodes } = this.#scope.graph;
    if (!nodes.some((node) => this.#convolution(node) !== undefined)) return [];
    const convolutions = new Map<Value, CostedProduct[]>();
    const members = nodes.filter((node) => this.#takesPart(node));
    for (const node of members) this.#join(this.#activationsOf(node));
    for (const node of members) {
      const product = this.#convolution(node);
      const [value] = this.#activationsOf(node);
      if (product === undefined || value === undefined) continue;
      const root = this.#sets.rootOf(value);
      append(convolutions, root, product);
    }
    const borders = this.#bordersByRoot(members);
    return [...convolutions].map(([root, found]) => ({
      scope: this.#scope,
      convolutions: found,
      borders: borders.get(root) ?? [],
    }));
  }

  #convolution(node: Node): CostedProduct | undefined {
    const product = this.#index.get(node, this.#scope);
    const work = product?.sizes;
    return work?.kind === "conv" && work.layout === "nchw" && this.#isOf(work.kernel.length)
      ? product
      : undefined;
  }

  #takesPart(node: Node): boolean {
    if (this.#convolution(node) !== undefined) return true;
    if (this.#index.get(node, this.#scope) !== undefined || this.#constants.has(node)) return false;
    const pattern = patternOf(node, this.#scope);
    return pattern === "elementwise" || pattern === "pool" || isFree(node, this.#scope);
  }

  /** Computed values of a node that have channels and as many spatial axes as are looked at; a convolution's weights are not among them. */
  #activationsOf(node: Node): Value[] {
    const [input] = node.inputs;
    const inputs = this.#convolution(node) === undefined ? node.inputs : [input];
    return [...inputs, ...node.outputs].filter(
      (value): value is Value =>
        value !== undefined && !this.#constants.isFixedValue(value) && this.#isOf(this.#rankOf(value) - 2),
    );
  }

  #rankOf(value: Value): number {
    const fact = this.#scope.fact(value);
    return fact?.kind === "tensor" ? (fact.shape?.length ?? 0) : 0;
  }

  #join(values: readonly Value[]): void {
    const [first, ...others] = values;
    if (first !== undefined) for (const other of others) this.#sets.join(other, first);
  }

  #bordersByRoot(members: readonly Node[]): Map<Value, Value[]> {
    const takesPart = this.#scope.byNode<true>();
    for (const node of members) takesPart.set(node, true);
    const borders = new Map<Value, Value[]>();
    const seen = this.#scope.byValue<true>();
    for (const value of members.flatMap((node) => this.#activationsOf(node))) {
      if (seen.get(value)) continue;
      seen.set(value, true);
      const comesIn = value.producer === undefined || !takesPart.get(value.producer);
      const goesOut = value.isOutput || value.consumers.some((reader) => !takesPart.get(reader));
      if (comesIn || goesOut) append(borders, this.#sets.rootOf(value), value);
    }
    return borders;
  }
}

function append<K, T>(lists: Map<K, T[]>, key: K, item: T): void {
  const list = lists.get(key);
  if (list === undefined) lists.set(key, [item]);
  else list.push(item);
}
