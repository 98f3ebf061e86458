/** @file How far the predicted ratio of two times may be off, where one is the other's work after a change. */
import type { Range } from "./calibration.ts";
import type { Sketch } from "./sketch.ts";

export const changeKinds = ["padding", "layout", "precision"] as const;

export type ChangeKind = (typeof changeKinds)[number];

export interface ChangeModel {
  /** ln of the size of the error of ln(after / before), from the features of both sides. */
  readonly spread: { predict(features: readonly number[]): number };
  /** Multiples of that size that enclose nine errors of ten; a kind that is missing was not measured. */
  readonly ranges: Readonly<Partial<Record<ChangeKind, ChangeRange>>>;
}

export interface ChangeRange extends Range {
  /** On the logarithms of the time before's own interval, so that savings in microseconds are enclosed as often. */
  readonly scale?: number | undefined;
}

export interface ChangedSide {
  readonly sketch: Sketch;
  /** Microseconds of one run. */
  readonly once: number;
  /** ln of high against the estimate, as on the GPU that was measured. */
  readonly above: number;
}

export function kindOfChange(before: Sketch, after: Sketch): ChangeKind {
  if (before.format !== after.format) return "precision";
  return before.layout === after.layout ? "padding" : "layout";
}

/** ln(after / before) lies between; undefined where no change of this kind was measured. */
export function ratioRange(
  model: ChangeModel,
  before: ChangedSide,
  after: ChangedSide,
): ChangeRange | undefined {
  const range = model.ranges[kindOfChange(before.sketch, after.sketch)];
  if (range === undefined) return undefined;
  const forward = isForward(before.sketch, after.sketch);
  const size = Math.exp(model.spread.predict(changeFeatures(before, after)));
  // There and back are one change: its error counts the other way round.
  const { scale } = range;
  return forward
    ? { low: size * range.low, high: size * range.high, scale }
    : { low: -size * range.high, high: -size * range.low, scale };
}

/** Of the two orders of a change's sides, the one that a fit sees: the first feature that differs grows. */
export function isForward({ features: before }: Sketch, { features: after }: Sketch): boolean {
  const differs = before.findIndex((feature, index) => feature !== after[index]);
  return differs < 0 || (before[differs] ?? 0) < (after[differs] ?? 0);
}

/** The same whichever side is named first. */
export function changeFeatures(before: ChangedSide, after: ChangedSide): number[] {
  const [from, to] = isForward(before.sketch, after.sketch) ? [before, after] : [after, before];
  const [own, others] = [from.sketch.features, to.sketch.features];
  const features = own.slice();
  for (let at = 0; at < others.length; at++) features.push((others[at] ?? 0) - (own[at] ?? 0));
  features.push(Math.log(to.once / from.once), Math.log(from.above), Math.log(to.above));
  return features;
}
