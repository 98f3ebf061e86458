/** @file Softmax, LogSoftmax and Hardmax: rows reduced and rescaled. */
import { passBesideTrue } from "../axes.ts";
import { bounded, finiteLanes } from "../lanes.ts";
import { defineOp, type OpDefinition, type WorkContext } from "../op.ts";
import { normalizeAxis, tensor, tensorAt } from "../shape.ts";
import { rowTraffic } from "../traffic.ts";
import { computes, half } from "../traits.ts";
import { rowsAndColumns } from "./axes.ts";

export const softmaxOps: readonly OpDefinition[] = ["Softmax", "LogSoftmax", "Hardmax"].map((type) =>
  defineOp({
    domain: "",
    type,
    // ONNX Runtime's HandleSoftHardMax; before, the axis cuts a matrix, which few orders keep.
    traits: computes(half(1, 13), { sameSince: 13, crossedSince: 13 }),
    infer(context) {
      const { dtype, shape } = tensorAt(context, 0);
      if (shape !== undefined) reducedAxes(context, shape.length);
      return [tensor(dtype, shape)];
    },
    axes(context) {
      const reduced = reducedAxes(context, tensorAt(context, 0).shape?.length ?? 1);
      passBesideTrue(context, (axis) => !reduced.has(axis), "normalizes over it");
    },
    pass: "softmax",
    lanes: type === "LogSoftmax" ? finiteLanes : (context) => bounded(context, finiteLanes(context)),
    work(context) {
      const { shape } = tensorAt(context, 0);
      if (shape === undefined) return undefined;
      return rowTraffic(
        context,
        "normalization",
        ...rowsAndColumns(shape, reducedAxes(context, shape.length)),
      );
    },
  }),
);

/** One axis since opset 13; before, the input is a matrix whose columns begin at `axis`. */
function reducedAxes(context: Pick<WorkContext, "opset" | "int">, rank: number): ReadonlySet<number> {
  if (context.opset >= 13) return new Set([normalizeAxis(context.int("axis") ?? -1, rank)]);
  const named = context.int("axis") ?? 1;
  // The matrix may have a single column: `axis` = rank is allowed.
  const axis = named === rank ? rank : normalizeAxis(named, rank);
  return new Set(Array.from({ length: rank - axis }, (_, at) => axis + at));
}
