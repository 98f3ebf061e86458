/** @file A graph with what it spells in NHWC as a stack runs it that undoes that (docs/adr/0039-layouts-that-a-runtime-undoes.md). */
import { Scope } from "../facts/scope.ts";
import type { Value } from "../ir/model.ts";
import type { Fact } from "../ops/op.ts";
import { toSecond } from "../ops/permutations.ts";

/** Shapes of `undone` are those that they have in NCHW. */
export function scopeAsRun(scope: Scope, undone: ReadonlySet<Value>): Scope {
  return undone.size === 0 ? scope : new ScopeAsRun(scope, undone);
}

class ScopeAsRun extends Scope {
  readonly #base: Scope;
  readonly #undone: ReadonlySet<Value>;

  constructor(base: Scope, undone: ReadonlySet<Value>) {
    super({ model: base.model, graph: base.graph, opsets: base.opsets });
    this.#base = base;
    this.#undone = undone;
  }

  override fact(value: Value): Fact | undefined {
    const fact = this.#base.fact(value);
    if (fact?.kind !== "tensor" || fact.shape === undefined || !this.#undone.has(value)) return fact;
    const { shape } = fact;
    return { ...fact, shape: toSecond(shape.length).flatMap((axis) => shape[axis] ?? []) };
  }
}
