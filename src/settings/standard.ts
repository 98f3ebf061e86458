/** @file What holds where neither a configuration nor the command line says anything. */

export const standard = {
  gpu: "h200",
  stack: "ort-cuda",
  precision: "fp16",
  minSaving: 0.005,
  errorShare: 0.05,
  stackGuard: true,
} as const;
