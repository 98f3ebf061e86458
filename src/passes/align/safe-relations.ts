/** @file Relations of a graph in which everything is blocked that no padding may touch: the ground of every choice. */
import type { Facts } from "../../facts/infer.ts";
import { freeAtoms } from "./free-atoms.ts";
import { blockUnsafe, collectFills, type Fills } from "./lanes.ts";
import { type Relations, relate } from "./relate.ts";

export interface SafeRelations {
  readonly relations: Relations;
  readonly fills: Fills;
}

/** Left by a pass that blocked nothing else in them: the report on what it left off the multiple begins where it ended. */
const left = new WeakMap<Facts, SafeRelations>();

/** The caller's own: it may block more in them. */
export function safeRelations(facts: Facts): SafeRelations {
  const known = left.get(facts);
  left.delete(facts);
  if (known !== undefined) return known;
  const relations = relate(facts);
  const fills = collectFills(relations);
  blockUnsafe(relations, freeAtoms(relations), fills);
  return { relations, fills };
}

/** For whoever asks next for those of the same facts. */
export function leaveRelations(facts: Facts, relations: SafeRelations): void {
  left.set(facts, relations);
}
