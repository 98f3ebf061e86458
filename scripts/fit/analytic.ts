/** @file Coefficients of the analytic terms, from the shared measurements. */

import { logError as meanLogError, searchCoefficients as search } from "../../src/cost/search.ts";
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
  return meanLogError(samples, coefficients, sketchOf);
}

export function searchCoefficients(
  family: Family,
  samples: readonly Sample[],
  start: Coefficients,
  sweeps: number,
): Coefficients {
  return search(family, samples, start, sweeps, sketchOf);
}
