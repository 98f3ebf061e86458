/** @file Whether a change is sure to gain: by the threshold at least, its interval above zero. */
import type { WorkloadChange } from "../workload/change.ts";
import type { Workload } from "../workload/workload.ts";
import type { FixSettings } from "./pipeline.ts";

type Saving = WorkloadChange["saves"];

type Threshold = Pick<FixSettings, "minSaving">;

export function isSureGain(
  { microseconds, low }: Saving,
  { timeline }: Workload,
  { minSaving }: Threshold,
): boolean {
  return low > 0 && microseconds >= minSaving * timeline.microseconds;
}

/** What a file in half is looked at beside, both in the types that they store. */
export interface Beside {
  /** What the user has. */
  readonly file: Workload;
  /** What `--fix` alone leaves. */
  readonly fixed: Workload;
}

/**
 * Of a file in half, which `saves` that of the one that the user has. Of the one that `--fix` alone leaves it is predicted to save the threshold as well, and need
 * not be sure to: who has the choice of two files that are sure to gain takes the faster.
 */
export function isSureInHalf(saves: Saving, { file, fixed }: Beside, settings: Threshold): boolean {
  const more = saves.microseconds - (file.timeline.microseconds - fixed.timeline.microseconds);
  return isSureGain(saves, file, settings) && more >= settings.minSaving * file.timeline.microseconds;
}
