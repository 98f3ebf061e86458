/** @file Where the fit starts from: coefficients by rule of thumb. */
import type { Coefficients } from "./terms.ts";
import { trafficVariants, type Walk } from "./traffic.ts";

const memory = { dramShare: 0.88, l2Share: 0.9, l2Fill: 0.8 };

function everyWalk(value: number): Readonly<Record<Walk, number>> {
  const walks = [...trafficVariants, "elementwise", "copy", "reduction", "normalization", "pool"] as const;
  return Object.fromEntries(walks.map((walk) => [walk, value])) as Record<Walk, number>;
}

export const firstGuess: Coefficients = {
  gemm: {
    ...memory,
    launch: 1.8,
    peakShare: 0.78,
    feedShare: 2,
    tileOverhead: 1,
    splitOverhead: 1,
    slow8: 3,
    slow4: 3,
    slow2: 7,
    slowTf32: 2,
    cudaShare: 0.75,
  },
  conv: {
    ...memory,
    launch: { dense: 3, pointwise: 2, stem: 3, grouped: 3, depthwise: 2 },
    bias: { launch: 1.5, passes: 2.4 },
    convert: { launch: 3, nchw: 3, odd: 3 },
    slow: {
      odd: 1.8,
      even: 1.8,
      pointwiseOdd: 5,
      pointwiseEven: 3,
      pointwiseNchw: 1.1,
      nchw: 1.1,
      grouped: 4,
      stem: 2,
    },
    depthwise: { nhwc: 0.2, nchw: 0.1 },
    peakShare: 0.6,
    feedShare: 2,
    tileOverhead: 1.5,
    splitOverhead: 1,
    cudaShare: 0.7,
  },
  attention: {
    ...memory,
    launch: 3.5,
    peakShare: 0.5,
    tileOverhead: 1.5,
    softmaxCost: 60,
    slowOdd: 2.2,
    slowMasked: 1.5,
    cudaShare: 0.5,
  },
  traffic: { ...memory, launch: everyWalk(1.8), passes: everyWalk(2), rowOverhead: 15 },
  recurrent: {
    ...memory,
    launch: 6,
    peakShare: 0.4,
    feedShare: 2,
    tileOverhead: 1,
    splitOverhead: 1,
    step: 0.5,
    slowOdd: 1.5,
    cudaShare: 0.5,
  },
};
