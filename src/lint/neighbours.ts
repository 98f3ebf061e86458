/** @file The nearest products before and behind a node, through whatever keeps the elements apart. */
import type { Scope } from "../facts/scope.ts";
import { pushAll } from "../ir/lists.ts";
import type { Node } from "../ir/model.ts";
import type { CostedProduct } from "./context.ts";
import { type ProductIndex, patternOf } from "./graph.ts";

/** Layers between a layout change and its product are few: a norm, an activation, a residual. */
const maxSteps = 64;

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
