/** @file Out-of-fold predictions, spreads and pair intervals of a family: what the report states and the table keeps. */
import type { Sketch } from "../../src/cost/sketch.ts";
import type { Coefficients } from "../../src/cost/terms.ts";
import { sketchOf } from "./analytic.ts";
import { at } from "./bins.ts";
import { type BoostOptions, predict, train } from "./boost.ts";
import { folds } from "./crossval.ts";
import type { Sample } from "./data.ts";
import type { Pair } from "./pairs.ts";
import { type ChangeFit, fitChanges, fitSavings } from "./savings.ts";

export interface CrossValidation {
  readonly samples: readonly Sample[];
  readonly pairs: readonly Pair[];
  readonly foldOf: Int8Array;
  /** Microseconds, by a model that saw no sample of the fold. */
  readonly predicted: Float64Array;
  readonly sketches: readonly Sketch[];
  readonly analytic: Float64Array;
  /** Size of ln(measured / predicted) to expect, likewise. */
  readonly spread: Float64Array;
  readonly range: { readonly low: number; readonly high: number };
  readonly shared: number;
  readonly savingScale: number;
  /** Of each pair; where a family has too few of every kind, none. */
  readonly changes: ChangeFit | undefined;
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
  samples: readonly Sample[],
  pairs: readonly Pair[],
  foldOf: Int8Array,
  coefficients: Coefficients,
  predicted: Float64Array,
): CrossValidation {
  const sketches = samples.map((sample) => sketchOf(sample, coefficients));
  const analytic = Float64Array.from(sketches, ({ microseconds }) => microseconds);
  const errors = samples.map((sample, index) => Math.log(sample.microseconds / at(predicted, index)));
  const features = sketches.map((each) => each.features);
  const spread = crossSpread(features, errors, spreadWeights(samples), foldOf);
  const scaled = errors.map((error, index) => error / at(spread, index)).sort((a, b) => a - b);
  const range = { low: quantile(scaled, 0.05), high: quantile(scaled, 0.95) };
  const partial = { samples, pairs, foldOf, sketches, predicted, analytic, spread, range };
  const changes = fitChanges(partial);
  return { ...partial, ...fitSavings(partial), changes };
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

/** Of ascending values. */
export function quantile(sorted: readonly number[], share: number): number {
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;
}
