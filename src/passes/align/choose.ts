/**
 * @file Which atoms to pad, and to what: the sizes that minimise predicted time.
 *
 * Atoms interact where they meet in one product, in one value, or at one edge of the graph, so a graph falls apart into
 * components that are solved one by one, each by coordinate descent from two starts. Deterministic; ties go to the
 * smaller model.
 */
import { type Atom, atomsOf, type PaddedSizes } from "../../ir/axis.ts";
import type { Value } from "../../ir/model.ts";
import type { Pricing, SizedProduct } from "../pass.ts";
import { isStored } from "../stored.ts";
import { atomsOfProduct, paddedWork } from "./padded.ts";
import type { Relations } from "./relate.ts";
import { valueTime } from "./value-time.ts";

export interface Choice {
  readonly sizes: Map<Atom, number>;
  readonly components: readonly Component[];
}

/** Atoms decided together, and what padding them is predicted to do. */
export interface Component {
  readonly atoms: readonly Atom[];
  readonly products: readonly SizedProduct[];
  /** Chosen sizes of the atoms that are padded; empty where nothing pays. */
  readonly sizes: ReadonlyMap<Atom, number>;
  /** Of the best padding found, chosen or not. */
  readonly savesMicroseconds: number;
}

const steps = [2, 4, 8, 16, 32, 64] as const;
const mostGrowth = 1.5;
const maxRounds = 4;
/** Of the saving found, what a smaller model may keep. */
const nearlyAll = 0.97;
/** Halves in the 16 bytes of one load. */
const vector = 8;

/** n, then the next multiples of 2, 4, 8, 16, 32 and 64 up to half as much again. */
export function candidatesOf(size: number): number[] {
  const sizes = new Set([size]);
  for (const step of steps) {
    const padded = Math.ceil(size / step) * step;
    // A few channels may grow to a whole vector: 3 to 4 is more than half as much again of nothing.
    if (padded <= Math.max(mostGrowth * size, 8)) sizes.add(padded);
  }
  return [...sizes].sort((a, b) => a - b);
}

/** Solves every component of the free atoms. */
export function choosePadding(
  relations: Relations,
  atoms: ReadonlySet<Atom>,
  products: readonly SizedProduct[],
  pricing: Pricing,
): Choice {
  const sizes = new Map<Atom, number>();
  const components: Component[] = [];
  for (const problem of componentsOf(relations, atoms, products, pricing)) {
    const component = problem.solve();
    components.push(component);
    for (const [atom, size] of component.sizes) sizes.set(atom, size);
  }
  return { sizes, components };
}

function componentsOf(
  relations: Relations,
  atoms: ReadonlySet<Atom>,
  products: readonly SizedProduct[],
  pricing: Pricing,
): Problem[] {
  const groups = new Map<Atom, Atom>();
  const find = (atom: Atom): Atom => {
    const up = groups.get(atom);
    if (up === undefined || up === atom) return atom;
    const root = find(up);
    groups.set(atom, root);
    return root;
  };
  const touched = products.map((product) =>
    [...atomsOfProduct(product, relations)].filter((atom) => atoms.has(atom)),
  );
  for (const [first, ...more] of touched) {
    if (first === undefined) continue;
    for (const atom of more) groups.set(find(atom), find(first));
  }
  const problems = new Map<Atom, { atoms: Set<Atom>; products: SizedProduct[] }>();
  for (const [index, own] of touched.entries()) {
    const [first] = own;
    const product = products[index];
    if (first === undefined || product === undefined) continue;
    const root = find(first);
    const problem = problems.get(root) ?? { atoms: new Set(), products: [] };
    problems.set(root, problem);
    for (const atom of own) problem.atoms.add(atom);
    problem.products.push(product);
  }
  const values = valuesByAtom(relations);
  return [...problems.values()].map(
    (problem) => new Problem(relations, problem.atoms, problem.products, values, pricing),
  );
}

/** Computed values, and which free atoms are in their axes. */
function valuesByAtom(relations: Relations): Map<Atom, Value[]> {
  const byAtom = new Map<Atom, Value[]>();
  for (const value of relations.scope.graph.values.values()) {
    if (isStored(value, relations.scope)) continue;
    const atoms = new Set((relations.axesOf(value) ?? []).flatMap((axis) => atomsOf(axis)));
    for (const atom of atoms) {
      if (atom.blocked !== undefined) continue;
      const list = byAtom.get(atom);
      if (list === undefined) byAtom.set(atom, [value]);
      else list.push(value);
    }
  }
  return byAtom;
}

class Problem {
  readonly #relations: Relations;
  readonly #atoms: readonly Atom[];
  readonly #products: readonly SizedProduct[];
  readonly #productsOf = new Map<Atom, SizedProduct[]>();
  readonly #values: ReadonlyMap<Atom, readonly Value[]>;
  readonly #pricing: Pricing;
  readonly #productTimes = new Map<string, number>();

  constructor(
    relations: Relations,
    atoms: ReadonlySet<Atom>,
    products: readonly SizedProduct[],
    values: ReadonlyMap<Atom, readonly Value[]>,
    pricing: Pricing,
  ) {
    this.#relations = relations;
    this.#atoms = [...atoms].sort((a, b) => a.id - b.id);
    this.#products = products;
    this.#values = values;
    this.#pricing = pricing;
    for (const product of products) {
      for (const atom of atomsOfProduct(product, relations)) {
        const list = this.#productsOf.get(atom);
        if (list === undefined) this.#productsOf.set(atom, [product]);
        else list.push(product);
      }
    }
  }

  solve(): Component {
    const nothing: PaddedSizes = new Map();
    const before = this.#cost(nothing);
    const starts = [nothing, this.#allMultiplesOf(8)];
    let best = { sizes: nothing, cost: before };
    for (const start of starts) {
      const found = this.#descend(start);
      if (found.cost < best.cost - 1e-9) best = found;
    }
    const kept = this.#settle(this.#shed(best.sizes), before);
    const saved = before - this.#cost(kept);
    const pays = saved >= this.#pricing.leastMicroseconds;
    return {
      atoms: this.#atoms,
      products: this.#products,
      sizes: pays ? kept : new Map(),
      savesMicroseconds: saved,
    };
  }

  #allMultiplesOf(step: number): PaddedSizes {
    const sizes = new Map<Atom, number>();
    for (const atom of this.#atoms) {
      const padded = Math.ceil(atom.size / step) * step;
      if (padded > atom.size && candidatesOf(atom.size).includes(padded)) sizes.set(atom, padded);
    }
    return sizes;
  }

  /** One atom at a time, until nothing moves. Only what touches the atom is priced again. */
  #descend(start: PaddedSizes): { sizes: PaddedSizes; cost: number } {
    const sizes = new Map(start);
    for (let round = 0; round < maxRounds; round++) {
      let moved = false;
      for (const atom of this.#atoms) moved = this.#improve(atom, sizes) || moved;
      if (!moved) break;
    }
    return { sizes, cost: this.#cost(sizes) };
  }

  #improve(atom: Atom, sizes: Map<Atom, number>): boolean {
    const now = sizes.get(atom) ?? atom.size;
    let best = { size: now, cost: this.#costAround(atom, sizes) };
    for (const size of candidatesOf(atom.size)) {
      if (size === now) continue;
      place(sizes, atom, size);
      const cost = this.#costAround(atom, sizes);
      if (cost < best.cost - 1e-9) best = { size, cost };
    }
    place(sizes, atom, best.size);
    return best.size !== now;
  }

  /** Takes back padding that pays for nothing: the model should not grow for free. */
  #shed(sizes: PaddedSizes): Map<Atom, number> {
    const kept = new Map(sizes);
    for (const atom of [...kept.keys()].sort((a, b) => b.id - a.id)) {
      const size = kept.get(atom);
      const withPadding = this.#costAround(atom, kept);
      kept.delete(atom);
      if (this.#costAround(atom, kept) > withPadding + 1e-9 && size !== undefined) kept.set(atom, size);
    }
    return kept;
  }

  /** Smaller aligned sizes that together save nearly as much: predictions are no finer, and the model stays small. */
  #settle(best: Map<Atom, number>, before: number): Map<Atom, number> {
    const sizes = new Map(best);
    let cost = this.#cost(sizes);
    const most = before - nearlyAll * (before - cost);
    for (const [atom, size] of best) {
      const around = this.#costAround(atom, sizes);
      for (const smaller of candidatesOf(atom.size)) {
        if (smaller >= size) break;
        if (smaller === atom.size || smaller % vector !== 0) continue;
        place(sizes, atom, smaller);
        const changed = cost + this.#costAround(atom, sizes) - around;
        if (changed <= most) {
          cost = changed;
          break;
        }
        place(sizes, atom, size);
      }
    }
    return sizes;
  }

  #cost(sizes: PaddedSizes): number {
    let cost = 0;
    for (const product of this.#products) cost += this.#productTime(product, sizes);
    const values = new Set(this.#atoms.flatMap((atom) => this.#values.get(atom) ?? []));
    for (const value of values) cost += this.#valueTime(value, sizes);
    return cost;
  }

  #costAround(atom: Atom, sizes: PaddedSizes): number {
    let cost = 0;
    for (const product of this.#productsOf.get(atom) ?? []) cost += this.#productTime(product, sizes);
    for (const value of this.#values.get(atom) ?? []) cost += this.#valueTime(value, sizes);
    return cost;
  }

  #productTime(product: SizedProduct, sizes: PaddedSizes): number {
    const { estimate, bindings } = this.#pricing;
    const work = paddedWork(product, this.#relations, sizes, bindings) ?? product.sizes;
    const key = JSON.stringify(work);
    const known = this.#productTimes.get(key);
    const microseconds = known ?? estimate(work);
    if (known === undefined) this.#productTimes.set(key, microseconds);
    return microseconds * product.runs;
  }

  #valueTime(value: Value, sizes: PaddedSizes): number {
    return valueTime(value, sizes, this.#relations, this.#pricing);
  }
}

function place(sizes: Map<Atom, number>, atom: Atom, size: number): void {
  if (size === atom.size) sizes.delete(atom);
  else sizes.set(atom, size);
}
