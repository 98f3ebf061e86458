/** @file Budgets of a configuration held against predictions: each says limit, prediction and interval. */
import type { Target } from "../hardware/target.ts";
import { differenceBetween, type WorkloadChange } from "../workload/change.ts";
import type { NewNames } from "../workload/paired-steps.ts";
import { pricedAt } from "../workload/priced-at.ts";
import { storeSameTypes } from "../workload/stored-types.ts";
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
  /** Whether it names its precision: then it is of that, whatever is told of the model. */
  readonly isPrecisionStated?: boolean;
  /** The account of the target's stack, where that has one of its own. */
  readonly timelineOf?: PriceSettings["timelineOf"];
  readonly maxMicroseconds?: number;
  /** 0 to 1, as is the next. */
  readonly minTensorCoreShare?: number;
  readonly maxRegression?: number;
}

/** A model as it was asked for: priced with the settings, and as it is stored, where that is what is told of. */
export interface PricedModel {
  readonly asked: Workload;
  readonly stored: Workload | undefined;
}

/** Those that one model has by itself, in order. */
export function budgetReports(
  budgets: readonly Budget[],
  { asked, stored }: PricedModel,
  settings: WorkloadSettings,
): BudgetReport[] {
  const reports = budgets.flatMap((budget) => {
    const { maxMicroseconds, minTensorCoreShare } = budget;
    if (maxMicroseconds === undefined && minTensorCoreShare === undefined) return [];
    const isAsStored = stored !== undefined && isOfWhatIsTold(budget, settings);
    const priced = isAsStored ? stored : pricedFor(budget, asked, settings);
    const { timeline } = priced;
    const told = isAsStored ? { asStored: true as const } : {};
    const report = (name: BudgetName, figures: Figures) => ({
      ...(isUnpriced(priced) ? unknown(name, budget, figures) : heldAgainst(name, budget, figures)),
      ...told,
    });
    const held: BudgetReport[] = [];
    if (maxMicroseconds !== undefined) {
      const { microseconds: predicted, low, high } = timeline;
      held.push(report("maxMicroseconds", { limit: maxMicroseconds, predicted, low, high }));
    }
    if (minTensorCoreShare !== undefined) {
      const figures = { predicted: timeline.tensorCoreShare, ...tensorCoreRange(timeline) };
      held.push(report("minTensorCoreShare", { limit: minTensorCoreShare, ...figures }));
    }
    return held;
  });
  return saidOnce(reports);
}

/** A limit that a budget with a precision and one without come to have in common is one. */
function saidOnce(reports: readonly BudgetReport[]): BudgetReport[] {
  return [...new Map(reports.map((report) => [JSON.stringify(report), report])).values()];
}

/** A model before and after a change, and the settings that each was priced with. */
export interface Priced {
  readonly workload: Workload;
  readonly settings: WorkloadSettings;
  /** Whether lint tells of it as it is stored. */
  readonly isToldAsStored: boolean;
}

/**
 * Those of the step from one model to the other: where either is told as it is stored both are, for a difference is of one precision, and where they store
 * other types: of a repair in half, its original in a half that nobody stores is no file to be slower than.
 */
export function regressionReports(
  budgets: readonly Budget[],
  before: Priced,
  after: Priced,
  names?: NewNames,
): BudgetReport[] {
  const isStored = before.isToldAsStored || after.isToldAsStored;
  const isOtherType = !storeSameTypes(before.workload, after.workload);
  const reports = budgets.flatMap((budget) => {
    const { maxRegression: limit } = budget;
    if (limit === undefined) return [];
    const isAsStored =
      (isStored && isOfWhatIsTold(budget, after.settings)) ||
      (isOtherType && budget.isPrecisionStated !== true);
    const priced = ({ workload, settings }: Priced) => {
      const inTarget = pricedFor(budget, workload, settings);
      return isAsStored ? pricedAt(inTarget, "as-is", settings.cost) : inTarget;
    };
    const [from, to] = [priced(before), priced(after)];
    const change = differenceBetween(from, to, after.settings.cost, names);
    const figures = { limit, ...regressionOf(from, change) };
    const hold = isUnpriced(from) || isUnpriced(to) ? unknown : heldAgainst;
    return [
      { ...hold("maxRegression", budget, figures), ...(isAsStored ? { asStored: true as const } : {}) },
    ];
  });
  return saidOnce(reports);
}

/** What a change adds, of the time before; nothing takes away more than all of it. */
export function regressionOf({ timeline }: Workload, { saves }: Pick<WorkloadChange, "saves">) {
  const whole = timeline.microseconds;
  const part = (saved: number) => (whole > 0 && saved !== 0 ? Math.max(-1, -saved / whole) : 0);
  return { predicted: part(saves.microseconds), low: part(saves.high), high: part(saves.low) };
}

/** Nothing is priced twice for one target. */
function pricedFor(budget: Budget, workload: Workload, settings: WorkloadSettings): Workload {
  const { target, timelineOf } = budget;
  return isOfTarget(budget, settings)
    ? workload
    : priceModel(workload.model, { ...settings, target, timelineOf });
}

/** Whether it leaves to lint in which types the model is told of. */
function isOfWhatIsTold(budget: Budget, settings: WorkloadSettings): boolean {
  return budget.isPrecisionStated !== true && isOfTarget(budget, settings);
}

/** Whether it is of what the model is linted for. */
function isOfTarget({ target }: Budget, settings: WorkloadSettings): boolean {
  const { gpu, stack, precision } = settings.target;
  return target.gpu === gpu && target.stack === stack && target.precision === precision;
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
