/** @file BatchNormalization. */
import { isUnknown, type Shape } from "../../ir/dim.ts";
import { defineOp, type OpContext, type TensorFact } from "../op.ts";
import { tensor, tensorAt, unify } from "../shape.ts";

/**
 * x [N, C, …]; scale, bias, mean and variance [C]. In inference a scale and a shift per channel.
 * Training outputs: running mean and variance, and before opset 14 the saved mean and variance.
 */
export const batchNormalization = defineOp({
  domain: "",
  type: "BatchNormalization",
  infer(context) {
    const { dtype, shape } = tensorAt(context, 0);
    const statistics = [statistic(context, 3), statistic(context, 4)];
    return [
      tensor(dtype, channelsOf(context, shape)),
      ...statistics,
      ...(context.opset < 14 ? statistics : []),
    ];
  },
  traffic: "elementwise",
});

function statistic(context: OpContext, index: number): TensorFact {
  const { dtype, shape } = tensorAt(context, index);
  return tensor(dtype ?? tensorAt(context, 0).dtype, shape);
}

/** The parameters tell the channels where the input does not. */
function channelsOf(context: OpContext, shape: Shape | undefined): Shape | undefined {
  // spatial = 0, allowed before opset 9, gives every position its own parameters.
  if (shape === undefined || context.int("spatial") === 0) return shape;
  let channels = shape[1];
  for (const [index, name] of ["", "scale", "bias", "mean", "variance"].entries()) {
    const size = name === "" ? undefined : tensorAt(context, index).shape?.[0];
    if (channels === undefined || size === undefined || isUnknown(size)) continue;
    channels = unify(channels, size, `channels of the input and of ${name}`);
  }
  return shape.map((size, axis) => (axis === 1 ? (channels ?? size) : size));
}
