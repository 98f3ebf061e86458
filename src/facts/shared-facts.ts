/** @file One object for equal facts: a large model has as many values as nodes, and a few hundred shapes. */
import type { Fact, TensorFact } from "../ops/op.ts";

export class FactPool {
  readonly #known = new Map<string, TensorFact>();

  /** An equal fact, seen before if there was one. Facts with elements or open sizes stay what they are. */
  share(fact: Fact | undefined): Fact | undefined {
    // Asking for the elements of a stored tensor would read them.
    if (fact?.kind !== "tensor" || fact.shape === undefined || "elements" in fact) return fact;
    let key: string = fact.dtype ?? "?";
    for (let axis = 0; axis < fact.shape.length; axis++) {
      const dim = fact.shape[axis];
      if (typeof dim !== "number") return fact;
      key += `,${dim}`;
    }
    const known = this.#known.get(key);
    if (known !== undefined) return known;
    this.#known.set(key, fact);
    return fact;
  }
}
