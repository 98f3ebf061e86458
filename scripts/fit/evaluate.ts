/** @file Out-of-fold predictions, spreads and pair intervals of a family: what the report states and the table keeps. */

import { savingOfOne } from "../../src/cost/saving.ts";
import type { Family } from "../../src/cost/sketch.ts";
import type { Coefficients } from "../../src/cost/terms.ts";
import { sketchOf } from "./analytic.ts";
import { at } from "./bins.ts";
import { type BoostOptions, predict, train } from "./boost.ts";
import { crossPredict, folds } from "./crossval.ts";
import type { Sample } from "./data.ts";
import type { Pair } from "./pairs.ts";

export interface CrossValidation {
  readonly samples: readonly Sample[];
  readonly pairs: readonly Pair[];
  readonly foldOf: Int8Array;
  /** Microseconds, by a model that saw no sample of the fold. */
  readonly predicted: Float64Array;
  readonly analytic: Float64Array;
  /** Size of ln(measured / predicted) to expect, likewise. */
  readonly spread: Float64Array;
  readonly range: { readonly low: number; readonly high: number };
  readonly shared: number;
  readonly savingScale: number;
}

export const spreadOptions: BoostOptions = {
  rounds: 120,
  leaves: 10,
  learningRate: 0.08,
  minLeaf: 25,
  clip: 1.5,
  ridge: 5,
  featureShare: 0.5,
  rowShare: 0.8,
  bins: 64,
  seed: 11,
};

export function crossValidate(
  family: Family,
  samples: readonly Sample[],
  pairs: readonly Pair[],
  foldOf: Int8Array,
  coefficients: Coefficients,
  options: BoostOptions,
): CrossValidation {
  const predicted = crossPredict(family, samples, foldOf, coefficients, options);
  const sketches = samples.map((sample) => sketchOf(sample, coefficients));
  const analytic = Float64Array.from(sketches, ({ microseconds }) => microseconds);
  const errors = samples.map((sample, index) => Math.log(sample.microseconds / at(predicted, index)));
  const features = sketches.map((each) => each.features);
  const spread = crossSpread(features, errors, spreadWeights(samples), foldOf);
  const scaled = errors.map((error, index) => error / at(spread, index)).sort((a, b) => a - b);
  const range = { low: quantile(scaled, 0.05), high: quantile(scaled, 0.95) };
  const partial = { samples, pairs, foldOf, predicted, analytic, spread, range };
  return { ...partial, ...fitSavings(partial, family) };
}

/** The shared rows were measured over hours, the extra ones in minutes: drift shows in the former. */
export function spreadWeights(samples: readonly Sample[]): Float64Array {
  return Float64Array.from(samples, ({ origin, weight }) => (origin === "extra" ? weight : 3));
}

/** ln |error| is noisy; its smooth expectation is what widens an interval. */
export function spreadTargets(errors: readonly number[]): Float64Array {
  return Float64Array.from(errors, (error) => Math.log(Math.abs(error) + 0.01));
}

function crossSpread(
  features: readonly (readonly number[])[],
  errors: readonly number[],
  weights: Float64Array,
  foldOf: Int8Array,
): Float64Array {
  const spread = new Float64Array(errors.length);
  for (let fold = 0; fold < folds; fold++) {
    const known = errors.map((_, index) => index).filter((index) => foldOf[index] !== fold);
    const targets = spreadTargets(known.map((index) => at(errors, index)));
    const rows = known.map((index) => at(features, index));
    const forest = train(
      rows,
      targets,
      Float64Array.from(known, (index) => at(weights, index)),
      spreadOptions,
    );
    for (const [index, row] of features.entries()) {
      if (foldOf[index] === fold) spread[index] = Math.exp(predict(forest, row));
    }
  }
  return spread;
}

type Partial = Omit<CrossValidation, "shared" | "savingScale">;

/** The correlation with which nine of ten savings are covered by the narrowest intervals. */
function fitSavings(validation: Partial, family: Family): { shared: number; savingScale: number } {
  let best = { shared: 0, savingScale: 1 };
  let width = Number.POSITIVE_INFINITY;
  if (validation.pairs.length < 50) return { shared: 0.4, savingScale: 1 };
  const sharedPairs = validation.pairs.filter((pair) => isShared(validation.samples, pair)).length;
  const weightOfShared = (validation.pairs.length - sharedPairs) / Math.max(sharedPairs, 1);
  for (const shared of [0, 0.2, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9]) {
    const needed = validation.pairs
      .map((pair) => neededScale(validation, pair, family, shared, weightOfShared))
      .sort((a, b) => a.scale - b.scale);
    const savingScale = weightedQuantile(needed, 0.9);
    const typical = needed.map((each) => each.width * savingScale).sort((a, b) => a - b);
    const median = quantile(typical, 0.5);
    if (median < width) [width, best] = [median, { shared, savingScale: Number(savingScale.toFixed(3)) }];
  }
  return best;
}

interface Needed {
  readonly scale: number;
  /** Of the interval at scale 1, as a share of `before`. */
  readonly width: number;
  readonly weight: number;
}

function weightedQuantile(ascending: readonly Needed[], share: number): number {
  const whole = ascending.reduce((sum, { weight }) => sum + weight, 0);
  let passed = 0;
  for (const { scale, weight } of ascending) {
    passed += weight;
    if (passed >= share * whole) return scale;
  }
  return 1;
}

/** By how much a pair's interval must grow to hold what was measured. Shared pairs weigh as much as the many extra. */
function neededScale(
  validation: Partial,
  pair: Pair,
  family: Family,
  shared: number,
  weightOfShared: number,
): Needed {
  const saving = savingOfPair({ ...validation, shared, savingScale: 1 }, pair, family);
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

export function savingOfPair(validation: CrossValidation, { before, after }: Pair, family: Family) {
  const evaluationOf = (index: number) => ({
    sketch: { ...sketchlessFields, family, microseconds: at(validation.analytic, index) },
    microseconds: at(validation.predicted, index),
    above: at(validation.spread, index) * validation.range.high,
    below: -at(validation.spread, index) * validation.range.low,
    shared: validation.shared,
    savingScale: validation.savingScale,
  });
  return savingOfOne(evaluationOf(before), evaluationOf(after));
}

/** A saving looks at the family only. */
const sketchlessFields = {
  bound: "launch",
  tensorCore: false,
  bytes: 0,
  biasMicroseconds: 0,
  features: [],
} as const;

/** Of ascending values. */
export function quantile(sorted: readonly number[], share: number): number {
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;
}
