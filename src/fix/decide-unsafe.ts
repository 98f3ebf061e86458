/**
 * @file What half precision and another layout make of a repaired model, decided together: a convolution that half alone makes no faster may
 * be faster in half and NHWC.
 */

import { isHalf } from "../ir/fix-command.ts";
import type { OpenModel } from "../onnx/open.ts";
import { changeBetween } from "../workload/change.ts";
import { lossElsewhere } from "../workload/elsewhere.ts";
import { pricedAt } from "../workload/priced-at.ts";
import type { Workload } from "../workload/workload.ts";
import { writtenBetween } from "../workload/written.ts";
import { commandOf } from "./choice.ts";
import { left, type SafeFix } from "./decide.ts";
import type { LayoutDecision } from "./decide-layout.ts";
import { type HalfByName, type SafeFixes, whyLeft as whyNotPadded } from "./decide-stored.ts";
import { type LaidOut, laidOut, layoutInHalf } from "./laid-out.ts";
import { halfNotes, leftFloat } from "./left-float.ts";
import { changesTypes, type FixedModel, type FixSettings, unchanged } from "./pipeline.ts";
import { priced } from "./prices.ts";
import { repairedText } from "./proposed-sizes.ts";
import { runToFixedPoint } from "./rounds.ts";
import { asksForLayout, asWritten, keepsTypes } from "./stored-types.ts";
import { type Beside, isSureGain, isSureInHalf } from "./sure-gain.ts";

export interface Unsafe extends LaidOut {
  /** What they begin with: of a file that stays FP32, what safe fixes gain in FP32. */
  readonly safe: SafeFix;
  readonly isHalved: boolean;
  /** The layout step of the model's account in half, before anything is written; undefined where it has none. */
  readonly foreseen?: LayoutDecision | undefined;
  /** The same without padding, where that was decided behind the layout: it is told as it was decided. */
  readonly unpadded?: Unsafe | undefined;
}

/**
 * The unsafe passes of `settings` over what safe ones left. What was asked for by name is done; else what is predicted to take the least of
 * what saves at least the threshold, its interval above zero. `file` is what the user has. Throws InputError.
 */
export function decideUnsafe(
  fixes: SafeFixes,
  settings: FixSettings,
  file: Workload,
  namedHalf: HalfByName,
): Unsafe {
  const { inTarget, asStored: stored } = fixes;
  const plain = () => floatFrom(stored, settings, file);
  if (keepsTypes(settings)) return floatInLayout(fixes, settings, file, namedHalf);
  if (!changesTypes(settings))
    return paddedBehind(plain(), inTarget, settings, (safe) => floatFrom(safe, settings, file));
  const foreseen = layoutInHalf(inTarget.fixed.model, settings, file);
  const isLaidOut = foreseen !== undefined;
  if (settings.options.halfOnlyWhereFaster !== true) {
    const inHalf = (safe: SafeFix) => fastestHalf(halvedWays(safe, settings, file, isLaidOut), settings);
    const asked = paddedBehind(inHalf(inTarget), inTarget, settings, inHalf);
    return asked.isHalved || stored === inTarget ? { ...asked, foreseen } : notHalved(plain(), asked);
  }
  const halves = halvedWays(inTarget, settings, file, isLaidOut);
  const beside = besideHalf(fixes, settings, file);
  const best = fastest(beside, plain(), halves, settings);
  if (best.isHalved) return { ...best, foreseen };
  // What is told of is the file that half asked for by name makes.
  const byName = { ...settings, options: { ...settings.options, halfOnlyWhereFaster: false } };
  const named = fastestHalf(halvedWays(inTarget, byName, file, isLaidOut), byName);
  return { ...leftFloat(beside, best, named, settings), foreseen };
}

function floatFrom(safe: SafeFix, settings: FixSettings, file: Workload): Unsafe {
  return { safe, ...laidOut(unchanged(safe.fixed.model), settings, file), isHalved: false };
}

/**
 * NHWC that is asked for by name in a file that keeps its types: padding that is not sure to gain there in NCHW may gain in NHWC.
 */
function floatInLayout(
  fixes: SafeFixes,
  settings: FixSettings,
  file: Workload,
  namedHalf: HalfByName,
): Unsafe {
  const { inTarget, asStored: stored } = fixes;
  const from = (safe: SafeFix) => floatFrom(safe, settings, file);
  const plain = from(stored);
  if (inTarget === stored) return paddedBehind(plain, stored, settings, from);
  const padded = from(inTarget);
  const [before, after] = [plain, padded].map(({ fixed }) => asWritten(fixed.model, settings));
  if (before === undefined || after === undefined) return plain;
  const saves = writtenBetween(before, after, settings.cost);
  if (isSureGain(saves, before, settings))
    return stored.fixed.changed ? padded : { ...padded, unpadded: plain };
  const where = plain.fixed.changed ? "in NHWC and the types that it stores" : undefined;
  const { precision } = settings.target;
  const isNamed = isHalf(precision) && namedHalf.gainsBelow(saves.after, fixes, true);
  const repaired = repairedText(stored.after, inTarget.after);
  const declined = whyNotPadded(saves, repaired, isNamed ? commandOf(precision, true) : undefined, where);
  const { fixed } = stored;
  return {
    ...plain,
    safe: {
      ...stored,
      fixed: fixed.changed ? fixed : left(fixed.model, declined),
      declined,
      foregoneAsStored: saves.microseconds,
    },
  };
}

/**
 * Padding that is not sure to gain in the layout of the file, and is so in NHWC that is asked for by name: else the file that is written would be
 * padded by whoever repairs it again. `from`: the layout of what safe fixes leave.
 */
function paddedBehind(
  plain: Unsafe,
  { fixed, attempt }: SafeFix,
  settings: FixSettings,
  from: (safe: SafeFix) => Unsafe,
): Unsafe {
  if (fixed.changed || !asksForLayout(settings) || !plain.fixed.changed) return plain;
  const made = attempt?.();
  if (made === undefined) return plain;
  const padded = from(made);
  const [before, after] = [plain, padded].map(({ fixed: { model } }) => model);
  const isPadded = before !== undefined && after !== undefined && gainsThere(before, after, settings);
  return isPadded ? { ...padded, unpadded: plain } : plain;
}

/** As safe fixes do: in what the target computes in and in the types that are stored, and no other stack loses by it. */
function gainsThere(before: OpenModel, after: OpenModel, settings: FixSettings): boolean {
  const { cost, others = [] } = settings;
  const [was, is] = [priced(before, settings), priced(after, settings)];
  if (!isSureGain(changeBetween(was, is, cost).saves, was, settings)) return false;
  const [stored, padded] = [asWritten(before, settings), asWritten(after, settings)];
  if (!isSureGain(writtenBetween(stored, padded, cost), stored, settings)) return false;
  return lossElsewhere(was, is, settings, others) === undefined;
}

/** What was asked for by name and is not there to be made, with what is said of it. */
function notHalved(plain: Unsafe, { fixed: { notes } }: Unsafe): Unsafe {
  return { ...plain, fixed: { ...plain.fixed, notes: [...halfNotes(notes), ...plain.fixed.notes] } };
}

/** What a file in half is looked at beside. */
export function besideHalf(
  { asStored: { fixed } }: SafeFixes,
  settings: FixSettings,
  file: Workload,
): Beside {
  return { file: pricedAt(file, "as-is", settings.cost), fixed: asWritten(fixed.model, settings) };
}

/** What is predicted to take the least; in half only what is faster than the file that the user has beyond doubt. */
function fastest(beside: Beside, plain: Unsafe, halves: readonly Unsafe[], settings: FixSettings): Unsafe {
  let [best, bestTime] = [plain, asWritten(plain.fixed.model, settings).timeline.microseconds];
  for (const each of halves.filter(({ isHalved }) => isHalved)) {
    const after = asWritten(each.fixed.model, settings);
    const isSure = isSureInHalf(writtenBetween(beside.file, after, settings.cost), beside, settings);
    const { microseconds } = after.timeline;
    if (isSure && microseconds < bestTime) [best, bestTime] = [each, microseconds];
  }
  return best;
}

/**
 * In half, and in half as it is chosen where NHWC comes behind it (`isLaidOut`): another one where a product's price decided what is half, and that is
 * the price in NCHW.
 */
function halvedWays(
  safe: SafeFix,
  settings: FixSettings,
  file: Workload,
  isLaidOut: boolean,
): readonly [Unsafe, ...Unsafe[]] {
  const half = broughtToHalf(safe.fixed, settings);
  return isLaidOut ? waysLaidOut(safe, half, settings, file) : [fromHalf(safe, half, settings, file)];
}

/** `half` is what `safe` leaves, brought to half. */
function waysLaidOut(
  safe: SafeFix,
  half: FixedModel,
  settings: FixSettings,
  file: Workload,
): readonly [Unsafe, ...Unsafe[]] {
  const plain = fromHalf(safe, half, settings, file);
  const following = isByPrice(plain.fixed) ? [halved(safe, nhwcFollowing(settings), file)] : [];
  const ways = [plain, ...following] as const;
  // Where NHWC was asked for by name, all of them have it.
  if (settings.options.nhwcOnlyWhereFaster !== true) return ways;
  // What is sure to gain of the model in half is decided: Casts between what stays FP32 are told by themselves.
  const asDecided = { ...settings, options: { ...settings.options, nhwcOnlyWhereFaster: false } };
  return ways.some(({ turned }) => turned !== undefined)
    ? ways
    : [...ways, fromHalf(safe, half, asDecided, file)];
}

function isByPrice({ notes }: FixedModel): boolean {
  return notes.some((note) => note.isByPrice === true);
}

function nhwcFollowing(settings: FixSettings): FixSettings {
  return { ...settings, options: { ...settings.options, nhwcFollows: true } };
}

/** Asked for by name: the one that takes the least as it is written. */
function fastestHalf([first, ...rest]: readonly [Unsafe, ...Unsafe[]], settings: FixSettings): Unsafe {
  const timeOf = ({ fixed }: Unsafe) => asWritten(fixed.model, settings).timeline.microseconds;
  let best = first;
  for (const each of rest) if (each.isHalved && timeOf(each) < timeOf(best)) best = each;
  return best;
}

/** What safe fixes leave, `half` being that in half, in the layout that pays there. */
export function halfInLayout(
  { inTarget }: SafeFixes,
  half: FixedModel,
  settings: FixSettings,
  file: Workload,
): FixedModel {
  if (layoutInHalf(inTarget.fixed.model, settings, file) === undefined)
    return fromHalf(inTarget, half, settings, file).fixed;
  return fastestHalf(waysLaidOut(inTarget, half, settings, file), settings).fixed;
}

/** In half, and then in the layout that pays there. */
function halved(safe: SafeFix, settings: FixSettings, file: Workload): Unsafe {
  return fromHalf(safe, broughtToHalf(safe.fixed, settings), settings, file);
}

/** The layout of a model that is in half already: it decides nothing about what is. */
function fromHalf(safe: SafeFix, half: FixedModel, settings: FixSettings, file: Workload): Unsafe {
  return { safe, ...laidOut(half, settings, file), isHalved: half.changed };
}

export function broughtToHalf(safe: FixedModel, settings: FixSettings): FixedModel {
  const { model } = safe;
  // Padding that was declined is not made after all; folding prepares the other passes.
  const passes = settings.passes.filter(({ name, safe: isSafe }) =>
    isSafe ? name === "fold" || safe.changed : name !== "channels-last",
  );
  const made = runToFixedPoint(model, { ...settings, passes });
  return isPreparation(made) ? withoutChanges(made, model) : made;
}

/** Folding, which was decided before, or another opset alone: what they prepared for was not made. */
function isPreparation({ parts }: FixedModel): boolean {
  return [...parts].every(([name, made]) => name === "fold" || (name === "half" && made.size === 0));
}

function withoutChanges({ notes }: FixedModel, model: OpenModel): FixedModel {
  return { ...unchanged(model), notes: notes.filter(({ kind }) => kind !== "changed") };
}
