/** @file Shapes and types of com.microsoft operators, against what ONNX Runtime gives on the CPU. */
import { describe, expect, it } from "vitest";
import { compare, constant, input, type OracleNode } from "./oracle.ts";

const microsoft = "com.microsoft";
const f32 = (...dims: number[]) => input("float32", dims);
const u8 = (...dims: number[]) => input("uint8", dims);
const i8 = (...dims: number[]) => input("int8", dims);
const scale = constant("float32", [], [1]);
const zeroU8 = constant("uint8", [], [0]);
const zeroI8 = constant("int8", [], [0]);
const ids = (dims: number[], data?: number[]) => input("int32", dims, data);

type Case = [name: string, node: Omit<OracleNode, "domain"> & { domain?: string }];

const elementwise: Case[] = [
  ["Gelu", { type: "Gelu", inputs: [f32(2, 3)] }],
  ["BiasGelu", { type: "BiasGelu", inputs: [f32(2, 3), f32(3)] }],
  ["FastGelu", { type: "FastGelu", inputs: [f32(2, 3), f32(3)] }],
  ["QuickGelu", { type: "QuickGelu", inputs: [f32(2, 3)] }],
  ["Inverse", { type: "Inverse", inputs: [input("float32", [2, 2], [1, 0, 0, 1])] }],
  ["Trilu", { type: "Trilu", inputs: [f32(2, 3, 4)] }],
  [
    "NGramRepeatBlock",
    {
      type: "NGramRepeatBlock",
      inputs: [input("int64", [2, 5], [1, 2, 3, 4, 5, 1, 2, 3, 4, 5]), f32(2, 9)],
      attributes: { ngram_size: 2 },
    },
  ],
  [
    "RotaryEmbedding",
    { type: "RotaryEmbedding", inputs: [f32(1, 2, 8), input("int64", [1], [0]), f32(4, 4), f32(4, 4)] },
  ],
  ["QLinearSigmoid", { type: "QLinearSigmoid", inputs: [u8(2, 3), scale, zeroU8, scale, zeroU8] }],
  ["QLinearLeakyRelu", { type: "QLinearLeakyRelu", inputs: [i8(2, 3), scale, zeroI8, scale, zeroI8] }],
  [
    "QLinearSoftmax",
    {
      type: "QLinearSoftmax",
      inputs: [u8(2, 3), scale, zeroU8, scale, zeroU8],
      attributes: { opset: 13, axis: -1 },
    },
  ],
  [
    "QLinearAdd",
    { type: "QLinearAdd", inputs: [u8(2, 1, 3), scale, zeroU8, u8(4, 1), scale, zeroU8, scale, zeroU8] },
  ],
  [
    "QLinearMul",
    { type: "QLinearMul", inputs: [i8(2, 3), scale, zeroI8, i8(3), scale, zeroI8, scale, zeroI8] },
  ],
  [
    "QLinearWhere",
    {
      type: "QLinearWhere",
      inputs: [input("bool", [2, 1]), u8(1, 3), scale, zeroU8, u8(2, 3), scale, zeroU8, scale, zeroU8],
    },
  ],
  [
    "QLinearConcat",
    {
      type: "QLinearConcat",
      inputs: [scale, zeroU8, u8(2, 3), scale, zeroU8, u8(2, 5), scale, zeroU8],
      attributes: { axis: 1 },
    },
  ],
  [
    "QLinearAveragePool",
    {
      type: "QLinearAveragePool",
      inputs: [u8(1, 4, 7, 7), scale, zeroU8, scale, zeroU8],
      attributes: { kernel_shape: [3, 3], strides: [2, 2], ceil_mode: 1 },
    },
  ],
  [
    "QLinearAveragePool, channels last",
    {
      type: "QLinearAveragePool",
      inputs: [u8(1, 7, 7, 4), scale, zeroU8, scale, zeroU8],
      attributes: { kernel_shape: [3, 3], channels_last: 1, pads: [1, 1, 1, 1] },
    },
  ],
  [
    "QLinearGlobalAveragePool",
    {
      type: "QLinearGlobalAveragePool",
      inputs: [u8(1, 7, 5, 4), scale, zeroU8, scale, zeroU8],
      attributes: { channels_last: 1 },
    },
  ],
  [
    "NhwcMaxPool",
    { type: "NhwcMaxPool", inputs: [u8(1, 7, 7, 4)], attributes: { kernel_shape: [3, 3], strides: [2, 2] } },
  ],
  ["QuantizeLinear", { type: "QuantizeLinear", inputs: [f32(2, 3), scale, zeroI8] }],
  ["DequantizeLinear", { type: "DequantizeLinear", inputs: [i8(2, 3), scale, zeroI8] }],
];

const normalizations: Case[] = [
  [
    "SkipLayerNormalization",
    {
      type: "SkipLayerNormalization",
      inputs: [f32(2, 3, 8), f32(2, 3, 8), f32(8), f32(8), f32(8)],
      outputs: ["y", "", "", "sum"],
    },
  ],
  [
    "SkipSimplifiedLayerNormalization",
    {
      type: "SkipSimplifiedLayerNormalization",
      inputs: [f32(2, 3, 8), f32(2, 3, 8), f32(8)],
      outputs: ["y", "", "", "sum"],
    },
  ],
  [
    "SimplifiedLayerNormalization",
    {
      type: "SimplifiedLayerNormalization",
      domain: "",
      inputs: [f32(2, 3, 8), f32(8)],
      outputs: ["y", "deviation"],
    },
  ],
  [
    "EmbedLayerNormalization",
    {
      type: "EmbedLayerNormalization",
      inputs: [ids([2, 5]), ids([2, 5]), f32(9, 8), f32(7, 8), f32(2, 8), f32(8), f32(8), ids([2, 5])],
      outputs: ["y", "mask", "sum"],
    },
  ],
];

const products: Case[] = [
  [
    "FusedConv",
    {
      type: "FusedConv",
      inputs: [f32(1, 4, 8, 8), f32(6, 2, 3, 3), f32(6)],
      attributes: { group: 2, strides: [2, 2], activation: "Relu" },
    },
  ],
  [
    "QLinearConv, channels last",
    {
      type: "QLinearConv",
      inputs: [u8(1, 8, 8, 4), scale, zeroU8, constant("int8", [6, 4, 3, 3]), scale, zeroI8, scale, zeroU8],
      attributes: { channels_last: 1, pads: [1, 1, 1, 1] },
    },
  ],
  [
    "FusedGemm",
    {
      type: "FusedGemm",
      inputs: [f32(3, 4), f32(5, 4), f32(5)],
      attributes: { transB: 1, activation: "Relu" },
    },
  ],
  [
    "FusedMatMul",
    {
      type: "FusedMatMul",
      inputs: [f32(2, 4, 3), f32(2, 5, 4)],
      attributes: { transA: 1, transB: 1, alpha: { float: 2 } },
    },
  ],
  [
    "FusedMatMul, transBatchA",
    { type: "FusedMatMul", inputs: [f32(3, 2, 4), f32(2, 4, 5)], attributes: { transBatchA: 1 } },
  ],
  [
    "FusedMatMul, transBatchA of rank 4",
    { type: "FusedMatMul", inputs: [f32(3, 2, 6, 4), f32(2, 6, 4, 5)], attributes: { transBatchA: 1 } },
  ],
  [
    "FusedMatMul, transBatchA and transA",
    { type: "FusedMatMul", inputs: [f32(4, 2, 3), f32(2, 4, 5)], attributes: { transBatchA: 1, transA: 1 } },
  ],
  [
    "FusedMatMul, transBatchB and transB",
    { type: "FusedMatMul", inputs: [f32(2, 3, 4), f32(5, 2, 4)], attributes: { transBatchB: 1, transB: 1 } },
  ],
  [
    "TransposeMatMul",
    { type: "TransposeMatMul", inputs: [f32(2, 4, 3), f32(2, 4, 5)], attributes: { transA: 1 } },
  ],
  ["MatMulInteger16", { type: "MatMulInteger16", inputs: [input("int16", [3, 4]), input("int16", [4, 5])] }],
  ["MatMulIntegerToFloat", { type: "MatMulIntegerToFloat", inputs: [u8(2, 3, 4), u8(4, 5), scale, scale] }],
  ["DynamicQuantizeMatMul", { type: "DynamicQuantizeMatMul", inputs: [f32(2, 3, 4), u8(4, 5), scale] }],
  [
    "QGemm",
    {
      type: "QGemm",
      inputs: [u8(3, 4), scale, zeroU8, u8(5, 4), scale, zeroU8, undefined, scale, zeroU8],
      attributes: { transB: 1 },
    },
  ],
  ["QGemm to float", { type: "QGemm", inputs: [u8(3, 4), scale, zeroU8, u8(4, 5), scale, zeroU8] }],
  [
    "MatMulNBits",
    {
      type: "MatMulNBits",
      inputs: [f32(2, 3, 32), constant("uint8", [16, 1, 16]), constant("float32", [16])],
      attributes: { K: 32, N: 16, bits: 4, block_size: 32 },
    },
  ],
  [
    "MatMulBnb4",
    {
      type: "MatMulBnb4",
      inputs: [f32(2, 3, 32), constant("uint8", [256]), constant("float32", [16])],
      attributes: { K: 32, N: 16, quant_type: 1, block_size: 32 },
    },
  ],
  [
    "MoE",
    {
      type: "MoE",
      inputs: [f32(2, 3, 8), f32(6, 4), f32(4, 16, 8), f32(4, 16), f32(4, 8, 16), f32(4, 8)],
      attributes: { k: 2, activation_type: "relu" },
    },
  ],
  [
    "DynamicQuantizeLSTM",
    {
      type: "DynamicQuantizeLSTM",
      inputs: [
        f32(7, 2, 10),
        constant("int8", [1, 10, 80]),
        constant("int8", [1, 20, 80]),
        undefined,
        undefined,
        undefined,
        undefined,
        undefined,
        constant("float32", [1], [1]),
        constant("int8", [1]),
        constant("float32", [1], [1]),
        constant("int8", [1]),
      ],
      attributes: { hidden_size: 20 },
      outputs: ["y", "h", "c"],
    },
  ],
  [
    "CausalConvWithState",
    { type: "CausalConvWithState", inputs: [f32(2, 4, 9), f32(4, 1, 3), f32(4)], outputs: ["y", "state"] },
  ],
  [
    "LinearAttention",
    {
      type: "LinearAttention",
      inputs: [f32(2, 5, 32), f32(2, 5, 16), f32(2, 5, 24), f32(2, 2, 8, 12)],
      attributes: { q_num_heads: 4, kv_num_heads: 2, update_rule: "linear" },
      outputs: ["y", "state"],
    },
  ],
];

const qkv = [f32(2, 5, 16), f32(2, 5, 16), f32(2, 5, 16)];
const attentions: Case[] = [
  [
    "Attention",
    { type: "Attention", inputs: [f32(2, 5, 12), f32(12, 48), f32(48)], attributes: { num_heads: 4 } },
  ],
  [
    "Attention, narrower values",
    {
      type: "Attention",
      inputs: [f32(2, 5, 12), f32(12, 40), f32(40)],
      attributes: { num_heads: 4, qkv_hidden_sizes: [16, 16, 8] },
    },
  ],
  [
    "Attention with past",
    {
      type: "Attention",
      inputs: [f32(2, 5, 12), f32(12, 48), f32(48), undefined, f32(2, 2, 4, 3, 4)],
      attributes: { num_heads: 4, unidirectional: 1 },
      outputs: ["y", "present"],
    },
  ],
  [
    "QAttention",
    {
      type: "QAttention",
      inputs: [u8(2, 5, 12), u8(12, 48), f32(48), scale, scale, undefined, zeroU8, zeroU8],
      attributes: { num_heads: 4 },
    },
  ],
  [
    "QAttention with past",
    {
      type: "QAttention",
      inputs: [
        u8(2, 5, 12),
        u8(12, 48),
        f32(48),
        scale,
        scale,
        undefined,
        zeroU8,
        zeroU8,
        f32(2, 2, 4, 3, 4),
      ],
      attributes: { num_heads: 4, unidirectional: 1 },
      outputs: ["y", "present"],
    },
  ],
  [
    "MultiHeadAttention",
    { type: "MultiHeadAttention", inputs: qkv, attributes: { num_heads: 4 }, outputs: ["y", "k", "v"] },
  ],
  [
    "MultiHeadAttention, cross",
    {
      type: "MultiHeadAttention",
      inputs: [f32(2, 5, 16), f32(2, 7, 16), f32(2, 7, 8)],
      attributes: { num_heads: 4 },
    },
  ],
  [
    "MultiHeadAttention, caches as operands",
    {
      type: "MultiHeadAttention",
      inputs: [f32(2, 5, 16), f32(2, 4, 7, 4), f32(2, 4, 7, 4)],
      attributes: { num_heads: 4 },
    },
  ],
  [
    "MultiHeadAttention with past",
    {
      type: "MultiHeadAttention",
      inputs: [...qkv, undefined, undefined, undefined, f32(2, 4, 3, 4), f32(2, 4, 3, 4)],
      attributes: { num_heads: 4 },
      outputs: ["y", "k", "v"],
    },
  ],
  [
    "DecoderMaskedMultiHeadAttention",
    {
      type: "DecoderMaskedMultiHeadAttention",
      inputs: [
        f32(2, 1, 16),
        f32(2, 1, 16),
        f32(2, 1, 16),
        undefined,
        undefined,
        f32(2, 4, 9, 4),
        f32(2, 4, 9, 4),
        ids([1], [3]),
      ],
      attributes: { num_heads: 4, past_present_share_buffer: 1 },
      outputs: ["y", "k", "v"],
    },
  ],
  [
    "GroupQueryAttention",
    {
      type: "GroupQueryAttention",
      inputs: [
        f32(2, 5, 64),
        f32(2, 5, 32),
        f32(2, 5, 32),
        f32(2, 2, 0, 16),
        f32(2, 2, 0, 16),
        ids([2], [4, 4]),
        constant("int32", [], [5]),
      ],
      attributes: { num_heads: 4, kv_num_heads: 2 },
      outputs: ["y", "k", "v"],
    },
  ],
  [
    "GroupQueryAttention, packed, without past",
    {
      type: "GroupQueryAttention",
      inputs: [
        f32(2, 5, 128),
        undefined,
        undefined,
        undefined,
        undefined,
        ids([2], [4, 4]),
        constant("int32", [], [5]),
      ],
      attributes: { num_heads: 4, kv_num_heads: 2 },
      outputs: ["y", "k", "v"],
    },
  ],
  [
    "GroupQueryAttention, one more token",
    {
      type: "GroupQueryAttention",
      inputs: [
        f32(2, 1, 64),
        f32(2, 1, 32),
        f32(2, 1, 32),
        f32(2, 2, 6, 16),
        f32(2, 2, 6, 16),
        ids([2], [6, 6]),
        constant("int32", [], [7]),
      ],
      attributes: { num_heads: 4, kv_num_heads: 2 },
      outputs: ["y", "k", "v"],
    },
  ],
  [
    "GroupQueryAttention in a long buffer",
    {
      type: "GroupQueryAttention",
      inputs: [
        f32(2, 1, 64),
        f32(2, 1, 32),
        f32(2, 1, 32),
        f32(2, 2, 20, 16),
        f32(2, 2, 20, 16),
        ids([2], [6, 6]),
        constant("int32", [], [7]),
      ],
      attributes: { num_heads: 4, kv_num_heads: 2 },
      outputs: ["y", "k", "v"],
    },
  ],
];

const tensors: Case[] = [
  ["ExpandDims", { type: "ExpandDims", inputs: [f32(2, 3), constant("int32", [], [-1])] }],
  ["CDist", { type: "CDist", inputs: [f32(3, 4), f32(5, 4)], attributes: { metric: "euclidean" } }],
  ["GridSample", { type: "GridSample", inputs: [f32(1, 3, 4, 5), f32(1, 6, 7, 2)] }],
  ["Pad", { type: "Pad", inputs: [f32(2, 3), constant("int64", [4], [0, 1, 2, 3])] }],
  [
    "CropAndResize",
    { type: "CropAndResize", inputs: [f32(1, 3, 8, 8), f32(5, 4), ids([5]), constant("int32", [2], [4, 6])] },
  ],
  [
    "GatherBlockQuantized",
    {
      type: "GatherBlockQuantized",
      inputs: [constant("uint8", [9, 16]), input("int64", [2, 3]), constant("float32", [9, 2])],
      attributes: { bits: 4, block_size: 16, gather_axis: 0, quantize_axis: 1 },
    },
  ],
  ["UnfoldTensor", { type: "UnfoldTensor", inputs: [f32(2, 9)], attributes: { dim: 1, size: 3, step: 2 } }],
];

describe.each([
  ["lane by lane", elementwise],
  ["normalizations", normalizations],
  ["products", products],
  ["attention", attentions],
  ["tensors", tensors],
])("%s", (_family, cases) => {
  it.each(cases)("%s", async (_name, node) => {
    const { inferred, actual } = await compare({ domain: microsoft, ...node });
    expect(inferred).toEqual(actual);
  });
});
