/** @file What a pattern has taken in so far: a list that grows at its head, so that going back costs nothing. */
import type { Dim } from "../../ir/dim.ts";
import type { Node, Value } from "../../ir/model.ts";

export type Binding =
  /** A node of the match, by name where it has one. */
  | { readonly kind: "node"; readonly name: string | undefined; readonly node: Node }
  | { readonly kind: "value"; readonly name: string; readonly value: Value }
  | { readonly kind: "values"; readonly name: string; readonly values: readonly Value[] }
  | { readonly kind: "dim"; readonly name: string; readonly dim: Dim };

export class Bindings {
  static readonly none = new Bindings(undefined, undefined);
  /** How much is taken in. */
  readonly size: number;
  readonly #last: Binding | undefined;
  readonly #before: Bindings | undefined;

  private constructor(last: Binding | undefined, before: Bindings | undefined) {
    this.#last = last;
    this.#before = before;
    this.size = before === undefined ? 0 : before.size + 1;
  }

  with(binding: Binding): Bindings {
    return new Bindings(binding, this);
  }

  /** The latest first. */
  *[Symbol.iterator](): Generator<Binding> {
    for (let at: Bindings | undefined = this; at !== undefined; at = at.#before)
      if (at.#last !== undefined) yield at.#last;
  }

  node(name: string): Node | undefined {
    for (const each of this) if (each.kind === "node" && each.name === name) return each.node;
    return undefined;
  }

  value(name: string): Value | undefined {
    for (const each of this) if (each.kind === "value" && each.name === name) return each.value;
    return undefined;
  }

  values(name: string): readonly Value[] | undefined {
    for (const each of this) if (each.kind === "values" && each.name === name) return each.values;
    return undefined;
  }

  dim(name: string): Dim | undefined {
    for (const each of this) if (each.kind === "dim" && each.name === name) return each.dim;
    return undefined;
  }

  /** Each once, in graph order. */
  nodes(): readonly Node[] {
    const nodes = new Set<Node>();
    for (const each of this) if (each.kind === "node") nodes.add(each.node);
    return [...nodes].sort((a, b) => a.id - b.id);
  }
}
