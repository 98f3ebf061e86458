/** @file What becomes of a workload's kernels when the model, the precision or the layout changes. */
import type { CostModel, Run, Saving } from "../cost/model.ts";
import { combineSavings } from "../cost/saving.ts";
import { scaledSaving } from "../cost/scaled.ts";
import { siteOf } from "../facts/nhwc-body.ts";
import type { Target } from "../hardware/target.ts";
import { push } from "../ir/group.ts";
import { maxOf, minOf } from "../ir/lists.ts";
import { labelOf, type Node } from "../ir/model.ts";
import type { Work } from "../ops/work.ts";
import { joinedKernels, savedTogether } from "./joined.ts";
import { isMeasured, measuredFactor } from "./measured.ts";
import type { Step, Timeline } from "./timeline.ts";
import type { PriceSettings, Workload } from "./workload.ts";

/** A kernel that takes another time, one that is gone, or one that is new. */
export interface StepChange {
  readonly before: Step | undefined;
  readonly after: Step | undefined;
  /** All runs; negative where it costs. */
  readonly saves: Saving;
  /** Nothing that it computes is computed any more, in this kernel or in another. */
  readonly isRemoved: boolean;
}

export interface WorkloadChange {
  /** Of the whole run: `microseconds` is the difference of the two timelines' own. */
  readonly saves: Saving;
  /** What is not listed takes the same time before and after. */
  readonly steps: readonly StepChange[];
}

export const noChange: WorkloadChange = { saves: { microseconds: 0, low: 0, high: 0 }, steps: [] };

/** What nodes of the main graph are called after a change, where they are called otherwise than before it. */
export type NewNames = ReadonlyMap<string, string>;

interface Renaming {
  readonly of: Workload;
  readonly names: NewNames;
}

/**
 * Kernels are known again by their graph and the name of their first node, or else of any of their nodes; those that have none, by what
 * they do.
 */
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
  const labels = new Labels(renaming);
  const named =
    pairedInPlace(before.timeline.steps, after.timeline.steps) ??
    paired(before.timeline.steps, after.timeline.steps, (step) => labels.first(step));
  const sharing = pairedByNodes(named.gone, named.fresh, labels);
  const alike = paired(sharing.gone, sharing.fresh, timeOf);
  const renamed = paired(alike.gone, alike.fresh, productKey(alike));
  const pairs: Pair[] = [...named.pairs, ...sharing.pairs, ...alike.pairs, ...renamed.pairs];
  for (const step of renamed.gone) pairs.push({ before: step, after: undefined });
  for (const step of renamed.fresh) pairs.push({ before: undefined, after: step });
  const savings = new Savings(before, after, cost);
  const left = new Set(
    renamed.gone.length === 0 ? [] : after.timeline.steps.flatMap((step) => labels.sites(step)),
  );
  const isRemoved = ({ before: gone, after: still }: Pair) =>
    still === undefined && gone !== undefined && !labels.sites(gone).some((site) => left.has(site));
  const steps = pairs
    .filter((pair) => pair.before?.microseconds !== pair.after?.microseconds)
    .map((pair) => ({
      ...pair,
      saves: withinTime(savings.of(pair), pair.before ? [pair.before] : []),
      isRemoved: isRemoved(pair),
    }));
  const microseconds = before.timeline.microseconds - after.timeline.microseconds;
  const together = savedTogether(steps, joinedKernels(before, pairs));
  const changed = steps.flatMap((step) => step.before ?? []);
  return { saves: withinTime(around(microseconds, together), changed), steps };
}

/** Nobody is told of a saving that it may be more than the time that it is taken from. */
function withinTime(saves: Saving, changed: readonly Step[]): Saving {
  let time = 0;
  for (const { microseconds } of changed) time += microseconds;
  return { ...saves, high: Math.max(saves.microseconds, Math.min(saves.high, time)) };
}

type Pair = Pick<StepChange, "before" | "after">;

/** What kernels are called by the nodes that they compute. */
class Labels {
  readonly #renamed: ReadonlySet<Step>;
  readonly #names: NewNames;

  constructor(renaming: Renaming | undefined) {
    this.#renamed = new Set(renaming?.of.timeline.steps);
    this.#names = renaming?.names ?? new Map();
  }

  /** What a kernel computes, wherever it does. */
  sites(step: Step): readonly string[] {
    return step.nodes.map((node) => this.#site(step, node));
  }

  /** By its first node, and what it does with it. */
  first(step: Step): string {
    const [node] = step.nodes;
    return node === undefined ? `\u0000${step.family}` : `${step.family}\u0000${this.#site(step, node)}`;
  }

  /** Of every node of a kernel, as `first` has the first. */
  all(step: Step): readonly string[] {
    return this.sites(step).map((site) => `${step.family}\u0000${site}`);
  }

  #site(step: Step, node: Node): string {
    const site = siteOf(node, step.scope);
    const label = labelOf(site.node);
    const isRenamed = this.#names.size > 0 && site.scope.depth === 0 && this.#renamed.has(step);
    return `${site.scope.path}\u0000${isRenamed ? (this.#names.get(label) ?? label) : label}`;
  }
}

interface Paired {
  readonly pairs: readonly Pair[];
  readonly gone: readonly Step[];
  readonly fresh: readonly Step[];
}

/** Where the same kernels are priced anew: what pairs by name would be, without the names. */
function pairedInPlace(before: readonly Step[], after: readonly Step[]): Paired | undefined {
  if (before.length !== after.length) return undefined;
  const pairs: Pair[] = [];
  for (const [index, step] of before.entries()) {
    const other = after[index];
    if (other?.nodes !== step.nodes || other.scope !== step.scope || other.family !== step.family)
      return undefined;
    pairs.push({ before: step, after: other });
  }
  return { pairs, gone: [], fresh: [] };
}

/** Steps with equal keys, the first with the first; those without a key stay alone. */
function paired(
  before: readonly Step[],
  after: readonly Step[],
  keyOf: (step: Step) => string | undefined,
): Paired {
  if (before.length === 0 || after.length === 0) return { pairs: [], gone: before, fresh: after };
  const rest = new Map<string, Step[]>();
  const fresh = new Set(after);
  for (const step of after) {
    const key = keyOf(step);
    if (key !== undefined) push(rest, key, step);
  }
  for (const steps of rest.values()) steps.reverse();
  const pairs: Pair[] = [];
  const gone: Step[] = [];
  for (const step of before) {
    const key = keyOf(step);
    const found = key === undefined ? undefined : rest.get(key)?.pop();
    if (found === undefined) gone.push(step);
    else pairs.push({ before: step, after: found });
    if (found !== undefined) fresh.delete(found);
  }
  return { pairs, gone, fresh: [...fresh] };
}

/** A fused kernel that begins with another node is the kernel that has most of its nodes still; ties go to the first. */
function pairedByNodes(before: readonly Step[], after: readonly Step[], labels: Labels): Paired {
  if (before.length === 0 || after.length === 0) return { pairs: [], gone: before, fresh: after };
  const makerOf = new Map<string, Step>();
  for (const step of after) for (const name of labels.all(step)) makerOf.set(name, step);
  const pairs: Pair[] = [];
  const gone: Step[] = [];
  const taken = new Set<Step>();
  for (const step of before) {
    const shared = new Map<Step, number>();
    for (const name of labels.all(step)) {
      const maker = makerOf.get(name);
      if (maker !== undefined && !taken.has(maker)) shared.set(maker, (shared.get(maker) ?? 0) + 1);
    }
    const [found] = [...shared].sort(([, a], [, b]) => b - a)[0] ?? [];
    if (found === undefined) gone.push(step);
    else pairs.push({ before: step, after: found });
    if (found !== undefined) taken.add(found);
  }
  return { pairs, gone, fresh: after.filter((step) => !taken.has(step)) };
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

/** Products whose nodes have no names of their own, where there are as many as before. */
function productKey({ gone, fresh }: Paired): (step: Step) => string | undefined {
  const surplus = new Map<string, number>();
  for (const { family } of gone) surplus.set(family, (surplus.get(family) ?? 0) + 1);
  for (const { family } of fresh) surplus.set(family, (surplus.get(family) ?? 0) - 1);
  return ({ family }) => (family !== "memory" && surplus.get(family) === 0 ? family : undefined);
}

/** A kernel that takes the same time is the same kernel, wherever it stands now. */
function timeOf({ family, microseconds }: Step): string {
  return `${family}\u0000${microseconds}`;
}

/** Layers repeat: work that becomes the same work saves the same. */
class Savings {
  readonly #before: Workload;
  readonly #after: Workload;
  readonly #cost: CostModel;
  readonly #known = new Map<object, Pair & { readonly saves: Saving }>();

  constructor(before: Workload, after: Workload, cost: CostModel) {
    this.#before = before;
    this.#after = after;
    this.#cost = cost;
  }

  of({ before: from, after: to }: Pair): Saving {
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
  return around(before - after, scaledSaving(saves, measuredFactor(from ?? to ?? {})));
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
  return { microseconds, low: minOf(ends), high: maxOf(ends) };
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
    names.size === 0 ? changeBetween(from, to, cost) : compared(from, to, cost, { of: before, names });
  if (after.timeline.microseconds <= before.timeline.microseconds) return between(before, after);
  const { saves, steps } = between(after, before);
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
