/**
 * @file What safe fixes make of a model, decided once: linting says what `--fix` does, `--diff` and `--fix` do it, and all three
 * ask here.
 */

import { changeRange, duration, readsAsNothing } from "../ir/format.ts";
import type { OpenModel } from "../onnx/open.ts";
import type { PassName } from "../passes/pass.ts";
import { savingBetween, type WrittenSaving } from "../workload/account.ts";
import { changeBetween, noChange, type WorkloadChange } from "../workload/change.ts";
import { type LossElsewhere, lossElsewhere, lossText } from "../workload/elsewhere.ts";
import type { SavedPart } from "../workload/within-whole.ts";
import type { Workload } from "../workload/workload.ts";
import { repairedBehindLayout } from "./behind-layout.ts";
import { type FixedModel, type FixNote, type FixSettings, proposalOf, unchanged } from "./pipeline.ts";
import { priced } from "./prices.ts";
import { repairedText } from "./proposed-sizes.ts";
import { runToFixedPoint } from "./rounds.ts";

export interface SafeFix {
  /** The model itself where nothing is to be changed. */
  readonly fixed: FixedModel;
  readonly after: Workload;
  /** At the target's precision. */
  readonly change: WorkloadChange;
  /** Why what the passes would do is not done; undefined where it is, or where there is nothing. */
  readonly declined?: string;
  /** The model as it would have left it. */
  readonly proposed?: Workload | undefined;
  /** Whether that has Slices and Pads between nodes of the model. */
  readonly addsInside?: boolean | undefined;
  /** Microseconds that it would have saved. */
  readonly foregone?: number | undefined;
  /** What `foregone` is computed in, where `declined` is told of the file as it is stored. */
  readonly foregoneIn?: Workload["target"]["precision"] | undefined;
  /** The same of the file as it is stored, where `declined` is told of another layout of it. */
  readonly foregoneAsStored?: number | undefined;
  /** Whether a command makes it in half all the same: what it leaves is told behind it then. */
  readonly isMadeInHalf?: boolean | undefined;
  /** What padding saves of what would have been saved, change by change; undefined where that is not known by itself. */
  readonly foregoneParts?: (() => readonly SavedPart[]) | undefined;
  /** Set where it is not done because of another stack: it saves time on the target. */
  readonly loses?: LossElsewhere;
  /**
   * Set where nothing was solved, as rules are sure of too little: what the solver would do, and why that is not done all the same. The first
   * time it takes as long as solving. What is joined may be done.
   */
  readonly unsolved?: () => SafeFix;
  /** What is not sure to gain in the file as it is, and may be in another layout: made all the same. Undefined where there is nothing. */
  readonly attempt?: () => SafeFix | undefined;
}

export const sureOfLittle = "what it is sure to save at single products is below --min-saving";

/**
 * The safe passes of `settings`; with `onlyWhereFaster`, where they are predicted to save at least the threshold, the saving's
 * interval stays above zero and none of `others` loses by it, and else nothing. Throws InputError.
 */
export function decideSafe(original: OpenModel, settings: FixSettings): SafeFix {
  const before = priced(original, settings);
  const safe = { ...settings, passes: settings.passes.filter((pass) => pass.safe) };
  if (settings.onlyWhereFaster === true && !isWorthSolving(original, before, safe)) {
    let known: SafeFix | undefined;
    const solved = () => {
      known ??= decideSafe(original, { ...settings, remaining: undefined });
      return known;
    };
    const attempt = () => (solved().fixed.changed ? solved() : solved().attempt?.());
    const joined = joinedAlone(original, safe);
    if (joined !== undefined) return { ...judged(joined, original, safe), unsolved: solved, attempt };
  }
  const fixed = repairedBehindLayout(original, safe) ?? runToFixedPoint(original, safe);
  const found = judged(fixed, original, safe);
  const less = found.declined === undefined ? undefined : withoutInside(fixed, original, settings);
  return less?.fixed.changed === true ? less : { ...found, addsInside: less !== undefined };
}

/**
 * What safe fixes make where padding puts no Slice and no Pad between nodes of the model; undefined where `fixed` has none there. It saves
 * less, and may be sure to.
 */
export function withoutInside(
  { regions }: FixedModel,
  original: OpenModel,
  settings: FixSettings,
): SafeFix | undefined {
  const addsInside = regions.some((region) => region.addsInside === true);
  return addsInside ? decideSafe(original, { ...settings, padsAtEnds: true }) : undefined;
}

/** Whether what rules are sure of at single products, and what folding removes, is a step without what is joined. */
function isWorthSolving(model: OpenModel, before: Workload, safe: FixSettings): boolean {
  const least = safe.minSaving * before.timeline.microseconds;
  const passes = safe.passes.filter(({ name }) => name !== "join");
  return mostSaved(model, before, { ...safe, passes }, least) >= least;
}

/** With folding around it, where that leaves nothing that is worth solving for either; the model as it is where nothing is joined. */
function joinedAlone(original: OpenModel, safe: FixSettings): FixedModel | undefined {
  const proposals = safe.passes
    .filter(({ name }) => name === "join")
    .map((pass) => proposalOf(pass, original, safe));
  const notes = proposals.flatMap((each) => each.notes).filter(({ kind }) => kind === "blocked");
  const asItIs = { ...unchanged(original), notes: notes.map((note): FixNote => ({ ...note, pass: "join" })) };
  if (proposals.every(({ patch }) => patch.isEmpty)) return asItIs;
  const passes = safe.passes.filter(({ name }) => removing.has(name));
  const fixed = runToFixedPoint(original, { ...safe, passes });
  return isWorthSolving(fixed.model, priced(fixed.model, safe), safe) ? undefined : fixed;
}

/** What is made of it: all of it, or nothing. `settings` are those of safe passes. */
function judged(fixed: FixedModel, original: OpenModel, settings: FixSettings): SafeFix {
  const before = priced(original, settings);
  const nothing = { fixed: unchanged(original), after: before, change: noChange };
  if (!fixed.changed) return { ...nothing, fixed };
  const after = priced(fixed.model, settings);
  const change = changeBetween(before, after, settings.cost);
  const { microseconds, low } = change.saves;
  if (settings.onlyWhereFaster !== true) return { fixed, after, change };
  if (microseconds >= settings.minSaving * before.timeline.microseconds && low > 0) {
    const loses = addsWork(fixed) ? lossElsewhere(before, after, settings, settings.others ?? []) : undefined;
    if (loses === undefined) return { fixed, after, change };
    const why = `the repaired model is predicted to be ${lossText(loses)}, which was measured; ${guardOff}`;
    return {
      ...nothing,
      fixed: left(original, why),
      declined: why,
      proposed: after,
      foregone: microseconds,
      loses,
    };
  }
  const declined =
    low > 0
      ? "below --min-saving in the whole model"
      : `${repairedText(before, after)} ${noFaster({ ...savingBetween(before, after, settings.cost), after: after.timeline.microseconds })}`;
  return {
    ...nothing,
    declined,
    proposed: after,
    foregone: microseconds,
    attempt: () => ({ fixed, after, change }),
  };
}

/** `may be no faster: predicted 230 µs → 223 µs (31 less to 13.1 µs more)`: of what is not sure to save, may cost, or is sure to. */
export function noFaster(written: WrittenSaving): string {
  const { microseconds, high, after } = written;
  const before = after + microseconds;
  if (readsAsNothing(written)) return `takes as long: predicted ${duration(after)}`;
  const times = `${duration(before)} → ${duration(after)} (${changeRange(written, before)})`;
  if (high < 0) return `is slower: predicted ${times}`;
  return `${microseconds < 0 ? "is predicted to be slower:" : "may be no faster: predicted"} ${times}`;
}

const guardOff = "--no-stack-guard repairs it all the same";

/** The model as it is, with why. */
export function left(original: OpenModel, message: string): FixedModel {
  return { ...unchanged(original), notes: [{ kind: "blocked", pass: "align", node: undefined, message }] };
}

/** Passes that remove kernels, and make none on any stack. */
const removing: ReadonlySet<PassName> = new Set<PassName>(["fold", "join"]);

function addsWork({ parts }: FixedModel): boolean {
  return [...parts.keys()].some((pass) => !removing.has(pass));
}

/**
 * About the most that safe fixes can save, as far as it has to be known: what rules are sure of at single products, and kernels that
 * folding and joining would remove. Most models are well aligned, and solving them would take longer than reading them.
 */
function mostSaved(original: OpenModel, before: Workload, settings: FixSettings, enough: number): number {
  if (settings.remaining === undefined) return Number.POSITIVE_INFINITY;
  // What plugins change was priced by their pass.
  const custom = settings.passes.filter(({ name }) => name === "plugins");
  if (custom.some((pass) => !proposalOf(pass, original, settings).patch.isEmpty))
    return Number.POSITIVE_INFINITY;
  let microseconds = 0;
  for (const { microseconds: saved, isCertain } of settings.remaining(before))
    if (isCertain) microseconds += saved;
  for (const pass of settings.passes) {
    if (!removing.has(pass.name)) continue;
    if (microseconds >= enough) return microseconds;
    const removed = new Set<object>();
    for (const { nodes } of proposalOf(pass, original, settings).patch.graphs.values())
      for (const [node, specs] of nodes) if (specs.length === 0) removed.add(node);
    // A fused kernel that loses some of its nodes runs on, and takes about as long.
    for (const step of before.timeline.steps)
      if (step.nodes.every((node) => removed.has(node))) microseconds += step.microseconds;
  }
  return microseconds;
}
