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
    for (let at = 0; at < axes.length; at++) {
      const axis = axes[at];
      if (axis !== undefined) addFree(atomsOf(axis), free);
    }
  }
  return free;
}

/** By index: asked of every axis of a graph, and an iterator takes longer than what is done with an atom. */
function addFree(atoms: readonly Atom[], free: Set<Atom>): void {
  for (let at = 0; at < atoms.length; at++) {
    const atom = atoms[at];
    if (atom !== undefined && atom.blocked === undefined) free.add(atom);
  }
}
