/** @file What a rule sees: facts, products with their predicted time, and questions to the cost model. */
import type { CostModel, Detailed, Estimate, Saving } from "../cost/model.ts";
import { computeDtype } from "../cost/precision.ts";
import type { Facts } from "../facts/infer.ts";
import type { UnresolvedProduct } from "../facts/products.ts";
import { choosesLayout, type LayoutSetting, layoutSettingOf } from "../hardware/stacks.ts";
import type { ComputeType, Precision, Target } from "../hardware/target.ts";
import type { DType } from "../ir/dtype.ts";
import { isHalf, mayBecomeHalf } from "../ir/fix-command.ts";
import type { Model } from "../ir/model.ts";
import type { ProductWork, Work } from "../ops/work.ts";
import { changeBetween } from "../workload/change.ts";
import { atLargerBatch } from "../workload/larger-batch.ts";
import { leastOf } from "../workload/least.ts";
import { pricedAt } from "../workload/priced-at.ts";
import type { CostedProduct, ProposedSizes } from "../workload/product.ts";
import type { Timeline } from "../workload/timeline.ts";
import type { Workload } from "../workload/workload.ts";
import type { Decision } from "./decision.ts";
import type { LayoutStep } from "./layout-step.ts";
import type { Site } from "./rule.ts";

export type { Detailed } from "../cost/model.ts";
export type { AttentionWork, ConvWork, GemmWork, ProductWork, TrafficWork, Work } from "../ops/work.ts";
export { type CostedProduct, productsInFile } from "../workload/product.ts";
export type { Step } from "../workload/timeline.ts";
export type { Estimate, Saving };

/** What repairs do to the model that a context is of. */
export interface Decided {
  readonly decision?: Decision | undefined;
  readonly layout?: (() => LayoutStep | undefined) | undefined;
  /** Sizes that declined fixes would give a product, where no decision knows them. */
  readonly proposed?: ProposedSizes | undefined;
}

/** A model's workload, and the cost model that rules ask what a change would make of it. */
export class LintContext implements Workload {
  readonly model: Model;
  readonly facts: Facts;
  readonly target: Target;
  /** Of all graphs, of branches that are not priced as well. */
  readonly products: readonly CostedProduct[];
  readonly unresolved: readonly UnresolvedProduct[];
  readonly timeline: Timeline;
  readonly timelineOf: Workload["timelineOf"];
  /** Sizes of symbols: as given, else plausible ones. */
  readonly bindings: ReadonlyMap<string, number>;
  readonly cost: CostModel;
  /** What `--fix` does; undefined where nobody asked. */
  readonly decision: Decision | undefined;
  readonly workload: Workload;
  readonly #layout: (() => LayoutStep | undefined) | undefined;
  readonly #proposed: ProposedSizes | undefined;
  #half: Workload | undefined;
  #halfSaving: Saving | undefined;
  #stored: Workload | undefined;

  constructor(workload: Workload, cost: CostModel, { decision, layout, proposed }: Decided = {}) {
    this.workload = workload;
    this.decision = decision;
    this.#layout = layout;
    this.#proposed = proposed ?? decision?.proposedFor;
    this.model = workload.model;
    this.facts = workload.facts;
    this.target = workload.target;
    this.products = workload.products;
    this.unresolved = workload.unresolved;
    this.timeline = workload.timeline;
    this.timelineOf = workload.timelineOf;
    this.bindings = workload.bindings;
    this.cost = cost;
  }

  /**
   * What half precision changes: from the types that the file stores to the target's, where that is half; else from where safe
   * fixes leave the model.
   */
  half(): { readonly before: Workload; readonly after: Workload } {
    if (isHalf(this.target.precision)) return { before: this.asStored(), after: this.workload };
    const before = this.decision?.after ?? this.workload;
    this.#half ??= pricedAt(before, "fp16", this.cost);
    return { before, after: this.#half };
  }

  /** What that saves in the whole run. */
  halfSaving(): Saving {
    const { before, after } = this.half();
    this.#halfSaving ??= changeBetween(before, after, this.cost).saves;
    return this.#halfSaving;
  }

  /** Those that are in its time: of branches the dearest one's. */
  get pricedProducts(): readonly CostedProduct[] {
    const { choices } = this.timeline;
    return choices === undefined
      ? this.products
      : this.products.filter(({ scope }) => !choices.isIdle(scope));
  }

  /** Whether a profile measured its times, or those that they follow from. */
  get isMeasured(): boolean {
    return this.timeline.steps.some(({ measured }) => measured !== undefined);
  }

  /** Whether the stack takes NHWC itself, of some convolutions at least. */
  get choosesLayout(): boolean {
    return choosesLayout(this.target.stack);
  }

  /** What makes the stack run NHWC, where no file does. */
  get layoutSetting(): LayoutSetting | undefined {
    return layoutSettingOf(this.target.stack);
  }

  /** Whether half precision is a step of it. */
  get mayBecomeHalf(): boolean {
    return this.isMeasured || mayBecomeHalf(this.target.precision);
  }

  /** Whether somebody knows what channels_last makes of this model. */
  get knowsLayout(): boolean {
    return this.#layout !== undefined;
  }

  /** What it makes of it; undefined where it moves nothing that matters. */
  layoutStep(): LayoutStep | undefined {
    return this.#layout?.();
  }

  /** Sizes that fixes would give a product, and do not, because they are declined; undefined where they would leave it. */
  proposedFor(product: CostedProduct): ProductWork<number> | undefined {
    return this.#proposed?.(product);
  }

  /** In the types that the file stores. */
  asStored(): Workload {
    this.#stored ??= pricedAt(this.workload, "as-is", this.cost);
    return this.#stored;
  }

  /** What the target computes operands of `dtype` in. */
  computeType(dtype: DType): ComputeType {
    return computeDtype(dtype, this.target.precision);
  }

  /** Elements that a contiguous axis of `dtype` should be a multiple of on the target's stack. */
  alignment(dtype: DType): number {
    return this.target.stack.alignment[this.computeType(dtype)];
  }

  /** One run of some work on the target. */
  estimate(work: Work<number>): Estimate {
    return this.cost.estimate(work, this.target);
  }

  /** The same at another precision than the target's. */
  estimateAt(work: Work<number>, precision: Precision): Estimate {
    return this.cost.estimate(work, { ...this.target, precision });
  }

  /** What replacing a product's work by `after` saves over all its runs. */
  saving(product: CostedProduct, ...after: readonly Work<number>[]): Saving {
    const saved = this.savingOf([product.sizes], after);
    return scale(saved, product.runs * this.measure([product]));
  }

  /**
   * What the kernels of some nodes take, of what the cost model says of them: 1 where neither a profile nor the stack's own planner says
   * otherwise. A saving in another measure than the time it is taken from may be all of it.
   */
  measure(places: readonly Site[]): number {
    const steps = new Set(places.flatMap(({ node, scope }) => this.timeline.stepsOf(node, scope)));
    let [taken, predicted] = [0, 0];
    for (const step of steps) {
      const { factor = 1 } = step;
      if (factor === 1) predicted += step.microseconds;
      else predicted += this.cost.estimate(step.work, this.target, step.detail).microseconds * step.runs;
      taken += step.microseconds;
    }
    return predicted > 0 ? taken / predicted : 1;
  }

  /** The same for several works at once, run once; what was measured of their nodes is the caller's (`measure`). */
  savingOf(
    before: readonly (Work<number> | Detailed)[],
    after: readonly (Work<number> | Detailed)[],
  ): Saving {
    const saved = this.cost.savingOf(before, after, this.target);
    const taken = before.reduce((sum, each) => sum + this.#estimateOf(each).microseconds, 0);
    const kept = this.#keptByPlan(before, after);
    return this.#leaving(after, taken, kept === undefined ? saved : shiftedTo(taken * (1 - kept), saved));
  }

  /** No more than what was taken, less what the kernels in its place take at the least, as in steps of the account: widths of both sides add up as if these took nothing. */
  #leaving(after: readonly (Work<number> | Detailed)[], taken: number, saved: Saving): Saving {
    const works = after.map((each) => ({
      work: "work" in each ? each.work : each,
      estimate: this.#estimateOf(each),
    }));
    const predicted = works.reduce((sum, { estimate }) => sum + estimate.microseconds, 0);
    const share = predicted > 0 ? leastOf(works, this.target) / predicted : 0;
    const most = taken - share * (taken - saved.microseconds);
    return { ...saved, high: Math.max(saved.microseconds, Math.min(saved.high, most)) };
  }

  #estimateOf(each: Work<number> | Detailed): Estimate {
    const [work, detail] = "work" in each ? [each.work, each.detail] : [each, undefined];
    return this.cost.estimate(work, this.target, detail);
  }

  /** Of the time before, what its stack's own planner says is left, where it has prices for all: its kernels lose by other sizes than those of libraries. */
  #keptByPlan(
    before: readonly (Work<number> | Detailed)[],
    after: readonly (Work<number> | Detailed)[],
  ): number | undefined {
    const priceOf = this.timeline.planned?.priceOf;
    if (priceOf === undefined) return undefined;
    const sum = (all: readonly (Work<number> | Detailed)[]) =>
      all.reduce((total, each) => total + (priceOf("work" in each ? each.work : each) ?? Number.NaN), 0);
    const kept = sum(after) / sum(before);
    return Number.isNaN(kept) ? undefined : kept;
  }

  /** One run on `factor` times the samples, and what that adds; undefined where the graph does not carry them. */
  atLargerBatch(factor: number): { readonly microseconds: number; readonly added: Saving } | undefined {
    const after = atLargerBatch(this.workload, factor, this.cost);
    if (after === undefined) return undefined;
    const added = scale(changeBetween(this.workload, after, this.cost).saves, -1);
    return {
      microseconds: after.timeline.microseconds,
      added: { ...added, low: added.high, high: added.low },
    };
  }

  /** A part of the model's predicted time, 0 to 1. */
  share(microseconds: number): number {
    return this.timeline.microseconds > 0 ? microseconds / this.timeline.microseconds : 0;
  }
}

/** The same saving by another account: the less sure, the further the two are apart. */
function shiftedTo(microseconds: number, saved: Saving): Saving {
  const shift = microseconds - saved.microseconds;
  const doubt = Math.abs(shift) / 2;
  return { microseconds, low: saved.low + shift - doubt, high: saved.high + shift + doubt };
}

export function scale(saving: Saving, factor: number): Saving {
  return { microseconds: saving.microseconds * factor, low: saving.low * factor, high: saving.high * factor };
}

/** Savings of parts that happen together; intervals added as if independent errors. */
export function addSavings(savings: readonly Saving[]): Saving {
  let [microseconds, below, above] = [0, 0, 0];
  for (const saving of savings) {
    microseconds += saving.microseconds;
    below += (saving.microseconds - saving.low) ** 2;
    above += (saving.high - saving.microseconds) ** 2;
  }
  return { microseconds, low: microseconds - Math.sqrt(below), high: microseconds + Math.sqrt(above) };
}
