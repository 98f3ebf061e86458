/** @file The nearest products before and behind a node, through whatever keeps the elements apart. */
import type { Scope } from "../facts/scope.ts";
import { storedTensor } from "../facts/stored.ts";
import { pushAll } from "../ir/lists.ts";
import type { Node, Value } from "../ir/model.ts";
import type { CostedProduct } from "./context.ts";
import { type ProductIndex, patternOf } from "./graph.ts";

/** Layers between a layout change and its product are few: a norm, an activation, a residual. */
const maxSteps = 64;

/** Values and passes; a residual stream has a few hundred. */
const mostSeen = 4096;

/** What a product reads, or what it writes: channels or K, filters or N. */
export type Side = "in" | "out";

export interface ProductEnd {
  readonly product: CostedProduct;
  readonly side: Side;
}

/** What a search makes of a node: a product ends it, a pass over memory is gone through, and nothing else is. */
type Met = CostedProduct | "pass" | "end";

/** In one instance of a graph. Searches from many nodes meet the same ones: what each is, is asked once. */
export class Neighbours {
  readonly #scope: Scope;
  readonly #index: Pick<ProductIndex, "get">;
  readonly #met = new Map<Node, Met>();

  constructor(scope: Scope, index: Pick<ProductIndex, "get">) {
    this.#scope = scope;
    this.#index = index;
  }

  /** Products whose results reach the node through passes over memory, nearest first. */
  before(node: Node): CostedProduct[] {
    return this.#search(node, (each) => each.inputs.flatMap((value) => value?.producer ?? []));
  }

  /** Products that read what the node computes, through passes over memory. */
  behind(node: Node): CostedProduct[] {
    return this.#search(node, (each) => each.outputs.flatMap((value) => value?.consumers ?? []));
  }

  /**
   * Where products write or read an axis of this size that `node` reads or writes, whichever way passes over memory tie their values: the other
   * operand of a residual's Add, another reader of one value. `seen`: values and passes that were gone through, and are not again.
   */
  around(node: Node, side: Side, size: number, seen: Set<Value | Node>): ProductEnd[] {
    const found: ProductEnd[] = [];
    const pending: Value[] = [];
    const take = (values: readonly (Value | undefined)[]) => {
      for (const value of values) if (value !== undefined && this.#has(value, size)) pending.push(value);
    };
    take(side === "in" ? node.inputs : node.outputs);
    for (let value = pending.pop(); value !== undefined && seen.size <= mostSeen; value = pending.pop()) {
      if (seen.has(value)) continue;
      seen.add(value);
      const { producer, consumers } = value;
      const ends = consumers.map((each) => [each, "in"] as const);
      for (const [each, at] of producer === undefined ? ends : [[producer, "out"] as const, ...ends]) {
        if (each.graph !== this.#scope.graph) continue;
        const met = this.#meet(each);
        if (met !== "pass" && met !== "end") found.push({ product: met, side: at });
        if (met !== "pass" || seen.has(each)) continue;
        seen.add(each);
        take([...each.inputs, ...each.outputs]);
      }
    }
    return found;
  }

  /** A weight has the axis by itself, and one that several read ties nothing. */
  #has(value: Value, size: number): boolean {
    return storedTensor(value) === undefined && this.#scope.shape(value)?.includes(size) === true;
  }

  #search(start: Node, next: (node: Node) => readonly Node[]): CostedProduct[] {
    const found: CostedProduct[] = [];
    const seen = new Set<Node>([start]);
    const pending = [...next(start)];
    for (let node = pending.shift(); node !== undefined && seen.size <= maxSteps; node = pending.shift()) {
      if (seen.has(node) || node.graph !== this.#scope.graph) continue;
      seen.add(node);
      const met = this.#meet(node);
      if (met === "pass") pushAll(pending, next(node));
      else if (met !== "end") found.push(met);
    }
    return found;
  }

  #meet(node: Node): Met {
    const known = this.#met.get(node);
    if (known !== undefined) return known;
    const isPass = () => patternOf(node, this.#scope) !== undefined;
    const met = this.#index.get(node, this.#scope) ?? (isPass() ? "pass" : "end");
    this.#met.set(node, met);
    return met;
  }
}
