/** @file Budgets of a configuration held against predictions: each says limit, prediction and interval. */
import type { Target } from "../hardware/target.ts";
import { differenceBetween, type WorkloadChange } from "../workload/change.ts";
import type { NewNames } from "../workload/paired-steps.ts";
import { tensorCoreRange } from "../workload/tensor-core-range.ts";
import {
  type PriceSettings,
  priceModel,
  type Workload,
  type WorkloadSettings,
} from "../workload/workload.ts";
import type { BudgetName, BudgetReport } from "./result.ts";

export interface Budget {
  readonly target: Target;
  /** The account of the target's stack, where that has one of its own. */
  readonly timelineOf?: PriceSettings["timelineOf"];
  readonly maxMicroseconds?: number;
  /** 0 to 1, as is the next. */
  readonly minTensorCoreShare?: number;
  readonly maxRegression?: number;
}

/** Those that one model has by itself, in order. `workload` is priced with `settings`. */
export function budgetReports(
  budgets: readonly Budget[],
  workload: Workload,
  settings: WorkloadSettings,
): BudgetReport[] {
  return budgets.flatMap((budget) => {
    const { maxMicroseconds, minTensorCoreShare } = budget;
    if (maxMicroseconds === undefined && minTensorCoreShare === undefined) return [];
    const priced = pricedFor(budget, workload, settings);
    const { timeline } = priced;
    const held = (name: BudgetName, figures: Figures) =>
      isUnpriced(priced) ? unknown(name, budget, figures) : heldAgainst(name, budget, figures);
    const reports: BudgetReport[] = [];
    if (maxMicroseconds !== undefined) {
      const { microseconds: predicted, low, high } = timeline;
      reports.push(held("maxMicroseconds", { limit: maxMicroseconds, predicted, low, high }));
    }
    if (minTensorCoreShare !== undefined) {
      const figures = { predicted: timeline.tensorCoreShare, ...tensorCoreRange(timeline) };
      reports.push(held("minTensorCoreShare", { limit: minTensorCoreShare, ...figures }));
    }
    return reports;
  });
}

/** A model before and after a change, and the settings that each was priced with. */
export interface Priced {
  readonly workload: Workload;
  readonly settings: WorkloadSettings;
}

/** Those of the step from one model to the other. */
export function regressionReports(
  budgets: readonly Budget[],
  before: Priced,
  after: Priced,
  names?: NewNames,
): BudgetReport[] {
  return budgets.flatMap((budget) => {
    const { maxRegression: limit } = budget;
    if (limit === undefined) return [];
    const from = pricedFor(budget, before.workload, before.settings);
    const to = pricedFor(budget, after.workload, after.settings);
    const change = differenceBetween(from, to, after.settings.cost, names);
    const figures = { limit, ...regressionOf(from, change) };
    const isKnown = !isUnpriced(from) && !isUnpriced(to);
    return [
      isKnown ? heldAgainst("maxRegression", budget, figures) : unknown("maxRegression", budget, figures),
    ];
  });
}

/** What a change adds, of the time before; nothing takes away more than all of it. */
export function regressionOf({ timeline }: Workload, { saves }: Pick<WorkloadChange, "saves">) {
  const whole = timeline.microseconds;
  const part = (saved: number) => (whole > 0 && saved !== 0 ? Math.max(-1, -saved / whole) : 0);
  return { predicted: part(saves.microseconds), low: part(saves.high), high: part(saves.low) };
}

/** Nothing is priced twice for one target. */
function pricedFor({ target, timelineOf }: Budget, workload: Workload, settings: WorkloadSettings): Workload {
  const { gpu, stack, precision } = settings.target;
  const isSame = target.gpu === gpu && target.stack === stack && target.precision === precision;
  return isSame ? workload : priceModel(workload.model, { ...settings, target, timelineOf });
}

type Figures = Pick<BudgetReport, "limit" | "predicted" | "low" | "high">;

/** Nothing of it could be looked at: its 0 µs are nothing to hold a limit against. */
function isUnpriced({ timeline, facts, unresolved }: Workload): boolean {
  return timeline.microseconds === 0 && facts.skipped.length + unresolved.length > 0;
}

function unknown(budget: BudgetName, { target }: Budget, figures: Figures): BudgetReport {
  return { budget, target: idsOf(target), ...figures, verdict: "unpriced" };
}

function heldAgainst(budget: BudgetName, { target }: Budget, figures: Figures): BudgetReport {
  const { limit, low, high } = figures;
  const isLeast = budget === "minTensorCoreShare";
  const [nearest, farthest] = isLeast ? [high, low] : [low, high];
  const isBeyond = (value: number) => (isLeast ? value < limit : value > limit);
  const verdict = isBeyond(nearest) ? "exceeded" : isBeyond(farthest) ? "may-exceed" : "kept";
  return { budget, target: idsOf(target), ...figures, verdict };
}

function idsOf({ gpu, stack, precision }: Target): BudgetReport["target"] {
  return { gpu: gpu.id, stack: stack.id, precision };
}
