/** @file One object for equal work: a large model has as many products as layers, and a few sizes of them. */
import type { Work } from "../ops/work.ts";

export class WorkPool {
  readonly #known = new Map<string, Work>();

  /** Equal work, seen before if there was any. Work with open sizes stays what it is. */
  share<W extends Work>(work: W): W {
    let key = "";
    // Entries would make two arrays of every field.
    const fields = work as unknown as Readonly<Record<string, unknown>>;
    for (const name in fields) {
      const field = fields[name];
      if (isOpen(field)) return work;
      key += `${name}=${field};`;
    }
    const known = this.#known.get(key);
    // The same kind, which is among the fields.
    if (known !== undefined) return known as W;
    this.#known.set(key, work);
    return work;
  }
}

function isOpen(field: unknown): boolean {
  return Array.isArray(field)
    ? field.some((entry) => typeof entry === "object")
    : typeof field === "object" && field !== null;
}
