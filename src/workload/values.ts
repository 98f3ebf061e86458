/** @file Questions about a value's size and elements. */
import type { Scope } from "../facts/scope.ts";
import { type Dim, evaluateDim } from "../ir/dim.ts";
import type { Value } from "../ir/model.ts";

/** Sizes of symbols. */
export interface Bound {
  readonly bindings: ReadonlyMap<string, number>;
}

/** Sizes with every symbol bound as the run binds it; undefined where some stay unknown. */
export function sizesOf(value: Value, scope: Scope, { bindings }: Bound): number[] | undefined {
  const fact = scope.fact(value);
  if (fact?.kind !== "tensor" || fact.shape === undefined) return undefined;
  const sizes = fact.shape.map((dim) => evaluateDim(dim, bindings));
  return sizes.every((size) => size !== undefined) ? sizes : undefined;
}

/** Elements of a small constant; undefined for what is computed, large, or not stored with the model. */
export function constantElements(value: Value | undefined, scope: Scope): readonly number[] | undefined {
  const fact = value === undefined ? undefined : scope.fact(value);
  if (fact?.kind !== "tensor") return undefined;
  const { elements } = fact;
  return elements !== undefined && areNumbers(elements) ? elements : undefined;
}

/** By index, as `finiteRange` goes: many are read. */
function areNumbers(elements: readonly Dim[]): elements is readonly number[] {
  for (let index = 0; index < elements.length; index++) if (typeof elements[index] !== "number") return false;
  return true;
}
