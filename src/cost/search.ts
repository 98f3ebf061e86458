/** @file Coefficients from measurements: a pattern search that lowers the mean error of the logarithm. */
import type { Family, Sketch } from "./sketch.ts";
import type { Coefficients } from "./terms.ts";

/** Microseconds that something took. */
interface Measured {
  readonly microseconds: number;
}

/** What the terms say of a sample. */
export type SketchOf<Sample> = (sample: Sample, coefficients: Coefficients) => Sketch;

/** No single row may pull the fit: its error counts up to this. */
const largestLogError = 1.5;

/** Mean |ln(predicted / measured)|. */
export function logError<Sample extends Measured>(
  samples: readonly Sample[],
  coefficients: Coefficients,
  sketchOf: SketchOf<Sample>,
): number {
  let sum = 0;
  for (const sample of samples) {
    const error = Math.abs(Math.log(sketchOf(sample, coefficients).microseconds / sample.microseconds));
    sum += Math.min(error, largestLogError);
  }
  return sum / samples.length;
}

/** Tries each coefficient a step up and down, and halves the steps once nothing helps. */
export function searchCoefficients<Sample extends Measured>(
  family: Family,
  samples: readonly Sample[],
  start: Coefficients,
  sweeps: number,
  sketchOf: SketchOf<Sample>,
): Coefficients {
  let best = start;
  let error = logError(samples, best, sketchOf);
  let step = 0.4;
  for (let sweep = 0; sweep < sweeps && step > 0.01; sweep++) {
    const before = error;
    for (const path of leavesOf(start[family])) {
      for (const factor of [1 + step, 1 / (1 + step)]) {
        const tried = { ...best, [family]: scaled(best[family], path, factor) };
        const triedError = logError(samples, tried, sketchOf);
        if (triedError < error) [best, error] = [tried, triedError];
      }
    }
    if (error > before * 0.999) step /= 2;
  }
  return best;
}

type Path = readonly string[];

/** Where the numbers of a nested record are. */
function leavesOf(record: object): Path[] {
  return Object.entries(record).flatMap(([name, value]: [string, unknown]) =>
    typeof value === "object" && value !== null ? leavesOf(value).map((path) => [name, ...path]) : [[name]],
  );
}

function scaled(record: object, [name, ...rest]: Path, factor: number): object {
  const value: unknown = new Map(Object.entries(record)).get(name ?? "");
  if (typeof value === "object" && value !== null)
    return { ...record, [name ?? ""]: scaled(value, rest, factor) };
  return { ...record, [name ?? ""]: Number((Number(value) * factor).toPrecision(4)) };
}
