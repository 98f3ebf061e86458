/** @file Names of what the padding pass decides, the same in every run over one model: by them parts are left out. */
import type { Atom } from "../../ir/axis.ts";
import { labelOf } from "../../ir/model.ts";
import type { CostedProduct } from "../../workload/product.ts";
import type { PassContext } from "../pass.ts";
import { atomsOfProduct } from "./padded.ts";
import type { Relations } from "./relate.ts";

export type PartNames = ReadonlyMap<Atom, string>;

/** Each free atom that products have, by the first of them and its size there: `up: 67`. */
export function partNames(products: readonly CostedProduct[], relations: Relations): PartNames {
  const names = new Map<Atom, string>();
  for (const product of products) {
    const counts = new Map<number, number>();
    for (const atom of [...atomsOfProduct(product, relations)].sort((a, b) => a.id - b.id)) {
      const count = (counts.get(atom.size) ?? 0) + 1;
      counts.set(atom.size, count);
      const which = count > 1 ? ` (${count})` : "";
      if (!names.has(atom)) names.set(atom, `${labelOf(product.node)}: ${atom.size}${which}`);
    }
  }
  return names;
}

/** The product that a part is named by, whatever size it has there. */
export function productOf(part: string): string {
  return part.replace(/: \d+( \(\d+\))?$/, "");
}

/** Forbids padding what is to be left out. */
export function blockLeftOut(names: PartNames, leftOut: PassContext["leftOut"]): void {
  for (const [atom, name] of names) {
    const reason = leftOut?.(name);
    if (reason !== undefined) atom.blocked ??= reason;
  }
}
