/**
 * @file CausalConvWithState: a depthwise convolution of [B,C,L] that sees only the past (ai.onnx 27, com.microsoft).
 *
 * W [C,1,k]; the last (k − 1) · dilation positions travel from call to call as a state [B,C,(k − 1) · dilation].
 * com.microsoft adds dilation, channels last ([B,L,…], W as before), further spatial axes in front of the causal
 * one, and a window of states in front of the batch.
 */
import { type Dim, mulDims, product, type Shape, subDims, unknownDim } from "../../ir/dim.ts";
import { defineOp, type OpContext, type OpDefinition } from "../op.ts";
import { tensor, tensorAt } from "../shape.ts";
import { computes, half, type Traits } from "../traits.ts";
import type { ConvWork } from "../work.ts";
import { dimAt, multiplyType, requireRank, sharedOr, sharedType } from "./operands.ts";

export function causalConvOp(domain: string, traits: Traits): OpDefinition {
  return defineOp({
    domain,
    type: "CausalConvWithState",
    traits,
    product: true,
    infer(context) {
      const dtype = operandType(context);
      return [tensor(dtype, tensorAt(context, 0).shape), tensor(dtype, stateShape(context, formOf(context)))];
    },
    work: causalConvWork,
  });
}

export const causalConvWithState = causalConvOp("", computes(half(27, 27)));

interface Form {
  readonly spatialRank: number;
  readonly channelsLast: boolean;
  readonly dilation: number;
  readonly slots: number;
}

function formOf(context: OpContext): Form {
  const form = {
    spatialRank: context.int("ndim") ?? 1,
    channelsLast: (context.int("channels_last") ?? 0) !== 0,
    dilation: context.int("dilation") ?? 1,
    slots: context.int("state_window") ?? 0,
  };
  if (!form.channelsLast) requireRank(tensorAt(context, 0), [form.spatialRank + 2], "input");
  requireRank(tensorAt(context, 1), [form.spatialRank + 2], "weight");
  return form;
}

function operandType(context: OpContext) {
  return sharedType("input and weight", tensorAt(context, 0), tensorAt(context, 1));
}

/** The input with its causal axis as long as the state; not described for more than one spatial axis. */
function stateShape(context: OpContext, form: Form): Shape | undefined {
  const input = tensorAt(context, 0).shape;
  const taps = dimAt(tensorAt(context, 1).shape, -1);
  if (form.spatialRank !== 1) return undefined;
  const length = taps === undefined ? unknownDim() : mulDims(subDims(taps, 1), form.dilation);
  const [batch = unknownDim()] = input ?? [];
  const slots = form.slots > 0 ? [form.slots] : [];
  if (!form.channelsLast) return [...slots, batch, channelsOf(context, form), length];
  return input === undefined ? undefined : [...slots, batch, length, ...input.slice(2)];
}

function channelsOf(context: OpContext, { channelsLast }: Form): Dim {
  const input = tensorAt(context, 0).shape;
  const ofInput = channelsLast ? input && product(input.slice(2)) : dimAt(input, 1);
  return sharedOr("channels of input and weight", ofInput, dimAt(tensorAt(context, 1).shape, 0));
}

function causalConvWork(context: OpContext): readonly ConvWork[] | undefined {
  const dtype = multiplyType(operandType(context));
  const input = tensorAt(context, 0).shape;
  const weight = tensorAt(context, 1).shape;
  if (dtype === undefined || input === undefined || weight === undefined) return undefined;
  const form = formOf(context);
  const channels = channelsOf(context, form);
  const spatial = form.channelsLast ? input.slice(1, 2) : input.slice(2);
  const ones = spatial.map(() => 1);
  return [
    {
      kind: "conv",
      batch: sharedOr("batch", input[0]),
      channels,
      filters: channels,
      groups: channels,
      input: spatial,
      output: spatial,
      kernel: weight.slice(2),
      strides: ones,
      dilations: ones.with(-1, form.dilation),
      layout: form.channelsLast ? "nhwc" : "nchw",
      transposed: false,
      dtype,
    },
  ];
}
