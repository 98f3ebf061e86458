/**
 * @file Atoms that are decided together, and the sizes that minimise the predicted time of everything they touch: coordinate
 * descent over candidate sizes, from two starts. Deterministic; ties go to the smaller model.
 */
import type { Atom, PaddedSizes } from "../../ir/axis.ts";
import { push } from "../../ir/group.ts";
import type { Value } from "../../ir/model.ts";
import { once } from "../../ir/once.ts";
import type { CostedProduct } from "../../workload/product.ts";
import type { TrafficStep } from "../../workload/timeline.ts";
import type { Pricing } from "../pass.ts";
import type { ItemTimes, Time } from "./item-times.ts";
import { LiveSizes } from "./live-sizes.ts";
import { paddedWork } from "./padded.ts";
import { plainest, type Sizing } from "./plain-sizes.ts";
import type { Relations } from "./relate.ts";
import { type Alike, alikeIn, candidatesOf, steps, vector } from "./sizes-tried.ts";

/** Atoms decided together, and what padding them is predicted to do. */
export interface Component {
  readonly atoms: readonly Atom[];
  readonly products: readonly CostedProduct[];
  /** Chosen sizes of the atoms that are padded; empty where nothing pays. */
  readonly sizes: ReadonlyMap<Atom, number>;
  /** The best padding found, chosen or not. */
  readonly proposed: ReadonlyMap<Atom, number>;
  /** Of that. */
  readonly savesMicroseconds: number;
  /** Whether it was not chosen because it may save nothing. */
  readonly isUncertain: boolean;
}

/** What has an atom among its axes and is no product. */
export interface Surroundings {
  readonly traffic: ReadonlyMap<Atom, readonly TrafficStep[]>;
  /** Inputs and outputs of the model, and values that an operator has at their true size. */
  readonly edges: ReadonlyMap<Atom, readonly Value[]>;
}

const maxRounds = 4;
/** Of the saving found, what a smaller model may keep. */
const nearlyAll = 0.97;

/** Microseconds; less is rounding. */
const least = 1e-9;
const none: ReadonlyMap<Atom, number> = new Map();

/** Times that follow the sizes of the moment, each in the order in which it is added up. */
interface Priced {
  /** Of what has an atom. */
  readonly having: ReadonlyMap<Atom, readonly Time[]>;
  readonly all: readonly Time[];
}

interface Found {
  readonly sizes: PaddedSizes;
  readonly cost: number;
}

export class Problem {
  readonly #relations: Relations;
  readonly #atoms: readonly Atom[];
  readonly #products: readonly CostedProduct[];
  readonly #atomsOf: ReadonlyMap<CostedProduct, readonly Atom[]>;
  readonly #around: () => Surroundings;
  readonly #pricing: Pricing;
  readonly #times: ItemTimes;
  /** What is known to save something. */
  readonly #start: PaddedSizes | undefined;
  readonly #live = new LiveSizes();
  /** The time of each product, step and edge at the sizes of the moment. */
  readonly #timeOf = new Map<CostedProduct | TrafficStep | Value, Time>();
  readonly #priced: () => Priced;
  readonly #candidates: ReadonlyMap<Atom, readonly number[]>;
  /** Atoms with more than one size to choose from. */
  readonly #movable: readonly Atom[];

  /** @param products Each with those of the atoms that it has. */
  constructor(
    relations: Relations,
    atoms: ReadonlySet<Atom>,
    products: ReadonlyMap<CostedProduct, readonly Atom[]>,
    around: () => Surroundings,
    pricing: Pricing,
    { times, start }: { readonly times: ItemTimes; readonly start?: PaddedSizes | undefined },
  ) {
    this.#relations = relations;
    this.#atoms = [...atoms].sort((a, b) => a.id - b.id);
    this.#products = [...products.keys()];
    this.#atomsOf = products;
    this.#around = around;
    this.#pricing = pricing;
    this.#times = times;
    this.#start = start;
    this.#candidates = new Map(this.#atoms.map((atom) => [atom, candidatesOf(atom.size)]));
    this.#movable = this.#atoms.filter((atom) => this.#candidatesOf(atom).length > 1);
    this.#priced = once(() => this.#timesOfThese());
  }

  /** Of these, each with those of the atoms that it has. */
  get products(): readonly CostedProduct[] {
    return this.#products;
  }

  solve(): Component {
    if (this.#movable.length === 0) return this.#left();
    const before = this.#cost(none);
    const vectors = this.#allMultiplesOf(vector);
    const starts = vectors.size === 0 ? [none] : [none, vectors];
    if (this.#start !== undefined) starts.push(this.#start);
    const best = this.#bestFrom(starts, before);
    const settled = this.#settle(this.#shed(best.sizes), before);
    const most = this.#mostGiven(before - best.cost, this.#cost(settled) - best.cost);
    const kept = plainest(settled, most, this.#sizing);
    const saved = before - this.#cost(kept);
    const pays = saved >= this.#pricing.leastMicroseconds && saved > least;
    const isUncertain = pays && this.#pricing.mustGain && saved <= this.#uncertainty(none, kept);
    return {
      atoms: this.#atoms,
      products: this.#products,
      sizes: pays && !isUncertain ? kept : none,
      proposed: kept,
      savesMicroseconds: saved,
      isUncertain,
    };
  }

  /** As it is. */
  #left(): Component {
    const [atoms, products] = [this.#atoms, this.#products];
    return { atoms, products, sizes: none, proposed: none, savesMicroseconds: 0, isUncertain: false };
  }

  /** What some sizes save, chosen by whatever pricing. */
  savedBy(sizes: PaddedSizes): number {
    return this.#cost(none) - this.#cost(sizes);
  }

  get #sizing(): Sizing {
    return {
      cost: (sizes) => this.#cost(sizes),
      uncertainty: (from, to) => this.#uncertainty(from, to),
      candidatesOf: (atom) => this.#candidatesOf(atom),
    };
  }

  #candidatesOf(atom: Atom): readonly number[] {
    return this.#candidates.get(atom) ?? [];
  }

  /**
   * What next multiples may take more than larger sizes, all of them together. A component with Slices and Pads inside is the whole of a
   * model, and has paid for them: there what is within doubt of each group of atoms would add up to a good part of what they save.
   */
  #mostGiven(saved: number, given: number): number {
    const isInside = this.#atoms.some(({ held }) => held !== undefined);
    return isInside ? (1 - nearlyAll) * saved - given : Number.POSITIVE_INFINITY;
  }

  /** Of what one choice saves beside another: errors of the passes between products are small beside those of the products. */
  #uncertainty(from: PaddedSizes, to: PaddedSizes): number {
    const { bindings, uncertainty } = this.#pricing;
    const isMoved = (atom: Atom) => (from.get(atom) ?? atom.size) !== (to.get(atom) ?? atom.size);
    return uncertainty(
      this.#products.flatMap((product) => {
        // Work that stays as it is adds nothing to what is not certain.
        if (!this.#followsOthers(product) && !this.#atomsOf.get(product)?.some(isMoved)) return [];
        const [before, after] = [from, to].map((sizes) =>
          paddedWork(product, this.#relations, sizes, bindings),
        );
        return before === undefined || after === undefined ? [] : [{ before, after, runs: product.runs }];
      }),
    );
  }

  /** Whether a product's sizes may follow more than the atoms that it is said to have. */
  #followsOthers({ node, decomposed }: CostedProduct): boolean {
    return decomposed !== undefined || this.#relations.rewritesOf(node).length > 0;
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
      if (padded > atom.size && this.#candidatesOf(atom).includes(padded)) sizes.set(atom, padded);
    }
    return sizes;
  }

  /** One atom at a time, until nothing moves. Only what touches the atom is priced again. */
  #descend(start: PaddedSizes): Found {
    this.#live.assign(start);
    for (let round = 0; round < maxRounds; round++) {
      let moved = false;
      for (const atom of this.#movable) moved = this.#improve(atom) || moved;
      if (!moved) break;
    }
    return { sizes: new Map(this.#live.sizes), cost: sumOf(this.#priced().all) };
  }

  #improve(atom: Atom): boolean {
    const now = this.#live.sizeOf(atom);
    let best = { size: now, cost: this.#costAround(atom) };
    for (const size of this.#candidatesOf(atom)) {
      if (size === now) continue;
      this.#live.set(atom, size);
      const cost = this.#costAround(atom);
      if (cost < best.cost - least) best = { size, cost };
    }
    this.#live.set(atom, best.size);
    return best.size !== now;
  }

  /** Takes back padding that pays for nothing: the model should not grow for free. */
  #shed(sizes: PaddedSizes): Map<Atom, number> {
    this.#live.assign(sizes);
    for (const atom of [...sizes.keys()].sort((a, b) => b.id - a.id)) {
      const size = this.#live.sizeOf(atom);
      const withPadding = this.#costAround(atom);
      this.#live.set(atom, atom.size);
      if (this.#costAround(atom) > withPadding + least) this.#live.set(atom, size);
    }
    return new Map(this.#live.sizes);
  }

  /** Smaller aligned sizes that together save nearly as much: predictions are no finer, and the model stays small. */
  #settle(best: Map<Atom, number>, before: number): Map<Atom, number> {
    let cost = this.#cost(best);
    // What is given up must not be worth making in a round of its own.
    const givenUp = Math.min((1 - nearlyAll) * (before - cost), this.#pricing.leastMicroseconds / 2);
    const most = cost + givenUp;
    for (const alike of alikeIn(best)) {
      const [[atom, size]] = alike;
      for (const smaller of this.#candidatesOf(atom)) {
        if (smaller >= size) break;
        if (smaller === atom.size || smaller % vector !== 0) continue;
        const changed = this.#costWith(alike, smaller, cost);
        if (changed <= most) {
          cost = changed;
          break;
        }
        for (const [each] of alike) this.#live.set(each, size);
      }
    }
    return new Map(this.#live.sizes);
  }

  /** What all takes once some atoms have another size, given what it takes now. */
  #costWith(atoms: Alike, size: number, before: number): number {
    let cost = before;
    for (const [atom] of atoms) {
      const around = this.#costAround(atom);
      this.#live.set(atom, size);
      cost += this.#costAround(atom) - around;
    }
    return cost;
  }

  #cost(sizes: PaddedSizes): number {
    this.#live.assign(sizes);
    return sumOf(this.#priced().all);
  }

  #costAround(atom: Atom): number {
    return sumOf(this.#priced().having.get(atom) ?? []);
  }

  #timesOfThese(): Priced {
    const having = new Map<Atom, readonly Time[]>();
    if (this.#movable.length === 0) return { having, all: [] };
    const productsOf = new Map<Atom, CostedProduct[]>();
    for (const [product, own] of this.#atomsOf) for (const atom of own) push(productsOf, atom, product);
    for (const atom of this.#atoms) having.set(atom, this.#timesOfOne(productsOf.get(atom) ?? [], atom));
    return { having, all: this.#timesOfAll() };
  }

  /** Products, then what else has the atom. */
  #timesOfOne(products: readonly CostedProduct[], atom: Atom): readonly Time[] {
    const times: Time[] = [];
    for (const product of products) times.push(this.#productTime(product));
    const { traffic, edges } = this.#around();
    for (const step of traffic.get(atom) ?? []) times.push(this.#stepTime(step));
    for (const value of edges.get(atom) ?? []) times.push(this.#edgeTime(value));
    return times;
  }

  /** The same of all atoms, each once. */
  #timesOfAll(): readonly Time[] {
    const { traffic, edges } = this.#around();
    const times = new Set(this.#products.map((product) => this.#productTime(product)));
    for (const atom of this.#atoms)
      for (const step of traffic.get(atom) ?? []) times.add(this.#stepTime(step));
    for (const atom of this.#atoms)
      for (const value of edges.get(atom) ?? []) times.add(this.#edgeTime(value));
    return [...times];
  }

  #productTime(product: CostedProduct): Time {
    return this.#timeOf.get(product) ?? this.#keep(product, this.#times.product(product, this.#live));
  }

  #stepTime(step: TrafficStep): Time {
    return this.#timeOf.get(step) ?? this.#keep(step, this.#times.step(step, this.#live));
  }

  #edgeTime(value: Value): Time {
    return this.#timeOf.get(value) ?? this.#keep(value, this.#times.edge(value, this.#live));
  }

  #keep(item: CostedProduct | TrafficStep | Value, time: Time): Time {
    this.#timeOf.set(item, time);
    return time;
  }
}

function sumOf(times: readonly Time[]): number {
  let sum = 0;
  for (let at = 0; at < times.length; at++) sum += times[at]?.microseconds() ?? 0;
  return sum;
}
