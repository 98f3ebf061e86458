/** @file Convolutions with activations fused in, and with channels last. */
import type { OpDefinition } from "../op.ts";
import { convOp } from "../product/conv.ts";
import { convTransposeOp } from "../product/conv-transpose.ts";
import { qLinearConvOp } from "../quantization/qlinear-conv.ts";
import { internalNhwc, microsoft } from "./domain.ts";

export const convOps: readonly OpDefinition[] = [
  // A residual of the output's shape may come fourth.
  convOp({ domain: microsoft, type: "FusedConv", biasAt: 2 }),
  // W [M, kH, kW, C/group]: the one form with its weights turned as well.
  convOp({ domain: microsoft, type: "NhwcConv", biasAt: 2, layout: "nhwc", weightChannels: "last" }),
  convOp({ domain: microsoft, type: "NhwcFusedConv", biasAt: 2, layout: "nhwc" }),
  convOp({ domain: internalNhwc, type: "Conv", biasAt: 2, layout: "nhwc" }),
  convTransposeOp(internalNhwc, "nhwc"),
  qLinearConvOp(internalNhwc, () => "nhwc"),
  qLinearConvOp(microsoft, (context) => ((context.int("channels_last") ?? 0) !== 0 ? "nhwc" : "nchw")),
];
