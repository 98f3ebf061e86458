/** @file A saving beside the model's time. */
import { duration, percent } from "../ir/format.ts";
import type { SavingReport } from "../lint/result.ts";

/** `19.1 µs (12 %)`. Another precision may save more than what is left with it: that is no part of it. */
export function savedText({ microseconds, share }: Pick<SavingReport, "microseconds" | "share">): string {
  return share > 1 ? duration(microseconds) : `${duration(microseconds)} (${percent(share)})`;
}
