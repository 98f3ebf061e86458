/**
 * @file The time of a product or a kernel at the padded sizes of the moment. What has been priced once is looked up: the
 * search comes back to the same sizes again and again.
 */
import { type Axis, resolveAxis } from "../../ir/axis.ts";
import { pushAll } from "../../ir/lists.ts";
import type { Node, Value } from "../../ir/model.ts";
import type { CostedProduct } from "../../workload/product.ts";
import type { TrafficStep } from "../../workload/timeline.ts";
import type { Pricing } from "../pass.ts";
import { edgeTime } from "./edge-time.ts";
import { LiveGrowth } from "./live-growth.ts";
import type { LiveAxis, LiveSizes } from "./live-sizes.ts";
import { hasOwnTraffic, mayGrow, paddedWork, rewrittenAttributes } from "./padded.ts";
import type { Relations, Rewrite } from "./relate.ts";
import { grownTime, stepTime } from "./traffic-time.ts";

/** A key of more sizes takes longer to write than most kernels take to price. */
const mostAxes = 24;

/** Of a product, a kernel or a copy, at the sizes of the moment. */
export interface Time {
  microseconds(): number;
}

type Key = string | number;

/** Most items are asked for at a few sizes, and a graph has a hundred thousand: until there are many, two short lists. */
const mostListed = 32;

/** Microseconds by key. */
class Memo {
  readonly #keys: number[] = [];
  readonly #times: number[] = [];
  #rest: Map<Key, number> | undefined;

  get(key: Key): number | undefined {
    if (typeof key === "number") {
      const at = this.#keys.indexOf(key);
      if (at >= 0) return this.#times[at];
    }
    return this.#rest?.get(key);
  }

  set(key: Key, time: number): void {
    if (typeof key === "number" && this.#keys.length < mostListed) {
      this.#keys.push(key);
      this.#times.push(time);
      return;
    }
    this.#rest ??= new Map();
    this.#rest.set(key, time);
  }
}

/** A time that is looked up by all that it depends on. */
abstract class KnownTime implements Time {
  readonly #known: Memo;
  readonly #price: () => number;

  constructor(known: Memo, price: () => number) {
    this.#known = known;
    this.#price = price;
  }

  microseconds(): number {
    const key = this.key();
    const before = this.#known.get(key);
    if (before !== undefined) return before;
    const time = this.#price();
    this.#known.set(key, time);
    return time;
  }

  protected abstract key(): Key;
}

/** By a step's bytes and its largest output, where it has many operands. */
class GrownTime extends KnownTime {
  readonly #growth: LiveGrowth;

  constructor(known: Memo, price: () => number, growth: LiveGrowth) {
    super(known, price);
    this.#growth = growth;
  }

  protected override key(): Key {
    const { read, written, largest } = this.#growth;
    const { elements = 0, columns = 0 } = largest?.padded ?? {};
    return `${read},${written},${elements},${columns}`;
  }
}

/** Three sizes below this make one number, digit by digit, that is exact: a key that costs no text. */
const digit = 2 ** 17;
const mostDigits = 3;

class SizedTime extends KnownTime {
  readonly #axes: readonly LiveAxis[];

  constructor(known: Memo, price: () => number, axes: readonly LiveAxis[]) {
    super(known, price);
    this.#axes = axes;
  }

  protected override key(): Key {
    if (this.#axes.length > mostDigits) return this.#text();
    let key = 0;
    // By index: a search asks for the times of all that it moves, again and again.
    for (let at = 0; at < this.#axes.length; at++) {
      const size = this.#axes[at]?.size ?? 0;
      if (size >= digit) return this.#text();
      key = key * digit + size;
    }
    return key;
  }

  #text(): string {
    let key = "";
    for (const { size } of this.#axes) key += `${size},`;
    return key;
  }
}

/** By attributes that follow the sizes as well. */
class RewrittenTime extends SizedTime {
  readonly #rewrites: readonly Rewrite[];
  readonly #live: LiveSizes;

  constructor(
    known: Memo,
    price: () => number,
    axes: readonly LiveAxis[],
    rewrites: readonly Rewrite[],
    live: LiveSizes,
  ) {
    super(known, price, axes);
    this.#rewrites = rewrites;
    this.#live = live;
  }

  protected override key(): Key {
    return `${super.key()} ${JSON.stringify([...rewrittenAttributes(this.#rewrites, this.#live.sizes)])}`;
  }
}

/** Times that hold for one set of relations, whoever asks. */
export class ItemTimes {
  readonly #relations: Relations;
  readonly #pricing: Pricing;
  readonly #areHeld: boolean;
  readonly #known = new Map<CostedProduct | TrafficStep | Value, Memo>();
  readonly #works = new Map<string, number>();

  /** @param areHeld Whether what is held may be padded as well. */
  constructor(relations: Relations, pricing: Pricing, areHeld = false) {
    this.#relations = relations;
    this.#pricing = pricing;
    this.#areHeld = areHeld;
  }

  /** Of all runs, at the sizes that `live` has when asked. */
  product(product: CostedProduct, live: LiveSizes): Time {
    const { decomposed } = product;
    const values = [...valuesOf([product.node])];
    if (decomposed !== undefined) pushAll(values, valuesOf([decomposed.scores, decomposed.output]));
    const axes = this.#axesOf(values);
    const price = () => this.#productTime(product, live);
    return this.#remembered(product, axes, [product.node], live, price);
  }

  step(step: TrafficStep, live: LiveSizes): Time {
    const hasOwn = hasOwnTraffic(step);
    const axes = this.#axesOf(valuesOf(step.nodes));
    if (axes.length > mostAxes && !hasOwn) {
      const growth = new LiveGrowth(step, live, this.#relations, this.#pricing);
      const price = () => grownTime(step, growth, this.#pricing);
      return new GrownTime(this.#knownOf(step), price, growth);
    }
    const price = () => stepTime(step, live.sizes, this.#relations, this.#pricing);
    return this.#remembered(step, axes, step.nodes, live, price);
  }

  /** Of the nodes that padding adds at a value. */
  edge(value: Value, live: LiveSizes): Time {
    const price = () => edgeTime(value, live.sizes, this.#relations, this.#pricing);
    return this.#remembered(value, this.#axesOf([value]), [], live, price);
  }

  /** By everything that the price depends on: sizes of axes, and attributes that follow them. */
  #remembered(
    item: CostedProduct | TrafficStep | Value,
    axes: readonly Axis[],
    nodes: readonly Node[],
    live: LiveSizes,
    price: () => number,
  ): Time {
    if (axes.length > mostAxes) return { microseconds: price };
    const followed = axes.map((axis) => live.axis(axis));
    const rewrites: Rewrite[] = [];
    for (const node of nodes) {
      for (const rewrite of this.#relations.rewritesOf(node))
        if (rewrite.kind === "attribute") rewrites.push(rewrite);
    }
    const known = this.#knownOf(item);
    return rewrites.length === 0
      ? new SizedTime(known, price, followed)
      : new RewrittenTime(known, price, followed, rewrites, live);
  }

  #knownOf(item: CostedProduct | TrafficStep | Value): Memo {
    const known = this.#known.get(item) ?? new Memo();
    this.#known.set(item, known);
    return known;
  }

  /** Axes that may be padded, each once, and at most about as many as make a key. */
  #axesOf(values: Iterable<Value>): readonly Axis[] {
    const found: Axis[] = [];
    for (const value of values) {
      for (const axis of this.#relations.axesOf(value) ?? []) {
        const whole = resolveAxis(axis);
        if (mayGrow(whole, this.#areHeld) && !found.some((other) => isSame(other, whole))) found.push(whole);
      }
      if (found.length > mostAxes) break;
    }
    return found;
  }

  #productTime(product: CostedProduct, live: LiveSizes): number {
    const { estimate, bindings } = this.#pricing;
    const work = paddedWork(product, this.#relations, live.sizes, bindings) ?? product.sizes;
    const key = JSON.stringify(work);
    const known = this.#works.get(key);
    const microseconds = known ?? estimate(work);
    if (known === undefined) this.#works.set(key, microseconds);
    return microseconds * product.runs;
  }
}

function* valuesOf(nodes: readonly Node[]): Generator<Value> {
  for (const { inputs, outputs } of nodes) {
    for (const value of inputs) if (value !== undefined) yield value;
    for (const value of outputs) if (value !== undefined) yield value;
  }
}

/** Of resolved axes. */
function isSame(a: Axis, b: Axis): boolean {
  return a === b || (a.kind === "atom" && b.kind === "atom" && a.atom === b.atom);
}
