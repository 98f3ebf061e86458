/**
 * @file Padding of what operators need at its true size: with Slices in front of them and Pads behind, where that saves more than padding
 * that does without.
 */
import { type Atom, atomsOf } from "../../ir/axis.ts";
import type { CostedProduct } from "../../workload/product.ts";
import type { Pricing } from "../pass.ts";
import { type Choice, choosePadding, type MeasuredWork } from "./choose.ts";
import { ItemTimes } from "./item-times.ts";
import { safeAtoms } from "./lanes.ts";
import { atomsOfProduct } from "./padded.ts";
import type { Component } from "./problem.ts";
import type { Relations } from "./relate.ts";
import type { SafeRelations } from "./safe-relations.ts";
import { vector } from "./sizes-tried.ts";

const none: ReadonlySet<Atom> = new Set();

/** What `plain` leaves of a model because something holds it; undefined where no more is to be padded. */
export function widerChoice(
  { relations, fills }: SafeRelations,
  free: ReadonlySet<Atom>,
  plain: Choice,
  work: MeasuredWork,
  pricing: Pricing,
): Choice | undefined {
  const held = pricing.inside === undefined ? none : heldAtoms({ relations, fills }, work.products);
  if (held.size === 0) return undefined;
  const times = new ItemTimes(relations, pricing, true);
  const options = { times, start: plain.sizes };
  const wide = choosePadding(relations, new Set([...free, ...held]), work, pricing, options);
  return merged(plain, wide, held, pricing);
}

/** Off the multiple in a product, and held where nothing is fused that a Slice would take apart. */
export function heldAtoms(
  { relations, fills }: SafeRelations,
  products: readonly CostedProduct[],
): ReadonlySet<Atom> {
  const held = new Set<Atom>();
  for (const product of products)
    for (const atom of atomsOfProduct(product, relations))
      if (atom.held !== undefined && atom.size % vector !== 0) held.add(atom);
  if (held.size === 0) return held;
  for (const atom of withinAttention(relations, products)) held.delete(atom);
  return safeAtoms(relations, held, fills);
}

/** What is at its true size inside attention that runs as one kernel. */
function withinAttention(relations: Relations, products: readonly CostedProduct[]): ReadonlySet<Atom> {
  const within = new Set<Atom>();
  for (const { decomposed, nodes } of products) {
    if (decomposed === undefined) continue;
    for (const node of nodes) {
      for (const [index, value] of node.inputs.entries()) {
        const axes = value === undefined ? [] : (relations.axesOf(value) ?? []);
        const taken = axes.filter((_, at) => relations.inner.takenBy(node, index).has(at));
        for (const axis of taken) for (const atom of atomsOf(axis)) within.add(atom);
      }
    }
  }
  return within;
}

/** Component by component what saves more; undefined where nothing that is held does. */
function merged(
  plain: Choice,
  wide: Choice,
  held: ReadonlySet<Atom>,
  { leastMicroseconds }: Pricing,
): Choice | undefined {
  const gains = new Set<Component>();
  const replaced = new Set<Component>();
  for (const component of wide.components) {
    if (![...component.sizes.keys()].some((atom) => held.has(atom))) continue;
    const products = new Set(component.products);
    const within = plain.components.filter((each) => each.products.some((product) => products.has(product)));
    const before = within.reduce((sum, each) => sum + (each.sizes.size > 0 ? each.savesMicroseconds : 0), 0);
    if (component.savesMicroseconds - before < leastMicroseconds) continue;
    gains.add(component);
    for (const each of within) replaced.add(each);
  }
  if (gains.size === 0) return undefined;
  const components = [...plain.components.filter((each) => !replaced.has(each)), ...gains];
  return { components, sizes: new Map(components.flatMap(({ sizes }) => [...sizes])) };
}
