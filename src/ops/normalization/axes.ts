/** @file Normalizations over chosen axes: LpNormalization, MeanVarianceNormalization, LRN. */
import { textOf } from "../../ir/message.ts";
import { passAxes, passBesideTrue, unknownLane } from "../axes.ts";
import { finiteLanes } from "../lanes.ts";
import { defineOp, type OpContext, ShapeError } from "../op.ts";
import { resolveAxes, rowsAndColumns } from "../reduction/axes.ts";
import { normalizeAxis, tensor, tensorAt } from "../shape.ts";
import { rowTraffic } from "../traffic.ts";
import { half, losesDigits } from "../traits.ts";
import { isDivisor } from "./epsilon.ts";

/** Divides by the norm along one axis. */
export const lpNormalization = defineOp({
  domain: "",
  type: "LpNormalization",
  traits: {
    elements: "computed",
    half: half(1, 22, { risk: losesDigits("a norm sums squares") }),
    layout: "fixed",
    sameSince: 7,
  },
  infer(context) {
    const { dtype, shape } = tensorAt(context, 0);
    if (shape !== undefined) normalizeAxis(context.int("axis") ?? -1, shape.length);
    return [tensor(dtype, shape)];
  },
  axes(context) {
    const axis = normalizeAxis(context.int("axis") ?? -1, tensorAt(context, 0).shape?.length ?? 1);
    passBesideTrue(context, (at) => at !== axis, "normalizes over it");
  },
  // Rows of zeros would be divided by zero.
  lanes: () => unknownLane,
  work(context) {
    const { shape } = tensorAt(context, 0);
    if (shape === undefined) return undefined;
    const axis = normalizeAxis(context.int("axis") ?? -1, shape.length);
    return rowTraffic(context, "normalization", ...rowsAndColumns(shape, new Set([axis])));
  },
});

/** Subtracts the mean and divides by the deviation, by default for every channel of [N, C, H, W]. */
export const meanVarianceNormalization = defineOp({
  domain: "",
  type: "MeanVarianceNormalization",
  traits: {
    elements: "computed",
    half: half(9, 13, { risk: losesDigits("a variance sums squares") }),
    layout: "fixed",
    sameSince: 9,
  },
  infer(context) {
    const { dtype, shape } = tensorAt(context, 0);
    if (shape !== undefined) resolveAxes(varianceAxes(context), shape.length);
    return [tensor(dtype, shape)];
  },
  axes(context) {
    const axes = resolveAxes(varianceAxes(context), tensorAt(context, 0).shape?.length ?? 4);
    passBesideTrue(context, (axis) => !axes.has(axis), "normalizes over it");
  },
  // Rows of one number are divided by their deviation: there is no epsilon that runtimes agree on.
  lanes: () => unknownLane,
  work(context) {
    const { shape } = tensorAt(context, 0);
    if (shape === undefined) return undefined;
    const axes = resolveAxes(varianceAxes(context), shape.length);
    return rowTraffic(context, "normalization", ...rowsAndColumns(shape, axes));
  },
});

function varianceAxes(context: OpContext): readonly number[] {
  return context.ints("axes") ?? [0, 2, 3];
}

/** Divides by a norm over neighbouring channels. */
export const localResponseNormalization = defineOp({
  domain: "",
  type: "LRN",
  traits: {
    elements: "computed",
    half: half(1, 13, { risk: { kind: "sum", of: "squares", why: "sums squares" } }),
    layout: "channels",
    turnsToNhwc: true,
    sameSince: 7,
  },
  infer(context) {
    const { dtype, shape } = tensorAt(context, 0);
    const size = context.int("size");
    if (size !== undefined && size < 1) throw new ShapeError(textOf`size is ${size}, expected at least 1`);
    return [tensor(dtype, shape)];
  },
  axes: (context) => passAxes(context, (axis) => axis !== 1, "normalizes over neighbours in it"),
  // Neighbours that are all zero leave the bias alone as a divisor.
  lanes: (context) => (isDivisor(context, context.float("bias") ?? 1) ? finiteLanes(context) : unknownLane),
  traffic: "pool",
});
