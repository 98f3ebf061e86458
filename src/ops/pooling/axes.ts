/** @file Axes of pools: batch and channels pass, positions do not. */
import { type AxisContext, type Lane, type LaneContext, passAxes } from "../axes.ts";
import { keepLane, zeroOrFinite } from "../lanes.ts";

const verb = "slides a window over it";

/** @param channels Position of the channels: 1, or the last. */
export function poolAxes(context: AxisContext, channels = 1): void {
  passAxes(context, (axis) => axis === 0 || axis === channels, verb);
}

/** A second output of flat positions counts through the channels before. */
export function poolAxesWithPositions(context: AxisContext): void {
  if (context.outputCount > 1) context.blockAll("numbers its positions");
  else poolAxes(context);
}

/** Windows of zeros, partly in the surrounding zeros, are zero. */
export function poolLane(context: LaneContext): Lane {
  return zeroOrFinite(keepLane(context));
}
