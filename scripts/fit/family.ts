/** @file One family's fit: terms and forest, their errors out of fold, and what becomes of them in the table. */
import type { Range, Residual } from "../../src/cost/calibration.ts";
import type { Family } from "../../src/cost/sketch.ts";
import type { Coefficients } from "../../src/cost/terms.ts";
import { searchCoefficients, sketchOf } from "./analytic.ts";
import { at } from "./bins.ts";
import { type BoostOptions, train } from "./boost.ts";
import { foldsOf, predictFold, type Trained, trainFamily } from "./crossval.ts";
import type { Sample } from "./data.ts";
import {
  type CrossValidation,
  crossValidate,
  quantile,
  spreadOptions,
  spreadTargets,
  spreadWeights,
} from "./evaluate.ts";
import { firstGuess } from "./guess.ts";
import { pack } from "./pack.ts";
import { pairsOf } from "./pairs.ts";

const boost: BoostOptions = {
  rounds: 400,
  leaves: 24,
  learningRate: 0.08,
  minLeaf: 5,
  clip: 0.3,
  ridge: 1,
  featureShare: 0.5,
  rowShare: 0.8,
  bins: 64,
  seed: 7,
};

/** Where a kernel changes depends on many sizes at once: deep trees, which see most of them. */
const deep: BoostOptions = { ...boost, featureShare: 0.6, learningRate: 0.07 };

const optionsOf: Readonly<Record<Family, BoostOptions>> = {
  gemm: { ...deep, rounds: 450, leaves: 127, learningRate: 0.055 },
  conv: { ...deep, rounds: 700, leaves: 150, learningRate: 0.045 },
  attention: { ...deep, leaves: 31, featureShare: 0.8, learningRate: 0.06 },
  traffic: { ...boost, rounds: 300, leaves: 16 },
  walk: { ...boost, rounds: 100, leaves: 12 },
  recurrent: { ...boost, rounds: 200, leaves: 12, learningRate: 0.1 },
};

/** What takes minutes. */
export interface Learned {
  readonly start: Coefficients;
  /** Microseconds by sample, out of fold. */
  readonly predicted: Float64Array;
  readonly trained: Trained;
}

export interface FamilyResult {
  readonly coefficients: Coefficients;
  readonly validation: CrossValidation;
  readonly residual: Residual;
  readonly analytic: Range;
}

export function startOf(family: Family, samples: readonly Sample[]): Coefficients {
  const some = samples.filter((_, index) => index % Math.ceil(samples.length / 4000) === 0);
  return searchCoefficients(family, some, firstGuess, 60);
}

/** Of all samples, as the table gets it. */
export function trainAll(family: Family, samples: readonly Sample[], start: Coefficients): Trained {
  return trainFamily(family, samples, start, optionsOf[family], 0);
}

export function predictFoldOf(
  family: Family,
  samples: readonly Sample[],
  start: Coefficients,
  fold: number,
): Float64Array {
  return predictFold(family, samples, foldsOf(samples, pairsOf(samples), 1), fold, start, optionsOf[family]);
}

export function familyResult(
  samples: readonly Sample[],
  { start, predicted, trained }: Learned,
): FamilyResult {
  const pairs = pairsOf(samples);
  const validation = crossValidate(samples, pairs, foldsOf(samples, pairs, 1), start, predicted);
  const { coefficients, forest } = trained;
  const errors = samples.map(({ microseconds }, index) => Math.log(microseconds / at(predicted, index)));
  const features = samples.map((sample) => sketchOf(sample, coefficients).features);
  const spread = train(features, spreadTargets(errors), spreadWeights(samples), spreadOptions);
  const { range, shared, savingScale, changes } = validation;
  const ratios = samples
    .map((sample, index) => sample.microseconds / at(validation.analytic, index))
    .sort((a, b) => a - b);
  const analytic = { low: rounded(quantile(ratios, 0.05)), high: rounded(quantile(ratios, 0.95)) };
  const residual = {
    mean: pack(forest),
    spread: pack(spread),
    range: { low: rounded(range.low), high: rounded(range.high) },
    shared,
    savingScale,
    ...(changes && { change: { spread: pack(changes.forest), ranges: changes.ranges } }),
  };
  return { coefficients, validation, residual, analytic };
}

function rounded(value: number): number {
  return Number(value.toPrecision(4));
}
