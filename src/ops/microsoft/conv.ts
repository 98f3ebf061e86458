/** @file Convolutions with activations fused in, and with channels last. */
import type { OpDefinition } from "../op.ts";
import { convOp } from "../product/conv.ts";
import { convTransposeOp } from "../product/conv-transpose.ts";
import { qLinearConvOp } from "../quantization/qlinear-conv.ts";
import { internalNhwc, microsoft } from "./domain.ts";

const channelsLast = { biasAt: 2, layout: "nhwc", isPlain: true } as const;

export const convOps: readonly OpDefinition[] = [
  // A residual of the output's shape may come fourth.
  convOp({ domain: microsoft, type: "FusedConv", biasAt: 2, residualAt: 3, isPlain: true }),
  // W [M, kH, kW, C/group]: the one form with its weights turned as well.
  convOp({ ...channelsLast, domain: microsoft, type: "NhwcConv", weightChannels: "last" }),
  convOp({ ...channelsLast, domain: microsoft, type: "NhwcFusedConv", residualAt: 3 }),
  convOp({ ...channelsLast, domain: internalNhwc, type: "Conv" }),
  convTransposeOp(internalNhwc, "nhwc"),
  qLinearConvOp(internalNhwc, () => "nhwc"),
  qLinearConvOp(microsoft, (context) => ((context.int("channels_last") ?? 0) !== 0 ? "nhwc" : "nchw")),
];
