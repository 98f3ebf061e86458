/** @file What of a baseline's entry a run can tell: it may lack some of its targets, or hide some of what was counted. */
import type { SuppressedModel } from "../settings/suppressions.ts";
import type { FoundModel } from "./found-models.ts";

/** What is known of a run beside its outcomes. */
export interface SuppressContext {
  /** As messages name the file. */
  readonly file: string;
  /** What the file calls a model. */
  readonly keyOf: (path: string) => string;
  readonly isThere: (key: string) => boolean;
  /** Whether a rule was looked for in a model. */
  readonly isOn: (path: string, code: string) => boolean;
  /** Whether the command line left rules out: then others claim what they save otherwise. */
  readonly isSelection: boolean;
  /** Share of a model's time below which the run lists nothing. */
  readonly minSavingOf: (path: string) => number;
  /** Whether reports list what is suppressed. */
  readonly isListed: boolean;
}

/** Whether a model was linted to its end in all of the targets and sizes that were counted. */
export function isCovered({ at, isWhole }: FoundModel, entry: SuppressedModel): boolean {
  return isWhole && entry.at.every((target) => at.includes(target));
}

/** Whether a run hides more of a model than was hidden when `entry` was counted. */
export function isHidden(
  { path }: FoundModel,
  { minSaving, rules }: SuppressedModel,
  { isOn, isSelection, minSavingOf }: SuppressContext,
): boolean {
  return isSelection || minSavingOf(path) > minSaving || [...rules.keys()].some((code) => !isOn(path, code));
}

/**
 * How many of `suppressed` findings of a rule a run says are there. One that hides more than was hidden when they were counted may have any of them
 * among what it does not list.
 */
export function stillThere(
  model: FoundModel,
  [code, suppressed]: readonly [code: string, suppressed: number],
  entry: SuppressedModel,
  context: SuppressContext,
): number {
  const listed = model.found.get(code)?.size ?? 0;
  const hidden = isHidden(model, entry, context) ? (model.unlisted.get(code) ?? 0) : 0;
  return Math.max(listed, Math.min(suppressed, listed + hidden));
}
