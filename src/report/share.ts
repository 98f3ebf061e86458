/** @file A saving beside the model's time. */
import { duration, percent } from "../ir/format.ts";
import type { SavingReport } from "../lint/result.ts";

/** `19.1 µs (12 %)`. */
export function savedText({ microseconds, share }: Pick<SavingReport, "microseconds" | "share">): string {
  return `${duration(microseconds)} (${percent(share)})`;
}

/** `12 % of 159 µs`: of the time that the share is of, which another precision's is not the predicted one. */
export function shareOfText({ microseconds, share }: SavingReport): string {
  return share > 0 ? `${percent(share)} of ${duration(microseconds / share)}` : percent(share);
}
