/**
 * @file Which atoms to pad, and to what. Atoms interact where they meet in one product, so a graph falls apart into
 * components that are solved one by one.
 */

import { isStored } from "../../facts/stored.ts";
import type { Atom, PaddedSizes } from "../../ir/axis.ts";
import { DisjointSets } from "../../ir/disjoint-sets.ts";
import { push } from "../../ir/group.ts";
import type { Value } from "../../ir/model.ts";
import { once } from "../../ir/once.ts";
import type { CostedProduct } from "../../workload/product.ts";
import type { TrafficStep } from "../../workload/timeline.ts";
import type { PassContext, Pricing } from "../pass.ts";
import { freeAtomsOf } from "./free-atoms.ts";
import { ItemTimes } from "./item-times.ts";
import { atomsOfProduct } from "./padded.ts";
import { type Component, Problem, type Surroundings } from "./problem.ts";
import type { Relations } from "./relate.ts";

export interface Choice {
  readonly sizes: Map<Atom, number>;
  readonly components: readonly Component[];
}

/** All that the main graph spends time on. */
export type MeasuredWork = Pick<PassContext, "products" | "traffic">;

export interface ChoiceOptions {
  /** Whether what happens at the model's inputs and outputs counts; default true. */
  readonly edges?: boolean;
  /** What has been priced already, with the same relations and the same cost model. */
  readonly times?: ItemTimes;
  /** Sizes that are known to save something. */
  readonly start?: PaddedSizes;
}

/** Solves every component of the free atoms. */
export function choosePadding(
  relations: Relations,
  atoms: ReadonlySet<Atom>,
  work: MeasuredWork,
  pricing: Pricing,
  options: ChoiceOptions = {},
): Choice {
  const sizes = new Map<Atom, number>();
  const components: Component[] = [];
  for (const problem of problemsOf(relations, atoms, work, pricing, options)) {
    const component = problem.solve();
    components.push(component);
    for (const [atom, size] of component.sizes) sizes.set(atom, size);
  }
  return { sizes, components };
}

/** One for every set of atoms that meet in products. What it takes to solve one is worked out when it is. */
export function problemsOf(
  relations: Relations,
  atoms: ReadonlySet<Atom>,
  { products, traffic }: MeasuredWork,
  pricing: Pricing,
  { edges = true, times = new ItemTimes(relations, pricing), start }: ChoiceOptions = {},
): Problem[] {
  const groups = new DisjointSets<Atom>();
  const touched = products.map((product) =>
    [...atomsOfProduct(product, relations)].filter((atom) => atoms.has(atom)),
  );
  for (const [first, ...more] of touched) {
    if (first === undefined) continue;
    for (const atom of more) groups.join(atom, first);
  }
  const problems = new Map<Atom, { atoms: Set<Atom>; products: Map<CostedProduct, readonly Atom[]> }>();
  for (const [index, own] of touched.entries()) {
    const [first] = own;
    const product = products[index];
    if (first === undefined || product === undefined) continue;
    const root = groups.rootOf(first);
    const problem = problems.get(root) ?? { atoms: new Set(), products: new Map() };
    problems.set(root, problem);
    for (const atom of own) problem.atoms.add(atom);
    problem.products.set(product, own);
  }
  const around = once(() => {
    const all = surroundingsOf(relations, traffic);
    return edges ? all : { ...all, edges: new Map<Atom, readonly Value[]>() };
  });
  return [...problems.values()].map(
    (problem) =>
      new Problem(relations, problem.atoms, problem.products, around, pricing, {
        times,
        start: start && new Map([...start].filter(([atom]) => problem.atoms.has(atom))),
      }),
  );
}

function surroundingsOf(relations: Relations, traffic: readonly TrafficStep[]): Surroundings {
  const steps = new Map<Atom, TrafficStep[]>();
  const edges = new Map<Atom, Value[]>();
  for (const step of traffic) {
    const values = step.nodes.flatMap(({ inputs, outputs }) => [...inputs, ...outputs]);
    for (const atom of freeAtomsOf(values, relations)) push(steps, atom, step);
  }
  for (const value of relations.scope.graph.values.values()) {
    if (isStored(value, relations.scope) || !(value.isInput || value.isOutput)) continue;
    for (const atom of freeAtomsOf([value], relations)) push(edges, atom, value);
  }
  for (const value of relations.inner.values()) {
    if (value.isInput || value.isOutput) continue;
    for (const atom of freeAtomsOf([value], relations)) push(edges, atom, value);
  }
  for (const table of relations.positions.keys()) {
    if (isStored(table, relations.scope))
      for (const atom of freeAtomsOf([table], relations)) push(edges, atom, table);
  }
  return { traffic: steps, edges };
}
