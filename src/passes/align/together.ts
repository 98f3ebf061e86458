/** @file What is padded together, and what that saves in whatever figures are told in. */
import type { Atom } from "../../ir/axis.ts";
import { once } from "../../ir/once.ts";
import type { ProductWork } from "../../ops/work.ts";
import type { CostedProduct } from "../../workload/product.ts";
import type { Whole } from "../../workload/within-whole.ts";
import type { Pricing } from "../pass.ts";
import { type ChoiceOptions, type MeasuredWork, problemsOf } from "./choose.ts";
import { atomsOfProduct, paddedWork } from "./padded.ts";
import type { Component, Problem } from "./problem.ts";
import type { Relations } from "./relate.ts";

interface Place {
  readonly relations: Relations;
  readonly atoms: ReadonlySet<Atom>;
  readonly work: MeasuredWork;
}

const unpadded: ReadonlyMap<Atom, number> = new Map();

export class Together {
  readonly #place: Place;
  readonly #pricing: Pricing;
  readonly #asTold: () => readonly Problem[];
  readonly #byProduct = new Map<CostedProduct, () => Component>();
  readonly #placeOf = new Map<Component, number>();
  readonly #wholes = new Map<Component, Whole>();

  /** Padding is decided by `pricing`; `told`: what it saves is told in, where that is another. */
  constructor(place: Place, pricing: Pricing, options: ChoiceOptions, told: Pricing | undefined) {
    const { relations, atoms, work } = place;
    this.#place = place;
    this.#pricing = pricing;
    // Each is solved when one of its products is asked for: most are well aligned, and nobody asks.
    for (const [at, problem] of problemsOf(relations, atoms, work, pricing, options).entries()) {
      const solved = once(() => this.#solved(problem, at));
      for (const product of problem.products) this.#byProduct.set(product, solved);
    }
    // Of the same atoms, in the same order. Times by `pricing` are none of these.
    const { times: _, ...others } = options;
    this.#asTold = once(() => (told === undefined ? [] : problemsOf(relations, atoms, work, told, others)));
  }

  #solved(problem: Problem, at: number): Component {
    const component = problem.solve();
    this.#placeOf.set(component, at);
    return component;
  }

  of(product: CostedProduct): Component | undefined {
    return this.#byProduct.get(product)?.();
  }

  isPadded(product: CostedProduct): boolean {
    const component = this.of(product);
    return [...atomsOfProduct(product, this.#place.relations)].some((atom) => component?.sizes.has(atom));
  }

  /** What padding the component saves: one object a component. */
  wholeOf(component: Component): Whole {
    const known = this.#wholes.get(component);
    if (known !== undefined) return known;
    const told = this.#asTold()[this.#placeOf.get(component) ?? -1];
    const whole = { microseconds: told?.savedBy(component.proposed) ?? component.savesMicroseconds };
    this.#wholes.set(component, whole);
    return whole;
  }

  /** Products that the component would have at other sizes: an axis may be of many more. */
  padsHowMany(component: Component): number {
    const isPadded = (product: CostedProduct) =>
      JSON.stringify(this.paddedIn(component, product)) !== JSON.stringify(this.#asItIs(product));
    return component.products.filter(isPadded).length;
  }

  #asItIs(product: CostedProduct): ProductWork<number> | undefined {
    return paddedWork(product, this.#place.relations, unpadded, this.#pricing.bindings);
  }

  /** The product as the component would have it. */
  paddedIn(component: Component, product: CostedProduct): ProductWork<number> | undefined {
    return paddedWork(product, this.#place.relations, component.proposed, this.#pricing.bindings);
  }
}
