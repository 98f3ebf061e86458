/** @file Where the fit starts from: coefficients by rule of thumb. */
import type { Coefficients } from "../../src/cost/terms.ts";
import { walks } from "../../src/cost/traffic.ts";
import { trafficVariants } from "../../src/ops/work.ts";

const memory = { dramShare: 0.88, l2Share: 0.9, l2Fill: 0.8 };

const convTiles = { peakShare: 0.7, feedShare: 2, tileOverhead: 1.2, splitOverhead: 3 };

function each<Name extends string>(names: readonly Name[], value: number): Record<Name, number> {
  return Object.fromEntries(names.map((name) => [name, value])) as Record<Name, number>;
}

export const firstGuess: Coefficients = {
  gemm: {
    ...memory,
    launch: 1.8,
    peakShare: 0.78,
    feedShare: 2,
    tileOverhead: 1,
    splitOverhead: 1,
    perClock: { on8: 700, on4: 700, on2: 420, tf32: 300 },
    cudaShare: 0.75,
  },
  conv: {
    ...memory,
    launch: { dense: 3, pointwise: 2, stem: 3, blocked: 3, grouped: 30, depthwise: 2 },
    groupLaunch: 3,
    bias: { launch: 1.5, passes: 2.4 },
    convert: { launch: 3, nchw: 3, odd: 3 },
    perClock: {
      odd: 2000,
      even: 2000,
      nchw: 2600,
      nchwOdd: 2000,
      pointwiseOdd: 500,
      pointwiseEven: 900,
      grouped: 700,
      stem: 600,
    },
    depthwise: { nhwc: 0.25, odd: 0.5, few: 0.03, nchw: 0.1 },
    tiles: {
      dense: convTiles,
      pointwise: convTiles,
      stem: convTiles,
      blocked: convTiles,
      grouped: convTiles,
    },
    cudaShare: 0.7,
  },
  attention: {
    ...memory,
    launch: 3.5,
    peakShare: 0.5,
    tileOverhead: 1.5,
    softmaxCost: 60,
    slowOdd: 2.2,
    masked: { launch: 6, slow: 2, slowOdd: 8 },
    cudaShare: 0.5,
  },
  traffic: {
    ...memory,
    launch: each(trafficVariants, 1.8),
    passes: each(trafficVariants, 2),
    rowOverhead: 15,
  },
  walk: { ...memory, launch: each(walks, 1.8), passes: each(walks, 2), rowOverhead: 15 },
  recurrent: {
    ...memory,
    launch: 6,
    peakShare: 0.4,
    feedShare: 2,
    tileOverhead: 1,
    splitOverhead: 1,
    step: 0.5,
    perClockOdd: 1000,
    cudaShare: 0.5,
  },
};
