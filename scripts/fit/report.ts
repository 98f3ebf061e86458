/** @file The figures of a fit: errors by family, pairs, intervals. */
import type { Outcome } from "../../bench/pair-figures.ts";
import type { Family } from "../../src/cost/sketch.ts";
import { at } from "./bins.ts";
import { type CrossValidation, quantile } from "./evaluate.ts";
import type { Pair } from "./pairs.ts";
import { savingOfPair } from "./savings.ts";

export interface ErrorFigures {
  readonly rows: number;
  /** Percent of the measured time. */
  readonly meanError: number;
  readonly medianError: number;
  readonly p90Error: number;
  /** Of the analytic terms alone. */
  readonly analyticMeanError: number;
  /** Percent of rows within [low, high]. */
  readonly coverage: number;
}

export interface PairFigures {
  readonly pairs: number;
  /** Points of the share of time saved, 1 − after / before. */
  readonly medianSavingError: number;
  /** Points of before / after. */
  readonly medianSpeedupError: number;
  /** Pairs whose measured change exceeds 5 %. */
  readonly changed: number;
  /** Percent of those with the sign right. */
  readonly signRight: number;
  readonly coverage: number;
}

export function errorFigures(validation: CrossValidation, chosen: (index: number) => boolean): ErrorFigures {
  const rows = validation.samples.map((_, index) => index).filter(chosen);
  const errorsOf = (predicted: Float64Array) =>
    rows
      .map((index) => Math.abs(at(predicted, index) / at(validation.samples, index).microseconds - 1))
      .sort((a, b) => a - b);
  const errors = errorsOf(validation.predicted);
  const { range, spread, predicted, samples } = validation;
  const covered = rows.filter((index) => {
    const error = Math.log(at(samples, index).microseconds / at(predicted, index)) / at(spread, index);
    return error >= range.low && error <= range.high;
  });
  return {
    rows: rows.length,
    meanError: percent(mean(errors)),
    medianError: percent(quantile(errors, 0.5)),
    p90Error: percent(quantile(errors, 0.9)),
    analyticMeanError: percent(mean(errorsOf(validation.analytic))),
    coverage: percent(covered.length / rows.length),
  };
}

export interface FamilyPair {
  readonly family: Family;
  readonly validation: CrossValidation;
  readonly pair: Pair;
}

export function pairFigures(pairs: readonly FamilyPair[]): PairFigures {
  const savings: number[] = [];
  const speedups: number[] = [];
  let [changed, right, covered] = [0, 0, 0];
  for (const { validation, pair } of pairs) {
    const measured = [pair.before, pair.after].map((index) => at(validation.samples, index).microseconds);
    const predicted = [pair.before, pair.after].map((index) => at(validation.predicted, index));
    const [measuredShare, predictedShare] = [
      1 - at(measured, 1) / at(measured, 0),
      1 - at(predicted, 1) / at(predicted, 0),
    ];
    savings.push(Math.abs(measuredShare - predictedShare));
    speedups.push(Math.abs(1 / (1 - measuredShare) - 1 / (1 - predictedShare)));
    if (Math.abs(measuredShare) > 0.05) {
      changed++;
      if (Math.sign(measuredShare) === Math.sign(predictedShare)) right++;
    }
    const { low, high } = savingOfPair(validation, pair);
    const truth = at(measured, 0) - at(measured, 1);
    if (truth >= low && truth <= high) covered++;
  }
  return {
    pairs: pairs.length,
    medianSavingError: percent(
      quantile(
        savings.sort((a, b) => a - b),
        0.5,
      ),
    ),
    medianSpeedupError: percent(
      quantile(
        speedups.sort((a, b) => a - b),
        0.5,
      ),
    ),
    changed,
    signRight: percent(right / changed),
    coverage: percent(covered / pairs.length),
  };
}

/** Changes that were measured as such, out of fold, by the name of their kind; passes over memory as known by their pattern. */
export function changeOutcomes(pairs: readonly FamilyPair[]): Outcome[] {
  return pairs
    .filter(({ pair, family }) => pair.asChange && family !== "traffic")
    .map(({ pair, validation }) => {
      const [before, after] = [at(validation.samples, pair.before), at(validation.samples, pair.after)];
      return {
        kind: before.change?.kind ?? pair.kind,
        before: before.microseconds,
        after: after.microseconds,
        predictedBefore: at(validation.predicted, pair.before),
        saving: savingOfPair(validation, pair),
      };
    });
}

function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}

function percent(share: number): number {
  return Number((100 * share).toFixed(2));
}
