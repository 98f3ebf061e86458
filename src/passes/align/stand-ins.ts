/** @file Sizes as numbers, which relations need: a symbol stands in as a number that no other axis has. */
import { collectSymbols, type Dim, evaluateDim, type Shape } from "../../ir/dim.ts";

/** Primes no layer has, small enough for exact products of three and a layer. */
const primes = [10_007, 10_009, 10_037, 10_039, 10_061, 10_067, 10_069, 10_079] as const;

/** Of one graph: a symbol stands in as the same number everywhere. */
export class StandIns {
  readonly #numbers = new Map<string, number>();

  /** Undefined where one of the sizes is not known. */
  sizesOf(shape: Shape): readonly number[] | undefined {
    if (shape.every((dim) => typeof dim === "number")) return shape;
    const sizes = shape.map((dim) => this.#numberOf(dim));
    return sizes.every((size) => size !== undefined) ? sizes : undefined;
  }

  #numberOf(dim: Dim): number | undefined {
    if (typeof dim === "number") return dim;
    const symbols = new Set<string>();
    collectSymbols(dim, symbols);
    for (const name of symbols) {
      const next = this.#numbers.size;
      if (!this.#numbers.has(name)) this.#numbers.set(name, primes[next] ?? 10_091 + 2 * next);
    }
    return evaluateDim(dim, this.#numbers);
  }
}
