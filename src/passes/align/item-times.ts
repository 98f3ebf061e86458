/**
 * @file The time of a product or a kernel at the padded sizes of the moment. What has been priced once is looked up: the
 * search comes back to the same sizes again and again.
 */
import { type Atom, type Axis, resolveAxis } from "../../ir/axis.ts";
import { pushAll } from "../../ir/lists.ts";
import type { Node, Value } from "../../ir/model.ts";
import { findOp } from "../../ops/registry.ts";
import type { Pricing, SizedProduct, TrafficStep } from "../pass.ts";
import { LiveGrowth } from "./live-growth.ts";
import type { LiveAxis, LiveSizes } from "./live-sizes.ts";
import { mayGrow, paddedWork, rewrittenAttributes } from "./padded.ts";
import type { Relations } from "./relate.ts";
import { grownTime, stepTime } from "./traffic-time.ts";

/** A key of more sizes takes longer to write than most kernels take to price. */
const mostAxes = 24;

/** Times that hold for one set of relations, whoever asks. */
export class ItemTimes {
  readonly #relations: Relations;
  readonly #pricing: Pricing;
  readonly #known = new Map<SizedProduct | TrafficStep, Map<string, number>>();
  readonly #works = new Map<string, number>();

  constructor(relations: Relations, pricing: Pricing) {
    this.#relations = relations;
    this.#pricing = pricing;
  }

  /** @returns Microseconds of all runs, at the sizes that `live` has when asked. */
  product(product: SizedProduct, live: LiveSizes): () => number {
    const { decomposed } = product;
    const values = [...valuesOf([product.node])];
    if (decomposed !== undefined) pushAll(values, valuesOf([decomposed.scores, decomposed.output]));
    const price = () => this.#productTime(product, live);
    return this.#remembered(product, values, [product.node], live, price);
  }

  step(step: TrafficStep, live: LiveSizes): () => number {
    const values = [...valuesOf(step.nodes)];
    const [node] = step.nodes;
    const hasOwn =
      step.nodes.length === 1 && node !== undefined && findOp(node.domain, node.opType)?.work !== undefined;
    const isWide = axesOf(values, this.#relations, mostAxes + 1).length > mostAxes;
    if (isWide && !hasOwn) {
      const growth = new LiveGrowth(step, live, this.#relations, this.#pricing);
      return this.#lookedUp(
        step,
        () => grownTime(step, growth, this.#pricing),
        () => {
          const { elements = 0, columns = 0 } = growth.largest?.padded ?? {};
          return `${growth.read},${growth.written},${elements},${columns}`;
        },
      );
    }
    const price = () => stepTime(step, live.sizes, this.#relations, this.#pricing);
    return this.#remembered(step, values, step.nodes, live, price);
  }

  /** By everything that the price depends on: sizes of axes, and attributes that follow them. */
  #remembered(
    item: SizedProduct | TrafficStep,
    values: readonly Value[],
    nodes: readonly Node[],
    live: LiveSizes,
    price: () => number,
  ): () => number {
    const axes = axesOf(values, this.#relations, mostAxes + 1);
    if (axes.length > mostAxes) return price;
    const followed: readonly LiveAxis[] = axes.map((axis) => live.axis(axis));
    const rewrites = nodes
      .flatMap((node) => this.#relations.rewritesOf(node))
      .filter(({ kind }) => kind === "attribute");
    return this.#lookedUp(item, price, () => {
      let key = "";
      for (const { size } of followed) key += `${size},`;
      return rewrites.length === 0
        ? key
        : key + JSON.stringify([...rewrittenAttributes(rewrites, live.sizes)]);
    });
  }

  #lookedUp(item: SizedProduct | TrafficStep, price: () => number, keyOf: () => string): () => number {
    const known = this.#known.get(item) ?? new Map<string, number>();
    this.#known.set(item, known);
    return () => {
      const key = keyOf();
      const before = known.get(key);
      if (before !== undefined) return before;
      const time = price();
      known.set(key, time);
      return time;
    };
  }

  #productTime(product: SizedProduct, live: LiveSizes): number {
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

/** Axes that may be padded, each once, and at most about as many as asked for. */
function axesOf(values: Iterable<Value>, relations: Relations, most: number): readonly Axis[] {
  const axes = new Map<Atom | Axis, Axis>();
  for (const value of values) {
    for (const axis of relations.axesOf(value) ?? []) {
      const whole = resolveAxis(axis);
      if (mayGrow(whole)) axes.set(whole.kind === "atom" ? whole.atom : whole, whole);
    }
    if (axes.size >= most) break;
  }
  return [...axes.values()];
}
