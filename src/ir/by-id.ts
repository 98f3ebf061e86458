/** @file What is known of nodes or values, by the ids that are dense over a model. */

/** A Map by id; where most of a model's ids are going to be in it, an array: hashing is what lint of a large model does most. */
export class ById<K extends { readonly id: number }, V> {
  readonly #known: (V | undefined)[] | Map<number, V>;

  /** `count` is of all ids where most of them are to come, and undefined for a few. */
  constructor(count?: number) {
    this.#known = count === undefined ? new Map() : new Array<undefined>(count);
  }

  get(key: K): V | undefined {
    return Array.isArray(this.#known) ? this.#known[key.id] : this.#known.get(key.id);
  }

  set(key: K, value: V): void {
    if (Array.isArray(this.#known)) this.#known[key.id] = value;
    else this.#known.set(key.id, value);
  }
}
