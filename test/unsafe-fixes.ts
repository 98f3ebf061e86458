/** @file What --unsafe-fixes asks of the API. */
import type { FixOptions } from "../src/api/fix.ts";

export const unsafeFixes = {
  half: "fp16",
  halfOnlyWhereFaster: true,
  nhwc: true,
  nhwcOnlyWhereFaster: true,
} as const satisfies FixOptions;
