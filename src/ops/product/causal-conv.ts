/**
 * @file CausalConvWithState (ai.onnx 27): a depthwise convolution of [B,C,L] that sees only the past.
 *
 * W [C,1,k]; the last k − 1 positions travel from call to call as a state [B,C,k−1].
 */
import { subDims, unknownDim } from "../../ir/dim.ts";
import { defineOp, type OpContext } from "../op.ts";
import { tensor, tensorAt } from "../shape.ts";
import { dimAt, multiplyType, requireRank, sharedOr, sharedType } from "./operands.ts";

export const causalConvWithState = defineOp({
  domain: "",
  type: "CausalConvWithState",
  product: true,
  infer(context) {
    const { batch, channels, length, taps } = sizesOf(context);
    const dtype = operandType(context);
    return [tensor(dtype, [batch, channels, length]), tensor(dtype, [batch, channels, subDims(taps, 1)])];
  },
  work(context) {
    const dtype = multiplyType(operandType(context));
    if (dtype === undefined) return undefined;
    const { batch, channels, length, taps } = sizesOf(context);
    return [
      {
        kind: "conv",
        batch,
        channels,
        filters: channels,
        groups: channels,
        input: [length],
        output: [length],
        kernel: [taps],
        strides: [1],
        dilations: [1],
        layout: "nchw",
        transposed: false,
        dtype,
      },
    ];
  },
});

function operandType(context: OpContext) {
  return sharedType("input and weight", tensorAt(context, 0), tensorAt(context, 1));
}

function sizesOf(context: OpContext) {
  const [x, w] = [tensorAt(context, 0), tensorAt(context, 1)];
  const state = tensorAt(context, 3);
  requireRank(x, [3], "input");
  requireRank(w, [3], "weight");
  requireRank(state, [3], "past state");
  return {
    batch: sharedOr("batch of input and past state", dimAt(x.shape, 0), dimAt(state.shape, 0)),
    channels: sharedOr("channels", dimAt(x.shape, 1), dimAt(w.shape, 0), dimAt(state.shape, 1)),
    length: dimAt(x.shape, 2) ?? unknownDim(),
    taps: dimAt(w.shape, 2) ?? unknownDim(),
  };
}
