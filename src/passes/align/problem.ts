/**
 * @file Atoms that are decided together, and the sizes that minimise the predicted time of everything they touch: coordinate
 * descent over candidate sizes, from two starts. Deterministic; ties go to the smaller model.
 */
import type { Atom, PaddedSizes } from "../../ir/axis.ts";
import type { Value } from "../../ir/model.ts";
import type { Pricing, SizedProduct, TrafficStep } from "../pass.ts";
import { atomsOfProduct, paddedWork } from "./padded.ts";
import type { Relations } from "./relate.ts";
import { edgeTime, stepTime } from "./traffic-time.ts";

/** Atoms decided together, and what padding them is predicted to do. */
export interface Component {
  readonly atoms: readonly Atom[];
  readonly products: readonly SizedProduct[];
  /** Chosen sizes of the atoms that are padded; empty where nothing pays. */
  readonly sizes: ReadonlyMap<Atom, number>;
  /** Of the best padding found, chosen or not. */
  readonly savesMicroseconds: number;
}

/** What has an atom among its axes and is no product. */
export interface Surroundings {
  readonly traffic: ReadonlyMap<Atom, readonly TrafficStep[]>;
  /** Inputs and outputs of the model. */
  readonly edges: ReadonlyMap<Atom, readonly Value[]>;
}

const steps = [2, 4, 8, 16, 32, 64] as const;
const mostGrowth = 1.5;
const maxRounds = 4;
/** Of the saving found, what a smaller model may keep. */
const nearlyAll = 0.97;
/** Halves in the 16 bytes of one load. */
const vector = 8;

/** Microseconds; less is rounding. */
const least = 1e-9;
const none: ReadonlyMap<Atom, number> = new Map();

interface Found {
  readonly sizes: PaddedSizes;
  readonly cost: number;
}

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

export class Problem {
  readonly #relations: Relations;
  readonly #atoms: readonly Atom[];
  readonly #products: readonly SizedProduct[];
  readonly #productsOf = new Map<Atom, SizedProduct[]>();
  readonly #around: Surroundings;
  readonly #pricing: Pricing;
  readonly #productTimes = new Map<string, number>();

  constructor(
    relations: Relations,
    atoms: ReadonlySet<Atom>,
    products: readonly SizedProduct[],
    around: Surroundings,
    pricing: Pricing,
  ) {
    this.#relations = relations;
    this.#atoms = [...atoms].sort((a, b) => a.id - b.id);
    this.#products = products;
    this.#around = around;
    this.#pricing = pricing;
    for (const product of products) {
      for (const atom of atomsOfProduct(product, relations)) {
        push(this.#productsOf, atom, product);
      }
    }
  }

  solve(): Component {
    const before = this.#cost(none);
    const best = this.#bestFrom([none, this.#allMultiplesOf(vector)], before);
    const kept = this.#settle(this.#shed(best.sizes), before);
    const saved = before - this.#cost(kept);
    const pays = saved >= this.#pricing.leastMicroseconds && saved > least;
    return {
      atoms: this.#atoms,
      products: this.#products,
      sizes: pays ? kept : none,
      savesMicroseconds: saved,
    };
  }

  /** The most that a wider search finds, whatever is worth making: what the choice is measured by. Slow. */
  bound(): number {
    const before = this.#cost(none);
    const starts = [none, ...steps.map((step) => this.#allMultiplesOf(step))];
    for (const atom of this.#atoms)
      for (const size of candidatesOf(atom.size)) starts.push(new Map([[atom, size]]));
    return before - this.#bestFrom(starts, before).cost;
  }

  #bestFrom(starts: readonly PaddedSizes[], before: number): Found {
    let best: Found = { sizes: none, cost: before };
    for (const start of starts) {
      const found = this.#descend(start);
      if (found.cost < best.cost - least) best = found;
    }
    return best;
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
  #descend(start: PaddedSizes): Found {
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
      if (cost < best.cost - least) best = { size, cost };
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
      if (this.#costAround(atom, kept) > withPadding + least && size !== undefined) kept.set(atom, size);
    }
    return kept;
  }

  /** Smaller aligned sizes that together save nearly as much: predictions are no finer, and the model stays small. */
  #settle(best: Map<Atom, number>, before: number): Map<Atom, number> {
    const sizes = new Map(best);
    let cost = this.#cost(sizes);
    // What is given up must not be worth making in a round of its own.
    const givenUp = Math.min((1 - nearlyAll) * (before - cost), this.#pricing.leastMicroseconds / 2);
    const most = cost + givenUp;
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
    return this.#time(sizes, this.#atoms, this.#products);
  }

  #costAround(atom: Atom, sizes: PaddedSizes): number {
    return this.#time(sizes, [atom], this.#productsOf.get(atom) ?? []);
  }

  #time(sizes: PaddedSizes, atoms: readonly Atom[], products: readonly SizedProduct[]): number {
    const { traffic, edges } = this.#around;
    let time = 0;
    for (const product of products) time += this.#productTime(product, sizes);
    for (const step of new Set(atoms.flatMap((atom) => traffic.get(atom) ?? [])))
      time += stepTime(step, sizes, this.#relations, this.#pricing);
    for (const value of new Set(atoms.flatMap((atom) => edges.get(atom) ?? [])))
      time += edgeTime(value, sizes, this.#relations, this.#pricing);
    return time;
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
}

export function push<K, V>(lists: Map<K, V[]>, key: K, item: V): void {
  const list = lists.get(key);
  if (list === undefined) lists.set(key, [item]);
  else list.push(item);
}

function place(sizes: Map<Atom, number>, atom: Atom, size: number): void {
  if (size === atom.size) sizes.delete(atom);
  else sizes.set(atom, size);
}
