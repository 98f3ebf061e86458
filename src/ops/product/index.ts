/** @file Matrix products, convolutions, recurrences and attention of ai.onnx. */
import type { OpDefinition } from "../op.ts";
import { attention } from "./attention.ts";
import { causalConvWithState } from "./causal-conv.ts";
import { conv, convInteger, deformConv } from "./conv.ts";
import { convTranspose } from "./conv-transpose.ts";
import { einsum } from "./einsum.ts";
import { flexAttention } from "./flex-attention.ts";
import { gemm } from "./gemm.ts";
import { linearAttention } from "./linear-attention.ts";
import { matMul, matMulInteger } from "./matmul.ts";
import { gru, lstm, rnn } from "./recurrent.ts";
import { rotaryEmbedding } from "./rotary-embedding.ts";

export const productOps: readonly OpDefinition[] = [
  conv,
  convInteger,
  convTranspose,
  deformConv,
  gemm,
  matMul,
  matMulInteger,
  einsum,
  lstm,
  gru,
  rnn,
  attention,
  flexAttention,
  linearAttention,
  causalConvWithState,
  rotaryEmbedding,
];
