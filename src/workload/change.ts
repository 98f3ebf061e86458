/** @file What becomes of a workload's kernels when the model, the precision or the layout changes. */
import type { CostModel, Run, Saving } from "../cost/model.ts";
import { combineSavings } from "../cost/saving.ts";
import { scaledSaving } from "../cost/scaled.ts";
import type { Target } from "../hardware/target.ts";
import { maxOf, minOf } from "../ir/lists.ts";
import type { Work } from "../ops/work.ts";
import { joinedKernels, savedTogether } from "./joined.ts";
import { isMeasured, measuredFactor } from "./measured.ts";
import { type NewNames, type PairedSteps, pairedSteps, type Renaming } from "./paired-steps.ts";
import type { Step, Timeline } from "./timeline.ts";
import { savedByFormat } from "./whole-runs.ts";
import type { PriceSettings, Workload } from "./workload.ts";

/** A kernel that takes another time, one that is gone, or one that is new. */
export interface StepChange extends PairedSteps {
  /** All runs; negative where it costs. */
  readonly saves: Saving;
}

export interface WorkloadChange {
  /** Of the whole run: `microseconds` is the difference of the two timelines' own. */
  readonly saves: Saving;
  /** What is not listed takes the same time before and after. */
  readonly steps: readonly StepChange[];
}

export const noChange: WorkloadChange = { saves: { microseconds: 0, low: 0, high: 0 }, steps: [] };

/** Of one model before and after. */
export function changeBetween(before: Workload, after: Workload, cost: CostModel): WorkloadChange {
  const known = knownChanges.get(before.timeline)?.get(after.timeline);
  if (known?.cost === cost && known.from === before.target && known.to === after.target) return known.change;
  const change = compared(before, after, cost, undefined);
  const ofBefore = knownChanges.get(before.timeline) ?? new WeakMap<Timeline, KnownChange>();
  knownChanges.set(before.timeline, ofBefore);
  ofBefore.set(after.timeline, { cost, from: before.target, to: after.target, change });
  return change;
}

interface KnownChange {
  readonly cost: CostModel;
  readonly from: Target;
  readonly to: Target;
  readonly change: WorkloadChange;
}

/** The account of a model asks again for what rules and repairs asked. */
const knownChanges = new WeakMap<Timeline, WeakMap<Timeline, KnownChange>>();

function compared(
  before: Workload,
  after: Workload,
  cost: CostModel,
  renaming: Renaming | undefined,
): WorkloadChange {
  const pairs = pairedSteps(before.timeline.steps, after.timeline.steps, renaming);
  const savings = new Savings(before, after, cost);
  const steps = pairs
    .filter((pair) => pair.before?.microseconds !== pair.after?.microseconds)
    .map((pair) => ({ ...pair, saves: savings.of(pair) }));
  const microseconds = before.timeline.microseconds - after.timeline.microseconds;
  const together = savedByFormat(steps, before, after) ?? savedTogether(steps, joinedKernels(before, pairs));
  return { saves: around(microseconds, together), steps };
}

/** Work that becomes other work in one model. */
export interface WorkChange {
  readonly before: Work<number>;
  readonly after: Work<number>;
  /** In one run of the model. */
  readonly runs: number;
}

/** Microseconds that may be missing from the predicted saving of changes that happen together, in one case of twenty. */
export function uncertaintyOf(changes: readonly WorkChange[], { target, cost }: PriceSettings): number {
  const runOf = (work: Work<number>, runs: number): Run => ({ work, target, detail: {}, runs });
  const saved = combineSavings(
    changes.map(({ before, after, runs }) => cost.savingOfRuns(runOf(before, runs), runOf(after, runs))),
  );
  return saved.microseconds - saved.low;
}

/** Layers repeat: work that becomes the same work saves the same. */
class Savings {
  readonly #before: Workload;
  readonly #after: Workload;
  readonly #cost: CostModel;
  readonly #known = new Map<object, Pick<StepChange, "before" | "after"> & { readonly saves: Saving }>();

  constructor(before: Workload, after: Workload, cost: CostModel) {
    this.#before = before;
    this.#after = after;
    this.#cost = cost;
  }

  of({ before: from, after: to }: Pick<StepChange, "before" | "after">): Saving {
    const known = from && this.#known.get(from.work);
    if (known !== undefined && isAlike(from, known.before) && isAlike(to, known.after)) return known.saves;
    const saves = this.#cost.savingOfRuns(runOf(from, this.#before), runOf(to, this.#after));
    const exact =
      inMeasure(from, to, saves) ??
      byPlanAlone(from, to, saves) ??
      around((from?.microseconds ?? 0) - (to?.microseconds ?? 0), saves);
    if (from !== undefined) this.#known.set(from.work, { before: from, after: to, saves: exact });
    return exact;
  }
}

/**
 * Of a measured kernel: its saving is in the measure of its own time, which is known, so that it saves no more than that, and exactly
 * that where it is gone. Undefined where nothing was measured.
 */
function inMeasure(from: Step | undefined, to: Step | undefined, saves: Saving): Saving | undefined {
  if (from?.measured === undefined && to?.measured === undefined) return undefined;
  const [before, after] = [from?.microseconds ?? 0, to?.microseconds ?? 0];
  if (to === undefined && isMeasured(from === undefined ? [] : [from]))
    return { microseconds: before, low: before, high: before };
  const scaled = around(before - after, scaledSaving(saves, measuredFactor(from ?? to ?? {})));
  return { ...scaled, high: Math.min(scaled.high, before) };
}

/**
 * What a stack's own planner tells apart and the cost model does not is as unsure as the kernel that it is of; undefined where the cost model
 * has an error of its own for the change.
 */
function byPlanAlone(from: Step | undefined, to: Step | undefined, saves: Saving): Saving | undefined {
  if (from?.factor === undefined || to?.factor === undefined || saves.low < saves.high) return undefined;
  const microseconds = from.microseconds - to.microseconds;
  const { estimate } = microseconds > 0 ? from : to;
  if (microseconds === 0) return undefined;
  const ends = [estimate.low, estimate.high].map((end) => (microseconds * end) / estimate.microseconds);
  return { microseconds, low: minOf(ends), high: Math.min(maxOf(ends), from.microseconds) };
}

function isAlike(a: Step | undefined, b: Step | undefined): boolean {
  if (a === undefined || b === undefined) return a === b;
  return (
    a.work === b.work &&
    a.runs === b.runs &&
    a.microseconds === b.microseconds &&
    a.detail.variant === b.detail.variant &&
    a.detail.biased === b.detail.biased
  );
}

function runOf(step: Step | undefined, { target }: Workload): Run | undefined {
  return step && { work: step.work, target, detail: step.detail, runs: step.runs };
}

/** Its widths about a figure that has been added up in another order, so that sums agree to the last digit. */
function around(microseconds: number, saving: Saving): Saving {
  const shift = microseconds - saving.microseconds;
  return { microseconds, low: saving.low + shift, high: saving.high + shift };
}

/** Priced as the change that gains: a repair, and its revert, differ by as much and are as sure. */
export function differenceBetween(
  before: Workload,
  after: Workload,
  cost: CostModel,
  names: NewNames = new Map(),
): WorkloadChange {
  const between = (from: Workload, to: Workload) =>
    names.size === 0
      ? changeBetween(from, to, cost)
      : compared(from, to, cost, { of: before.timeline.steps, names });
  const isGain = after.timeline.microseconds <= before.timeline.microseconds;
  return isGain ? between(before, after) : turned(between(after, before));
}

function turned({ saves, steps }: WorkloadChange): WorkloadChange {
  return {
    saves: negated(saves),
    steps: steps.map((step) => ({
      ...{ before: step.after, after: step.before, saves: negated(step.saves), isRemoved: step.isRemoved },
    })),
  };
}

/** What is saved, as what is added, and the other way round. */
export function negated({ microseconds, low, high }: Saving): Saving {
  return { microseconds: 0 - microseconds, low: 0 - high, high: 0 - low };
}
