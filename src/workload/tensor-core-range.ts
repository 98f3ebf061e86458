/** @file How far the share of the time that products on Tensor Cores take may be off. */
import type { Range } from "../cost/calibration.ts";
import { type Timeline, timelineOf } from "./timeline.ts";

/**
 * Shares from `low` to `high`: one part of the time at one end of its interval, the rest at the other. Both at once are rarer than one
 * case of ten, so that the truth lies between in more than nine of ten.
 */
export function tensorCoreRange({ steps }: Timeline): Range {
  const on = timelineOf(steps.filter(({ estimate }) => estimate.tensorCore));
  const off = timelineOf(steps.filter(({ estimate }) => !estimate.tensorCore));
  const share = (part: number, rest: number) => (part > 0 ? part / (part + Math.max(0, rest)) : 0);
  return { low: share(on.low, off.high), high: share(on.high, off.low) };
}
