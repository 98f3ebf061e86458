/** @file How far off predictions are, said one way: of several ratios of predicted to measured. */
import { medianOf } from "../src/gpu/prove/judge.ts";

/** `median error 2.8 %, nine of ten within 15.0 %` */
export function errorText(ratios: readonly number[]): string {
  const errors = ratios.map((ratio) => Math.abs(ratio - 1)).sort((a, b) => a - b);
  const ninth = errors[Math.ceil(0.9 * errors.length) - 1] ?? Number.NaN;
  const percent = (share: number) => `${(100 * share).toFixed(1)} %`;
  return `median error ${percent(medianOf(errors))}, nine of ten within ${percent(ninth)}`;
}
