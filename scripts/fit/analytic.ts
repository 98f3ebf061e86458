/** @file Coefficients of the analytic terms: a pattern search that lowers the mean error of the logarithm. */

import type { Family, Sketch } from "../../src/cost/sketch.ts";
import { type Coefficients, sketch } from "../../src/cost/terms.ts";
import { findGpu } from "../../src/hardware/gpus.ts";
import { stacks } from "../../src/hardware/stacks.ts";
import type { Target } from "../../src/hardware/target.ts";
import type { Sample } from "./data.ts";

const h200 = findGpu("h200");
if (h200 === undefined) throw new Error("no row of the GPU that was measured");
const gpu = h200;

export function targetOf(sample: Sample): Target {
  return { gpu, stack: stacks.cudnn, precision: sample.precision };
}

export function sketchOf(sample: Sample, coefficients: Coefficients): Sketch {
  const { work, variant, biased } = sample;
  return sketch(work, targetOf(sample), coefficients, { variant, biased });
}

/** Mean |ln(predicted / measured)|. */
export function logError(samples: readonly Sample[], coefficients: Coefficients): number {
  let sum = 0;
  for (const sample of samples) {
    const error = Math.abs(Math.log(sketchOf(sample, coefficients).microseconds / sample.microseconds));
    sum += Math.min(error, 1.5);
  }
  return sum / samples.length;
}

/** Tries each coefficient a step up and down, and halves the steps once nothing helps. */
export function searchCoefficients(
  family: Family,
  samples: readonly Sample[],
  start: Coefficients,
  sweeps: number,
): Coefficients {
  let best = start;
  let error = logError(samples, best);
  let step = 0.4;
  for (let sweep = 0; sweep < sweeps && step > 0.01; sweep++) {
    const before = error;
    for (const path of leavesOf(start[family])) {
      for (const factor of [1 + step, 1 / (1 + step)]) {
        const tried = { ...best, [family]: scaled(best[family], path, factor) };
        const triedError = logError(samples, tried);
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
