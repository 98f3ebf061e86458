/** @file Operators outside ai.onnx that ONNX Runtime's optimizer, its tools and its exporters write. */
import { resize } from "../movement/resize.ts";
import type { OpDefinition } from "../op.ts";
import { causalConvOp } from "../product/causal-conv.ts";
import { linearAttentionOp } from "../product/linear-attention.ts";
import { recurrentOp } from "../product/recurrent.ts";
import { computed } from "../traits.ts";
import { convOps } from "./conv.ts";
import { internalNhwc, microsoft } from "./domain.ts";
import { groupQueryAttention } from "./group-query-attention.ts";
import { matMulOps } from "./matmul.ts";
import { moeOps } from "./moe.ts";
import { multiHeadAttentionOps } from "./multi-head-attention.ts";
import { normalizationOps } from "./normalization.ts";
import { poolOps } from "./pooling.ts";
import { quantizedOps } from "./quantized.ts";
import { selfAttentionOps } from "./self-attention.ts";
import { alikeOps } from "./shaped-like-input.ts";
import { tensorOps } from "./tensors.ts";
import { unmeasuredOps } from "./unmeasured.ts";
import { weightOnlyOps } from "./weight-only.ts";

export const microsoftOps: readonly OpDefinition[] = [
  ...convOps,
  ...matMulOps,
  ...weightOnlyOps,
  ...moeOps,
  ...selfAttentionOps,
  ...multiHeadAttentionOps,
  groupQueryAttention,
  linearAttentionOp(microsoft, computed),
  causalConvOp(microsoft, computed),
  // Weights are stored [directions, input, gates · hidden], and multiplied as codes.
  recurrentOp({
    domain: microsoft,
    type: "DynamicQuantizeLSTM",
    traits: computed,
    gates: 4,
    states: 2,
    gatesLast: true,
    computeType: "int8",
    codes: {
      activation: "uint8",
      weights: [
        { codes: 1, scale: 8, zero: 9 },
        { codes: 2, scale: 10, zero: 11 },
      ],
    },
  }),
  ...normalizationOps,
  ...poolOps,
  // Its sizes and scales are in the order of the axes, whatever these are.
  { ...resize, domain: internalNhwc, traits: computed },
  ...quantizedOps,
  ...alikeOps,
  ...tensorOps,
  ...unmeasuredOps,
];
