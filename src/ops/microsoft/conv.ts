/** @file Convolutions with activations fused in, and with channels last. */
import type { OpDefinition } from "../op.ts";
import { convOp } from "../product/conv.ts";
import { convTransposeOp } from "../product/conv-transpose.ts";
import { qLinearConvOp } from "../quantization/qlinear-conv.ts";
import { computed, computes, half } from "../traits.ts";
import { internalNhwc, microsoft } from "./domain.ts";

const channelsLast = { biasAt: 2, layout: "nhwc", isPlain: true } as const;

export const convOps: readonly OpDefinition[] = [
  // A residual of the output's shape may come fourth.
  convOp({
    domain: microsoft,
    type: "FusedConv",
    traits: computes(half(1, undefined)),
    biasAt: 2,
    residualAt: 3,
    isPlain: true,
  }),
  // W [M, kH, kW, C/group]: the one form with its weights turned as well.
  convOp({
    ...channelsLast,
    domain: microsoft,
    type: "NhwcConv",
    traits: computes(half(1, undefined)),
    weightChannels: "last",
  }),
  convOp({
    ...channelsLast,
    domain: microsoft,
    type: "NhwcFusedConv",
    traits: computes(half(1, undefined)),
    residualAt: 3,
  }),
  convOp({ ...channelsLast, domain: internalNhwc, type: "Conv", traits: computes(half(1, undefined)) }),
  convTransposeOp(internalNhwc, "nhwc", computed),
  qLinearConvOp(internalNhwc, computed, () => "nhwc"),
  qLinearConvOp(microsoft, computed, (context) =>
    (context.int("channels_last") ?? 0) !== 0 ? "nhwc" : "nchw",
  ),
];
