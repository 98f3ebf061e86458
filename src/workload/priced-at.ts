/** @file A workload in another precision than that of its target, or with another setting of its stack. */
import type { CostModel } from "../cost/model.ts";
import type { Stack } from "../hardware/stacks.ts";
import type { Precision, Target } from "../hardware/target.ts";
import { asMeasured } from "./measured.ts";
import { type Step, summarize, timelineOf } from "./timeline.ts";
import { spellsNhwc, turnedSteps } from "./turned-steps.ts";
import { priceFacts, type Workload } from "./workload.ts";

/** What was priced of a workload, by the model that it was priced with: a dozen figures of a report are of the file as it is stored. */
const kept = new WeakMap<Workload, Map<Precision, Priced>>();

interface Priced {
  readonly cost: CostModel;
  readonly priced: Workload;
}

/**
 * The same at another precision: for the cost model the same kernels, for which nodes run as one does not depend on it, but of branches the dearer
 * one may be another; an account of the stack's own chooses anew.
 */
export function pricedAt(workload: Workload, precision: Precision, cost: CostModel): Workload {
  if (workload.target.precision === precision) return workload;
  const ofWorkload = kept.get(workload) ?? new Map<Precision, Priced>();
  kept.set(workload, ofWorkload);
  const known = ofWorkload.get(precision);
  if (known?.cost === cost) return known.priced;
  const priced = repricedAt(workload, precision, cost);
  ofWorkload.set(precision, { cost, priced });
  return priced;
}

function repricedAt(workload: Workload, precision: Precision, cost: CostModel): Workload {
  const { facts, timelineOf } = workload;
  const target = { ...workload.target, precision };
  if (timelineOf !== undefined) return priceFacts(facts, { target, cost, timelineOf });
  return repriced(workload, target, cost);
}

/** The same, its products priced anew with it: what rules look at. */
export function pricedAnew(
  { facts, target, timelineOf }: Workload,
  precision: Precision,
  cost: CostModel,
): Workload {
  return priceFacts(facts, { target: { ...target, precision }, cost, timelineOf });
}

/** The same on a stack that joins the same kernels, and differs by the layout that a setting gives it; a measured kernel in the measure of its own time. */
export function pricedOn(workload: Workload, stack: Stack, cost: CostModel): Workload {
  const target = { ...workload.target, stack };
  if (spellsNhwc(workload)) return priceFacts(workload.facts, { target, cost });
  return repriced(workload, target, cost, turnedSteps(workload, target, cost));
}

/** `turned`: its kernels where they are others on the target's stack. */
function repriced(workload: Workload, target: Target, cost: CostModel, turned?: readonly Step[]): Workload {
  if (workload.timeline.choices !== undefined) return priceFacts(workload.facts, { target, cost });
  const steps = (turned ?? workload.timeline.steps).map((step) => {
    const estimate = asMeasured(step, cost.estimate(step.work, target, step.detail));
    return { ...step, estimate, microseconds: estimate.microseconds * step.runs };
  });
  const timeline = turned === undefined ? summarize(steps, workload.timeline.kernels) : timelineOf(steps);
  return { ...workload, target, timeline };
}
