/**
 * @file A model's timeline with what a profile measured in place of predictions.
 *
 * Layers and kernels are matched by nodes. Where several layers and kernels share nodes, what the layers took together is shared out among
 * the kernels as they were predicted. A kernel that no layer computes took no time of its own: what ran holds it. What no kernel is
 * for is a step without nodes, so that the steps add up to the profile.
 *
 * On a stack with an account of its own (the bundled runtime's planner) that account is what was predicted: times are measured in place of its,
 * and what a repair makes of the model is planned anew and told in the measure of the profile.
 */
import type { CostModel } from "../cost/model.ts";
import { ScaledCostModel, scaledEstimate } from "../cost/scaled.ts";
import { siteOf } from "../facts/nhwc-body.ts";
import type { Target } from "../hardware/target.ts";
import { labelOf } from "../ir/model.ts";
import type { TrafficWork } from "../ops/work.ts";
import { asMeasured } from "../workload/measured.ts";
import { everyStep, type Step, summarize, type Timeline } from "../workload/timeline.ts";
import type { PriceSettings, Workload } from "../workload/workload.ts";
import type { Match, MatchedLayer } from "./match.ts";

export interface MeasuredTimes {
  /** Predictions in the measure of the profile: what a change adds costs as much more, or less, as the rest. */
  readonly cost: CostModel;
  /** Of the model that was profiled, and of what repairs make of it. */
  readonly timelineOf: (workload: Workload) => Timeline;
}

/** Of a time. */
const rounding = 1e-9;

/** Kernels and what they took together, in microseconds. */
interface Part {
  readonly steps: Set<Step>;
  microseconds: number;
}

/** What is known of a kernel that was measured, to be told of what becomes of it. */
interface Known {
  readonly step: Step;
  /** Of one run and of all, as it was predicted, in the measure of the profile. */
  readonly once: number;
  readonly price: number;
  /** As the scaled cost model has it: the same where no account of the stack's own stands in for it. */
  readonly costOnce: number;
  readonly costPrice: number;
  /** Of all runs, as it was measured. */
  readonly microseconds: number;
}

/** `workload` is priced by `settings`, with nothing measured. */
export function measuredTimes(
  workload: Workload,
  match: Match,
  { cost, timelineOf: ownTimelineOf }: Pick<PriceSettings, "cost" | "timelineOf">,
): MeasuredTimes {
  const { parts, apart } = partsOf(match.layers);
  let [measured, predicted] = [0, 0];
  for (const { steps, microseconds } of parts) {
    measured += microseconds;
    predicted += predictedOf(steps);
  }
  const scale = predicted > 0 && measured > 0 ? measured / predicted : 1;
  const scaled = new ScaledCostModel(cost, scale);
  const bySite = new Map<string, Known>();
  const timeOf = timesOf(parts);
  for (const step of everyStep(workload.timeline)) {
    const known = {
      step,
      ...predictedIn(step, scale, { scaled, target: workload.target }),
      microseconds: step.nodes.length === 0 ? apart : (timeOf.get(step) ?? 0),
    };
    for (const site of sitesOf(step)) bySite.set(site, known);
  }
  const timelineOf = (each: Workload): Timeline => {
    const own = ownTimelineOf?.(each);
    const steps = (own === undefined ? everyStep(each.timeline) : inMeasure(own, scale))
      .map((step) => timed(step, bySite))
      .filter(({ scope, microseconds }) => microseconds > 0 || each.timeline.choices?.isIdle(scope) !== true);
    const [first] = each.timeline.steps;
    const hasRest = own !== undefined && bySite.has(nowhere);
    if (first !== undefined && apart > 0 && !hasRest)
      steps.push(restOf(first, apart, { cost: scaled, target: each.target }));
    return summarize(steps, (own ?? each.timeline).kernels);
  };
  return { cost: scaled, timelineOf };
}

/** What was predicted of a kernel, by the stack's account and by the cost model, in the measure of the profile. */
function predictedIn(
  { estimate, microseconds, runs, factor, work, detail }: Step,
  scale: number,
  { scaled, target }: { readonly scaled: CostModel; readonly target: Target },
): Pick<Known, "once" | "price" | "costOnce" | "costPrice"> {
  const [once, price] = [estimate.microseconds * scale, microseconds * scale];
  if (factor === undefined) return { once, price, costOnce: once, costPrice: price };
  const { microseconds: costOnce } = scaled.estimate(work, target, detail);
  return { once, price, costOnce, costPrice: costOnce * runs };
}

/** A stack's own account, so many times as long; what it was priced beside is in that measure already. */
function inMeasure({ steps }: Timeline, scale: number): Step[] {
  return steps.map((step) => ({
    ...step,
    factor: step.factor === undefined ? undefined : step.factor * scale,
    estimate: scaledEstimate(step.estimate, scale),
    microseconds: step.microseconds * scale,
  }));
}

/** Layers and kernels that share nodes, directly or by way of others; and what layers without a kernel took. */
function partsOf(layers: readonly MatchedLayer[]): {
  readonly parts: Iterable<Part>;
  readonly apart: number;
} {
  const partOf = new Map<Step, Part>();
  let apart = 0;
  for (const { layer, places } of layers) {
    const steps = new Set<Step>();
    for (const { step } of places) if (step !== undefined) steps.add(step);
    if (!(predictedOf(steps) > 0) && ![...steps].some(isPlanned)) {
      apart += layer.microseconds;
      continue;
    }
    const touched = new Set<Part>();
    for (const step of steps) {
      const part = partOf.get(step);
      if (part !== undefined) touched.add(part);
    }
    // The largest takes the others in, so that no kernel moves often.
    const [into = { steps: new Set<Step>(), microseconds: 0 }, ...others] = [...touched].sort(
      (a, b) => b.steps.size - a.steps.size,
    );
    for (const other of others) {
      into.microseconds += other.microseconds;
      for (const step of other.steps) steps.add(step);
    }
    into.microseconds += layer.microseconds;
    for (const step of steps) {
      into.steps.add(step);
      partOf.set(step, into);
    }
  }
  return { parts: new Set(partOf.values()), apart };
}

/** A planner that foresees no launch for a kernel may be told of one: measured on another GPU, or chosen by measurement. */
function isPlanned({ factor, runs }: Step): boolean {
  return factor !== undefined && runs > 0;
}

function predictedOf(steps: Iterable<Step>): number {
  let predicted = 0;
  for (const { microseconds } of steps) predicted += microseconds;
  return predicted;
}

/** Of each kernel, in proportion to what it was predicted to take; in equal parts where that is nothing. */
function timesOf(parts: Iterable<Part>): Map<Step, number> {
  const times = new Map<Step, number>();
  for (const { steps, microseconds } of parts) {
    const predicted = predictedOf(steps);
    for (const step of steps)
      times.set(
        step,
        predicted > 0 ? (microseconds * step.microseconds) / predicted : microseconds / steps.size,
      );
  }
  return times;
}

/** A kernel as the cost model in use prices it, with what was measured of its nodes; what is new has none. */
function timed(step: Step, bySite: ReadonlyMap<string, Known>): Step {
  const found = new Set<Known>();
  for (const site of sitesOf(step)) {
    const known = bySite.get(site);
    if (known !== undefined) found.add(known);
  }
  const ofPlan = step.factor !== undefined;
  let [price, microseconds, predicted] = [0, 0, 0];
  for (const known of found) {
    price += ofPlan ? known.price : known.costPrice;
    microseconds += known.microseconds;
    predicted += known.step.microseconds;
  }
  const [only] = found.size === 1 ? found : [];
  // Of several that became one, and of one that lost nodes, nobody measured what is left.
  const isSame = only !== undefined && only.step.nodes.length === step.nodes.length;
  if (ofPlan) {
    if (isSame && isEqual(step.estimate.microseconds, only.once)) return asItRan(step, only);
    return price > 0 ? inProportion(step, microseconds / price, predicted) : step;
  }
  if (!(price > 0)) return step;
  const factor = microseconds / price;
  const measured = { price: isSame ? only.costOnce : Number.NaN, predicted };
  return withEstimate({ ...step, factor, measured });
}

/** But for rounding: products in one launch share its time by prices, which are in the measure of the profile when it is planned again. */
function isEqual(planned: number, once: number): boolean {
  return Math.abs(planned - once) <= rounding * once;
}

/** A planned kernel that is what was measured; the planner may have foreseen no launch for it. */
function asItRan(step: Step, { step: { microseconds: predicted }, costOnce, microseconds }: Known): Step {
  const once = microseconds / step.runs;
  const estimate = { ...step.estimate, microseconds: once, low: once, high: once, biasMicroseconds: 0 };
  const measured = { price: costOnce, predicted, isPlanned: true } as const;
  return { ...step, estimate, microseconds, factor: once / costOnce, measured };
}

/** A planned kernel that is not quite what was measured: so many times its plan. */
function inProportion(step: Step, ratio: number, predicted: number): Step {
  return {
    ...step,
    estimate: scaledEstimate(step.estimate, ratio),
    microseconds: step.microseconds * ratio,
    factor: (step.factor ?? 1) * ratio,
    measured: { price: Number.NaN, predicted, isPlanned: true },
  };
}

function withEstimate(step: Step): Step {
  const estimate = asMeasured(step, step.estimate);
  return { ...step, estimate, microseconds: estimate.microseconds * step.runs };
}

/** Where a stack's own account has what is for no node, such as conversions of inputs. */
const nowhere = "";

function sitesOf({ scope, nodes }: Step): string[] {
  if (nodes.length === 0) return [nowhere];
  return nodes.map((node) => {
    const site = siteOf(node, scope);
    return `${site.scope.path}\u0000${labelOf(site.node)}`;
  });
}

/** What ran and is no kernel's that was predicted; no step of the account changes it. */
function restOf(
  { scope }: Step,
  microseconds: number,
  { cost, target }: { readonly cost: CostModel; readonly target: Target },
): Step {
  const own = cost.estimate(noWork, target);
  const factor = microseconds / own.microseconds;
  const measured = { price: own.microseconds, predicted: 0 };
  const place = {
    scope,
    nodes: [],
    family: "memory",
    work: noWork,
    detail: {},
    runs: 1,
    product: undefined,
  } as const;
  return withEstimate({ ...place, estimate: own, microseconds: 0, factor, measured });
}

/** Bytes of a type that no precision and no layout changes. */
const noWork: TrafficWork<number> = {
  kind: "traffic",
  pattern: "copy",
  rows: 1,
  columns: 1,
  bytesRead: 1,
  bytesWritten: 1,
  dtype: "uint8",
};
