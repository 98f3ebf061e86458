/** @file Axes of a Slice: cut where its bounds fall, which are then written again. */
import { type Axis, type PaddedSizes, paddedSize, sizeOfAxis } from "../../ir/axis.ts";
import type { AxisContext } from "../axes.ts";
import { tensorAt } from "../shape.ts";
import { clampedBounds, type SliceBounds } from "./slice-extent.ts";

/** An axis in three: what is dropped in front, what is kept, what is dropped behind. */
interface Cut {
  readonly before: Axis | undefined;
  readonly kept: Axis;
  readonly whole: Axis;
}

/** @param bounds In the order in which the node lists its axes. */
export function sliceAxes(context: AxisContext, bounds: ReadonlyMap<number, SliceBounds>): void {
  const axes = context.axesOf(0);
  const sizes = context.sizesOf(0);
  if (axes === undefined || sizes === undefined) return context.blockAll("has operands of unknown sizes");
  const canWrite = [...bounds.values()].every(
    ({ start, end }) => typeof start === "number" && typeof end === "number",
  );
  const cuts = new Map<number, Cut>();
  const result = axes.map((axis, at) => {
    const bound = bounds.get(at);
    if (bound === undefined) return axis;
    const cut = canWrite ? cutAt(context, axis, at, bound) : undefined;
    if (cut !== undefined && sizeOfAxis(cut.kept) === sizes[at]) {
      cuts.set(at, cut);
      return cut.kept;
    }
    context.block(axis, "takes positions along it");
    return context.fixed(sizes[at] ?? 1, "takes positions along it");
  });
  context.setAxes(0, result);
  if (canWrite) rewriteBounds(context, bounds, cuts);
}

/** Undefined for steps, and where the axis does not come apart at a bound. */
function cutAt(
  context: AxisContext,
  axis: Axis,
  at: number,
  { start, end, step }: SliceBounds,
): Cut | undefined {
  const size = tensorAt(context, 0).shape?.[at];
  if (typeof start !== "number" || typeof end !== "number" || typeof size !== "number") return undefined;
  if (step !== 1) return undefined;
  const [from, to] = clampedBounds(size, start, end, step);
  if (to <= from) return undefined;
  const ending = to === size ? ([axis, undefined] as const) : context.solver.cut(axis, to);
  if (ending === undefined) return undefined;
  const starting = from === 0 ? ([undefined, ending[0]] as const) : context.solver.cut(ending[0], from);
  return starting && { before: starting[0], kept: starting[1], whole: axis };
}

function rewriteBounds(
  context: AxisContext,
  bounds: ReadonlyMap<number, SliceBounds>,
  cuts: ReadonlyMap<number, Cut>,
): void {
  const listed = [...bounds];
  const written = (pick: "start" | "end") => (sizes: PaddedSizes) =>
    listed.map(([at, bound]) => {
      const original = bound[pick];
      const cut = cuts.get(at);
      if (cut === undefined || paddedSize(cut.whole, sizes) === sizeOfAxis(cut.whole)) {
        return typeof original === "number" ? original : 0;
      }
      const start = cut.before === undefined ? 0 : paddedSize(cut.before, sizes);
      return pick === "start" ? start : start + paddedSize(cut.kept, sizes);
    });
  if (context.opset < 10) {
    context.rewriteAttribute("starts", written("start"));
    context.rewriteAttribute("ends", written("end"));
  } else {
    context.rewriteInput(1, written("start"));
    context.rewriteInput(2, written("end"));
  }
}
