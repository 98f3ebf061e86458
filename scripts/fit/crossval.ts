/** @file Predictions for samples that the model was not trained on. */
import type { Family } from "../../src/cost/sketch.ts";
import type { Coefficients } from "../../src/cost/terms.ts";
import { searchCoefficients, sketchOf } from "./analytic.ts";
import { type BoostOptions, type Forest, generator, predict, train } from "./boost.ts";
import type { Sample } from "./data.ts";
import { clustersOf, type Pair } from "./pairs.ts";

export const folds = 5;

/** One fold a cluster, so that the two sides of a pair, and repeated shapes, are held out together. */
export function foldsOf(samples: readonly Sample[], pairs: readonly Pair[], seed: number): Int8Array {
  const clusters = clustersOf(samples.length, [...pairs, ...repeatsOf(samples)]);
  const random = generator(seed);
  const foldOf = new Map<number, number>();
  return Int8Array.from(samples, (_, index) => {
    const cluster = clusters[index] ?? index;
    const known = foldOf.get(cluster) ?? Math.floor(random() * folds);
    foldOf.set(cluster, known);
    return known;
  });
}

/** Links each sample to the first of the same work. */
function repeatsOf(samples: readonly Sample[]): { before: number; after: number }[] {
  const first = new Map<string, number>();
  return samples.map(({ work, precision }, index) => {
    const key = JSON.stringify([work, precision]);
    const before = first.get(key) ?? index;
    first.set(key, before);
    return { before, after: index };
  });
}

export interface Trained {
  readonly coefficients: Coefficients;
  readonly forest: Forest;
}

/** Analytic coefficients first, then a forest on what they leave over. */
export function trainFamily(
  family: Family,
  samples: readonly Sample[],
  start: Coefficients,
  options: BoostOptions,
  sweeps: number,
): Trained {
  const stride = Math.max(1, Math.ceil(samples.length / 3000));
  const some = samples.filter((_, index) => index % stride === 0);
  const coefficients = searchCoefficients(family, some, start, sweeps);
  const sketches = samples.map((sample) => sketchOf(sample, coefficients));
  const targets = Float64Array.from(samples, (sample, index) =>
    Math.log(sample.microseconds / (sketches[index]?.microseconds ?? 1)),
  );
  const forest = train(
    sketches.map(({ features }) => features),
    targets,
    Float64Array.from(samples, weightOf),
    options,
  );
  return { coefficients, forest };
}

/** Sides of changes have sizes as networks have them, and what they are for is what is asked most. */
function weightOf({ weight, origin, change }: Sample): number {
  return weight * (origin === "extra" ? 0.8 : 1) * (change === undefined ? 1 : 2);
}

function predictWith({ coefficients, forest }: Trained, sample: Sample): number {
  const { microseconds, features } = sketchOf(sample, coefficients);
  return microseconds * Math.exp(predict(forest, features));
}

/** Microseconds by sample: of the fold's, by a model trained on the other folds and the extra samples; 0 elsewhere. */
export function predictFold(
  family: Family,
  samples: readonly Sample[],
  foldOf: Int8Array,
  fold: number,
  start: Coefficients,
  options: BoostOptions,
): Float64Array {
  const known = samples.filter((_, index) => foldOf[index] !== fold);
  const trained = trainFamily(family, known, start, { ...options, seed: options.seed + fold }, 3);
  return Float64Array.from(samples, (sample, index) =>
    foldOf[index] === fold ? predictWith(trained, sample) : 0,
  );
}
