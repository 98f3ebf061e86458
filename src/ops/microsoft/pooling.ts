/** @file Pools with channels last, and over quantized codes. */

import { type Dim, type Shape, unknownDim } from "../../ir/dim.ts";
import { textOf } from "../../ir/message.ts";
import { defineOp, type OpContext, type OpDefinition, ShapeError } from "../op.ts";
import { poolAxes, poolLane } from "../pooling/axes.ts";
import { channelsSecond } from "../product/conv-geometry.ts";
import { tensor, tensorAt } from "../shape.ts";
import { computed } from "../traits.ts";
import { resolveWindow, windowOutputs } from "../window.ts";
import { internalNhwc, microsoft } from "./domain.ts";

type LayoutOf = (context: OpContext) => "nchw" | "nhwc";

const nhwc: LayoutOf = () => "nhwc";
const nchw: LayoutOf = () => "nchw";
const stated: LayoutOf = (context) => ((context.int("channels_last") ?? 0) !== 0 ? "nhwc" : "nchw");

/** Pools of codes have a zero point, which padded lanes would have to hold. */
function channelsLast(domain: string): Pick<OpDefinition, "axes" | "lanes"> {
  if (domain !== internalNhwc) return {};
  return {
    axes: (context) => poolAxes(context, (tensorAt(context, 0).shape?.length ?? 0) - 1),
    lanes: poolLane,
  };
}

/** One output of the input's type; the attribute kernel_shape is required. */
function pool(domain: string, type: string, layoutOf: LayoutOf): OpDefinition {
  return defineOp({
    domain,
    type,
    traits: computed,
    traffic: "pool",
    infer(context) {
      const { dtype, shape } = tensorAt(context, 0);
      return [tensor(dtype, pooledShape(context, shape, layoutOf(context)))];
    },
    ...channelsLast(domain),
  });
}

function globalPool(domain: string, type: string, layoutOf: LayoutOf): OpDefinition {
  return defineOp({
    domain,
    type,
    traits: computed,
    traffic: "reduction",
    infer(context) {
      const { dtype, shape } = tensorAt(context, 0);
      const ones = (spatial: readonly Dim[]) => spatial.map(() => 1);
      return [tensor(dtype, withSpatial(shape, layoutOf(context), ones))];
    },
    ...channelsLast(domain),
  });
}

function pooledShape(
  context: OpContext,
  shape: Shape | undefined,
  layout: "nchw" | "nhwc",
): Shape | undefined {
  const kernel = context.ints("kernel_shape");
  if (kernel === undefined) throw new ShapeError("the attribute kernel_shape is missing");
  const known = shape ?? Array.from({ length: kernel.length + 2 }, unknownDim);
  const ceilMode = (context.int("ceil_mode") ?? 0) !== 0;
  return withSpatial(known, layout, (spatial) =>
    windowOutputs(resolveWindow(context, spatial.length, kernel), spatial, ceilMode),
  );
}

function withSpatial(
  shape: Shape | undefined,
  layout: "nchw" | "nhwc",
  change: (spatial: readonly Dim[]) => readonly Dim[],
): Shape | undefined {
  if (shape === undefined) return undefined;
  const [batch, channels, ...spatial] = channelsSecond(shape, layout === "nhwc") ?? [];
  if (batch === undefined || channels === undefined || spatial.length === 0) {
    throw new ShapeError(textOf`the input has rank ${shape.length}, expected at least 3`);
  }
  const changed = change(spatial);
  return layout === "nhwc" ? [batch, ...changed, channels] : [batch, channels, ...changed];
}

export const poolOps: readonly OpDefinition[] = [
  pool(microsoft, "NhwcMaxPool", nhwc),
  pool(microsoft, "MaxpoolWithMask", nchw),
  pool(microsoft, "QLinearAveragePool", stated),
  pool(internalNhwc, "MaxPool", nhwc),
  pool(internalNhwc, "AveragePool", nhwc),
  pool(internalNhwc, "LpPool", nhwc),
  pool(internalNhwc, "QLinearAveragePool", nhwc),
  globalPool(microsoft, "QLinearGlobalAveragePool", stated),
  globalPool(internalNhwc, "GlobalAveragePool", nhwc),
  globalPool(internalNhwc, "GlobalMaxPool", nhwc),
  globalPool(internalNhwc, "GlobalLpPool", nhwc),
];
