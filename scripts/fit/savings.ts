/** @file What a saving's interval needs: how alike the errors of two sides are, and how far a predicted ratio may be off. */

import type { Range } from "../../src/cost/calibration.ts";
import {
  type ChangedSide,
  type ChangeKind,
  type ChangeRange,
  changeFeatures,
  changeKinds,
  isForward,
} from "../../src/cost/change.ts";
import type { Evaluation, Saving } from "../../src/cost/model.ts";
import { savingOfOne } from "../../src/cost/saving.ts";
import { at } from "./bins.ts";
import { type BoostOptions, type Forest, predict, train } from "./boost.ts";
import { folds } from "./crossval.ts";
import type { Sample } from "./data.ts";
import { type CrossValidation, quantile } from "./evaluate.ts";
import type { Pair } from "./pairs.ts";

/** With fewer of a kind its interval would be a guess. */
const leastPairs = 50;

type Predicted = Omit<CrossValidation, "shared" | "savingScale" | "changes">;

export interface ChangeFit {
  /** Of all pairs. */
  readonly forest: Forest;
  readonly ranges: Readonly<Partial<Record<ChangeKind, ChangeRange>>>;
  /** By pair: ln of the size of its error, by a forest that saw no pair of its fold. */
  readonly sizes: ReadonlyMap<Pair, number>;
}

const changeOptions: BoostOptions = {
  rounds: 120,
  leaves: 10,
  learningRate: 0.06,
  minLeaf: 30,
  clip: 1.5,
  ridge: 8,
  featureShare: 0.4,
  rowShare: 0.8,
  bins: 32,
  seed: 5,
};

/**
 * Of ratios, what lies beyond the ends out of fold, by models that saw four fifths of the data; of fresh pairs, priced by one that saw all, fewer:
 * those that save less than the lower end says, and more than the upper one. The former decides what is claimed.
 */
export const ratioTails = { less: 0.12, more: 0.05 };
/** Of savings in microseconds. */
const enclosed = 0.9;

interface Change {
  readonly pair: Pair;
  readonly fold: number;
  readonly features: readonly number[];
  /** Of the predicted ln(after / before), in the order that features have. */
  readonly error: number;
  /** Whether that order is the pair's. */
  readonly forward: boolean;
  readonly weight: number;
}

export function fitChanges(validation: Predicted): ChangeFit | undefined {
  const all = validation.pairs.map((pair) => changeOf(validation, pair));
  const measured = changeKinds.filter(
    (kind) => all.filter(({ pair }) => pair.kind === kind).length >= leastPairs,
  );
  const changes = all.filter(({ pair }) => measured.includes(pair.kind));
  if (changes.length === 0) return undefined;
  const sizes = new Map<Pair, number>();
  for (let fold = 0; fold < folds; fold++) {
    const forest = sizeForest(changes.filter((change) => change.fold !== fold));
    for (const { pair, features } of changes.filter((change) => change.fold === fold))
      sizes.set(pair, predict(forest, features));
  }
  const rangeOf = (kind: ChangeKind) =>
    rangeOfErrors(
      changes
        .filter(({ pair }) => pair.kind === kind)
        .map(({ pair, error, forward, weight }) => {
          return { scale: error / Math.exp(sizes.get(pair) ?? 0), forward, weight };
        }),
    );
  const fit = {
    forest: sizeForest(changes),
    ranges: Object.fromEntries(measured.map((kind) => [kind, rangeOf(kind)])),
    sizes,
  };
  const scaled = measured.map((kind) => {
    const ofKind = changes.filter(({ pair }) => pair.kind === kind);
    return [kind, { ...rangeOf(kind), scale: scaleOf(validation, ofKind, fit) }] as const;
  });
  return { ...fit, ranges: Object.fromEntries(scaled) };
}

/** Multiples of a size, in the order that features have: changes of one kind all go that way, or all against it. */
export function rangeOfErrors(errors: readonly (Weighted & { readonly forward: boolean })[]): Range {
  const scaled = errors.toSorted((a, b) => a.scale - b.scale);
  const grows = errors.filter(({ forward }) => forward).length > errors.length / 2;
  const { less, more } = ratioTails;
  // What takes longer than predicted saves less: above in the order before, after.
  const [below, above] = grows ? [more, less] : [less, more];
  const endAt = (share: number) => Number(weightedQuantile(scaled, share).toPrecision(4));
  return { low: endAt(below), high: endAt(1 - above) };
}

const leastTenths = 4;
/** Beyond, what is missed is the ratio. */
const mostTenths = 20;

/** The least that encloses nine savings of ten. */
function scaleOf(validation: Predicted, changes: readonly Change[], fit: ChangeFit): number {
  const whole = changes.reduce((sum, { weight }) => sum + weight, 0);
  for (let tenths = leastTenths; tenths < mostTenths; tenths++) {
    const scale = tenths / 10;
    const scaled = Object.entries(fit.ranges).map(([kind, range]) => [kind, { ...range, scale }] as const);
    const tried = { ...fit, ranges: Object.fromEntries(scaled) };
    const inside = changes.filter(({ pair }) => isEnclosed(validation, pair, tried));
    if (inside.reduce((sum, { weight }) => sum + weight, 0) >= enclosed * whole) return scale;
  }
  return mostTenths / 10;
}

function isEnclosed(validation: Predicted, pair: Pair, changes: ChangeFit): boolean {
  const { low, high } = savingOfPair({ ...validation, shared: 0, savingScale: 1, changes }, pair);
  const [before, after] = [at(validation.samples, pair.before), at(validation.samples, pair.after)];
  const truth = before.microseconds - after.microseconds;
  return truth >= low && truth <= high;
}

function changeOf(validation: Predicted, pair: Pair): Change {
  const { samples, foldOf } = validation;
  const [before, after] = [sideOf(validation, pair.before), sideOf(validation, pair.after)];
  const ratioOf = (values: readonly number[]) => Math.log((values[1] ?? 1) / (values[0] ?? 1));
  const measured = ratioOf([at(samples, pair.before).microseconds, at(samples, pair.after).microseconds]);
  const error = measured - ratioOf([before.once, after.once]);
  const forward = isForward(before.sketch, after.sketch);
  return {
    pair,
    fold: at(foldOf, pair.before),
    features: changeFeatures(before, after),
    error: forward ? error : -error,
    forward,
    weight: weightOf(samples, pair),
  };
}

function sideOf({ sketches, predicted, spread, range }: Predicted, index: number): ChangedSide {
  return { sketch: at(sketches, index), once: at(predicted, index), above: at(spread, index) * range.high };
}

/** Changes as networks have them, both sides measured in turn, say most; random neighbours are many. */
function weightOf(samples: readonly Sample[], pair: Pair): number {
  if (pair.asChange) return 4;
  if (pair.kind !== "padding") return 1.5;
  // What somebody pads is misaligned: neighbours that are not are easier, and would speak for those that are.
  const share = pair.misaligned ? 1 : 0.25;
  // Measured over hours, the extra ones in minutes: drift shows in the former.
  return share * (isShared(samples, pair) ? 6 : 0.75);
}

/** ln |error| is noisy; its smooth expectation is what widens an interval. */
function sizeForest(changes: readonly Change[]): Forest {
  return train(
    changes.map(({ features }) => features),
    Float64Array.from(changes, ({ error }) => Math.log(Math.abs(error) + 0.01)),
    Float64Array.from(changes, ({ weight }) => weight),
    changeOptions,
  );
}

/** The correlation with which nine of ten savings are covered by the narrowest intervals. */
export function fitSavings(validation: Predicted): { shared: number; savingScale: number } {
  let best = { shared: 0, savingScale: 1 };
  let width = Number.POSITIVE_INFINITY;
  const pairs = validation.pairs.filter(({ kind }) => kind === "padding");
  if (pairs.length < leastPairs) return { shared: 0.4, savingScale: 1 };
  const sharedPairs = pairs.filter((pair) => isShared(validation.samples, pair)).length;
  const weightOfShared = (pairs.length - sharedPairs) / Math.max(sharedPairs, 1);
  for (const shared of [0, 0.2, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9]) {
    const needed = pairs
      .map((pair) => neededScale(validation, pair, shared, weightOfShared))
      .sort((a, b) => a.scale - b.scale);
    const savingScale = weightedQuantile(needed, 0.9);
    const typical = needed.map((each) => each.width * savingScale).sort((a, b) => a - b);
    const median = quantile(typical, 0.5);
    if (median < width) [width, best] = [median, { shared, savingScale: Number(savingScale.toFixed(3)) }];
  }
  return best;
}

interface Weighted {
  readonly scale: number;
  readonly weight: number;
}

function weightedQuantile(ascending: readonly Weighted[], share: number): number {
  const whole = ascending.reduce((sum, { weight }) => sum + weight, 0);
  let passed = 0;
  for (const { scale, weight } of ascending) {
    passed += weight;
    if (passed >= share * whole) return scale;
  }
  return 1;
}

interface Needed extends Weighted {
  /** Of the interval at scale 1, as a share of `before`. */
  readonly width: number;
}

/** By how much a pair's interval must grow to hold what was measured. Shared pairs weigh as much as the many extra. */
function neededScale(validation: Predicted, pair: Pair, shared: number, weightOfShared: number): Needed {
  const saving = savingOfPair({ ...validation, shared, savingScale: 1, changes: undefined }, pair);
  const [before, after] = [at(validation.samples, pair.before), at(validation.samples, pair.after)];
  const miss = before.microseconds - after.microseconds - saving.microseconds;
  const scale =
    miss > 0 ? miss / (saving.high - saving.microseconds) : -miss / (saving.microseconds - saving.low);
  const width = (saving.high - saving.low) / at(validation.predicted, pair.before);
  return { scale, width, weight: isShared(validation.samples, pair) ? weightOfShared : 1 };
}

function isShared(samples: readonly Sample[], { before, after }: Pair): boolean {
  return at(samples, before).origin !== "extra" && at(samples, after).origin !== "extra";
}

export function savingOfPair(validation: CrossValidation, pair: Pair): Saving {
  const { sketches, predicted, spread, range, shared, savingScale, changes } = validation;
  const size = changes?.sizes.get(pair);
  const change =
    changes && size !== undefined ? { spread: { predict: () => size }, ranges: changes.ranges } : undefined;
  const evaluationOf = (index: number): Evaluation => ({
    sketch: at(sketches, index),
    microseconds: at(predicted, index),
    above: at(spread, index) * range.high,
    below: -at(spread, index) * range.low,
    shared,
    savingScale,
    change,
    widening: 1,
    once: at(predicted, index),
  });
  const onceOf = (index: number) => ({ evaluation: evaluationOf(index), microseconds: at(predicted, index) });
  return savingOfOne(onceOf(pair.before), onceOf(pair.after));
}
