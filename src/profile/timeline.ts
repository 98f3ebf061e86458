/**
 * @file A model's timeline with what a profile measured in place of predictions.
 *
 * Layers and kernels are matched by nodes. Where several layers and kernels share nodes, what the layers took together is shared out among
 * the kernels as they were predicted. A kernel that no layer computes took no time of its own: what ran holds it. What no kernel is
 * for is a step without nodes, so that the steps add up to the profile.
 */
import type { CostModel } from "../cost/model.ts";
import { ScaledCostModel } from "../cost/scaled.ts";
import { siteOf } from "../facts/nhwc-body.ts";
import type { Target } from "../hardware/target.ts";
import { labelOf } from "../ir/model.ts";
import type { TrafficWork } from "../ops/work.ts";
import { asMeasured } from "../workload/measured.ts";
import { type Step, summarize, type Timeline } from "../workload/timeline.ts";
import type { Workload } from "../workload/workload.ts";
import type { Match, MatchedLayer } from "./match.ts";

export interface MeasuredTimes {
  /** Predictions in the measure of the profile: what a change adds costs as much more, or less, as the rest. */
  readonly cost: CostModel;
  /** Of the model that was profiled, and of what repairs make of it. */
  readonly timelineOf: (workload: Workload) => Timeline;
}

/** Kernels and what they took together, in microseconds. */
interface Part {
  readonly steps: Set<Step>;
  microseconds: number;
}

/** What is known of a kernel that was measured, to be told of what becomes of it. */
interface Known {
  readonly step: Step;
  /** Of one run and of all, as the scaled cost model has it. */
  readonly once: number;
  readonly price: number;
  /** Of all runs, as it was measured. */
  readonly microseconds: number;
}

/** `workload` is priced by `cost`, with nothing measured. */
export function measuredTimes(workload: Workload, match: Match, cost: CostModel): MeasuredTimes {
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
  for (const step of workload.timeline.steps) {
    const [once, price] = [step.estimate.microseconds * scale, step.microseconds * scale];
    const known = { step, once, price, microseconds: timeOf.get(step) ?? 0 };
    for (const site of sitesOf(step)) bySite.set(site, known);
  }
  const timelineOf = (each: Workload): Timeline => {
    const steps = each.timeline.steps.map((step) => timed(step, bySite));
    const [first] = each.timeline.steps;
    if (first !== undefined && apart > 0)
      steps.push(restOf(first, apart, { cost: scaled, target: each.target }));
    return summarize(steps);
  };
  return { cost: scaled, timelineOf };
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
    if (!(predictedOf(steps) > 0)) {
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

function predictedOf(steps: Iterable<Step>): number {
  let predicted = 0;
  for (const { microseconds } of steps) predicted += microseconds;
  return predicted;
}

/** Of each kernel, in proportion to what it was predicted to take. */
function timesOf(parts: Iterable<Part>): Map<Step, number> {
  const times = new Map<Step, number>();
  for (const { steps, microseconds } of parts) {
    const predicted = predictedOf(steps);
    for (const step of steps) times.set(step, (microseconds * step.microseconds) / predicted);
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
  let [price, microseconds, predicted] = [0, 0, 0];
  for (const known of found) {
    price += known.price;
    microseconds += known.microseconds;
    predicted += known.step.microseconds;
  }
  if (!(price > 0)) return step;
  const factor = microseconds / price;
  const [only] = found.size === 1 ? found : [];
  // Of several that became one, and of one that lost nodes, nobody measured what is left.
  const isSame = only !== undefined && only.step.nodes.length === step.nodes.length;
  const measured = { price: isSame ? only.once : Number.NaN, predicted };
  return withEstimate({ ...step, factor, measured });
}

function withEstimate(step: Step): Step {
  const estimate = asMeasured(step, step.estimate);
  return { ...step, estimate, microseconds: estimate.microseconds * step.runs };
}

function sitesOf({ scope, nodes }: Step): string[] {
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
