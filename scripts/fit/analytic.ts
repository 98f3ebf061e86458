/** @file Coefficients of the analytic terms, from the shared measurements. */

import { searchCoefficients as search } from "../../src/cost/search.ts";
import type { Family, Sketch } from "../../src/cost/sketch.ts";
import { type Coefficients, sketch } from "../../src/cost/terms.ts";
import { findGpu } from "../../src/hardware/gpus.ts";
import { stacks } from "../../src/hardware/stacks.ts";
import type { Target } from "../../src/hardware/target.ts";
import type { Sample } from "./data.ts";

const h200 = findGpu("h200");
if (h200 === undefined) throw new Error("no row of the GPU that was measured");
const gpu = h200;

function targetOf(sample: Sample): Target {
  const stack = sample.compiled === true ? stacks.inductor : stacks.cudnn;
  return { gpu, stack, precision: sample.precision };
}

export function sketchOf(sample: Sample, coefficients: Coefficients): Sketch {
  const { work, variant, biased } = sample;
  return sketch(work, targetOf(sample), coefficients, { variant, biased });
}

export function searchCoefficients(
  family: Family,
  samples: readonly Sample[],
  start: Coefficients,
  sweeps: number,
): Coefficients {
  return search(family, samples, start, sweeps, sketchOf);
}
