/**
 * @file What each change of a repair saves, on the basis of the model's account: from state to state, so that changes add up to what
 * the repair saves. What a pass foresees of its changes, each by itself, only shares that out among them.
 */
import { minOf } from "../ir/lists.ts";
import { labelOf } from "../ir/model.ts";
import type { OpenModel } from "../onnx/open.ts";
import type { PassName } from "../passes/pass.ts";
import { pricedAt } from "../workload/priced-at.ts";
import type { SavedPart } from "../workload/within-whole.ts";
import type { Fix } from "./outcome.ts";
import { type Applied, changesTypes, type FixedModel, type FixNote, type FixSettings } from "./pipeline.ts";
import { priced } from "./prices.ts";
import { isTimedAsStored } from "./stored-types.ts";

/** Microseconds of one run by note of a change; one that stands for nothing has none. */
export function savedBy({ fixed, states, settings }: Fix): ReadonlyMap<FixNote, number> {
  const [exported, inPrecision] = states.map(({ workload }) => workload.timeline.microseconds);
  const toHalf = changesTypes(settings) ? fixed.applied.findIndex(isToHalf) : -1;
  // A file that keeps its types is priced in them throughout where another type was asked for, as its account begins and ends.
  const isStored = (index: number) => isTimedAsStored(settings) && (toHalf < 0 || index >= toHalf);
  const start = (isStored(-1) ? exported : inPrecision) ?? 0;
  const own = fromStateToState(fixed, start, (after, index) => timeOf(after, isStored(index), settings));
  const isTurned = fixed.applied.map((each) => isOf("channels-last", each));
  const moved =
    toHalf < 0 ? 0 : stepSaves(states, "layout") - total(own.filter((_, index) => isTurned[index]));
  const turned = isTurned.indexOf(true);
  const unsafe = minOf([turned, toHalf].filter((index) => index >= 0));
  const behind = isPaddedBehind(states) ? stepSaves(states, "safe") - total(own.slice(0, unsafe)) : 0;
  const padded = fixed.applied.findIndex((each) => isOf("align", each));
  const saved = new Map<FixNote, number>();
  for (const [index, { notes }] of fixed.applied.entries()) {
    // What the target's precision saves is half's doing, less what writing it costs; what the layout's step saves is the layout's.
    const precision = (exported ?? 0) - (inPrecision ?? 0);
    const half = index === toHalf ? precision - (turned < 0 ? 0 : moved) : 0;
    const more = index === padded ? behind : index === unsafe ? -behind : 0;
    share(notes, (own[index] ?? 0) + half + more + (index === turned && toHalf >= 0 ? moved : 0), saved);
  }
  return saved;
}

/** Whether padding was decided behind another layout, and saves what it does there: the layout, which is written last, saves the rest. */
function isPaddedBehind(states: Fix["states"]): boolean {
  const [layout, safe] = ["layout", "safe"].map((name) => states.findIndex(({ step }) => step === name));
  return layout !== undefined && safe !== undefined && layout >= 0 && safe > layout;
}

/** Of the account's step, 0 where it has none: half before the layout is without Casts. */
function stepSaves(states: Fix["states"], name: "layout" | "safe"): number {
  const at = states.findIndex(({ step }) => step === name);
  const time = (index: number) => states[index]?.workload.timeline.microseconds ?? 0;
  return at < 1 ? 0 : time(at - 1) - time(at);
}

/** What changes of `pass` save of a model in what it is told in, as `savedBy` has it; `before` is what the model took. */
export function savedByPass(
  pass: PassName,
  { applied }: Pick<FixedModel, "applied">,
  before: number,
  settings: FixSettings,
): readonly SavedPart[] {
  const own = fromStateToState({ applied }, before, (after) =>
    timeOf(after, isTimedAsStored(settings), settings),
  );
  const saved = new Map<FixNote, number>();
  for (const [index, each] of applied.entries())
    if (isOf(pass, each)) share(each.notes, own[index] ?? 0, saved);
  return [...saved].map(([{ products = [] }, microseconds]) => ({
    labels: new Set(products.map(labelOf)),
    microseconds,
  }));
}

/** What each run of a pass saves of what the one before it left; `before` is what the model took. */
function fromStateToState(
  { applied }: Pick<FixedModel, "applied">,
  before: number,
  timeAfter: (model: OpenModel, index: number) => number,
): number[] {
  const times = applied.map(({ after }, index) => timeAfter(after, index));
  return times.map((time, index) => (times[index - 1] ?? before) - time);
}

function isOf(pass: PassName, applied: Applied | undefined): boolean {
  return applied?.notes.some((note) => note.pass === pass) === true;
}

/** Where the types become others; what only prepares it has no price of its own. */
function isToHalf({ notes }: Applied): boolean {
  return notes.some(({ pass, microseconds }) => pass === "half" && microseconds !== undefined);
}

function timeOf(model: OpenModel, isStored: boolean, settings: FixSettings): number {
  const workload = priced(model, settings);
  return (isStored ? pricedAt(workload, "as-is", settings.cost) : workload).timeline.microseconds;
}

/** Of microseconds that are added up in another order. */
const rounding = 1e-6;

/**
 * Of what was priced by itself each gets its own, and of the rest as much more as it is large; where nothing was, the first stands for
 * all that follow.
 */
function share(notes: readonly FixNote[], microseconds: number, saved: Map<FixNote, number>): void {
  const own = notes.flatMap((note) => (note.microseconds === undefined ? [] : [note.microseconds]));
  const [sum, size] = [total(own), total(own.map(Math.abs))];
  const [first] = notes;
  if (size === 0) {
    if (first !== undefined && Math.abs(microseconds) > rounding) saved.set(first, microseconds);
    return;
  }
  for (const note of notes) {
    const { microseconds: alone } = note;
    if (alone !== undefined) saved.set(note, alone + ((microseconds - sum) * Math.abs(alone)) / size);
  }
}

function total(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0);
}
