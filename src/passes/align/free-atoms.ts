/** @file Atoms that may still be padded: more than one element, no reason against them. Some of them ask for Slices and Pads. */
import { type Atom, atomsOf } from "../../ir/axis.ts";
import type { Value } from "../../ir/model.ts";
import type { Relations } from "./relate.ts";

/** Those of the whole graph that nothing holds. */
export function freeAtoms(relations: Relations): ReadonlySet<Atom> {
  const all = freeAtomsOf(relations.scope.graph.values.values(), relations);
  return new Set([...all].filter(({ held }) => held === undefined));
}

/** Those that some values have, held or not. */
export function freeAtomsOf(values: Iterable<Value | undefined>, relations: Relations): ReadonlySet<Atom> {
  const free = new Set<Atom>();
  for (const value of values) {
    const axes = value === undefined ? undefined : relations.axesOf(value);
    if (axes === undefined) continue;
    for (const axis of axes) for (const atom of atomsOf(axis)) if (atom.blocked === undefined) free.add(atom);
  }
  return free;
}
