/** @file Work of com.microsoft operators, contradictions, and shapes of those that only a GPU runs. */
import { describe, expect, it } from "vitest";
import { type Shape, symbol } from "../../src/ir/dim.ts";
import type { DType } from "../../src/ir/dtype.ts";
import { ShapeError, type TensorFact } from "../../src/ops/op.ts";
import { tensor, unknownTensor } from "../../src/ops/shape.ts";
import { type ContextOptions, infer, inferTensor, show, workOf } from "./context.ts";

const domain = "com.microsoft";
const nhwcDomain = "com.ms.internal.nhwc";
const B = symbol("B");
const S = symbol("S");
const P = symbol("P");

function of(dtype: DType, ...shape: Shape): TensorFact {
  return tensor(dtype, shape);
}
const f16 = (...shape: Shape) => of("float16", ...shape);
const scale = of("float32");

/** The fields that matter to a case, of every work. */
function works(options: Omit<ContextOptions, "domain"> & { domain?: string }) {
  return workOf({ domain, ...options });
}
function shapes(options: Omit<ContextOptions, "domain"> & { domain?: string }) {
  return infer({ domain, ...options }).map(show);
}

describe("convolutions with channels last", () => {
  it.each([
    ["NhwcConv", domain, [16, 3, 3, 8]],
    ["NhwcFusedConv", domain, [16, 8, 3, 3]],
    ["Conv", nhwcDomain, [16, 8, 3, 3]],
  ])("%s", (type, inDomain, weights) => {
    const inputs = [f16(B, 14, 15, 8), f16(...weights), f16(16)];
    const options = { domain: inDomain, type, inputs, attributes: { pads: [1, 1, 1, 1], strides: [2, 2] } };
    expect(shapes(options)).toEqual(["float16[B,7,8,16]"]);
    expect(works(options)).toEqual([
      expect.objectContaining({ channels: 8, filters: 16, input: [14, 15], kernel: [3, 3], layout: "nhwc" }),
    ]);
  });
  it("ConvTranspose", () => {
    const inputs = [f16(B, 7, 8, 16), f16(16, 4, 2, 2)];
    const options = { domain: nhwcDomain, type: "ConvTranspose", inputs, attributes: { strides: [2, 2] } };
    expect(shapes(options)).toEqual(["float16[B,14,16,4]"]);
  });
  it("rejects weights in the other layout", () => {
    const inputs = [f16(1, 14, 15, 8), f16(16, 8, 3, 3)];
    expect(() => infer({ domain, type: "NhwcConv", inputs })).toThrow(ShapeError);
  });
  it.each([
    ["MaxPool", [3, 3], "float16[B,6,7,8]"],
    ["GlobalAveragePool", undefined, "float16[B,1,1,8]"],
  ])("pools: %s", (type, kernel, expected) => {
    const attributes: ContextOptions["attributes"] =
      kernel === undefined ? {} : { kernel_shape: kernel, strides: [2, 2] };
    expect(shapes({ domain: nhwcDomain, type, inputs: [f16(B, 14, 15, 8)], attributes })).toEqual([expected]);
  });
});

describe("matrix products", () => {
  it("FusedMatMul says how operands are stored", () => {
    const inputs = [f16(B, 4, S), f16(B, 64, 4)];
    const options = { type: "FusedMatMul", inputs, attributes: { transA: 1, transB: 1 } };
    expect(works(options)).toEqual([
      {
        kind: "gemm",
        batch: B,
        m: S,
        n: 64,
        k: 4,
        transA: true,
        transB: true,
        sharedB: false,
        dtype: "float16",
      },
    ]);
  });
  it("MatMulNBits multiplies in the activation's type", () => {
    const inputs = [f16(B, S, 4096), of("uint8", 11008, 128, 16), f16(11008 * 128)];
    const options = { type: "MatMulNBits", inputs, attributes: { K: 4096, N: 11008, block_size: 32 } };
    expect(shapes(options)).toEqual(["float16[B,S,11008]"]);
    expect(works(options)).toEqual([
      expect.objectContaining({ n: 11008, k: 4096, transB: true, sharedB: true, dtype: "float16" }),
    ]);
    expect(() => infer({ domain, type: "MatMulNBits", inputs, attributes: { K: 4000, N: 8 } })).toThrow(
      "4096",
    );
    expect(() => infer({ domain, type: "MatMulNBits", inputs, attributes: { N: 8 } })).toThrow(
      "K is missing",
    );
  });
  it.each([
    ["MatMulBlockQuantizedFp4Weight", of("uint8", 30, 32)],
    ["MatMulBlockQuantizedFp8Weight", of("float8e4m3fn", 30, 64)],
  ])("%s reads its sizes off the weights", (type, weight) => {
    const options = { type, inputs: [f16(B, 64), weight] };
    expect(shapes(options)).toEqual(["float16[B,30]"]);
    expect(works(options)).toEqual([expect.objectContaining({ n: 30, k: 64 })]);
  });
  it("MatMulFpQ4 reads its sizes off an input", () => {
    const blob = of("uint8", 1024);
    const options = {
      type: "MatMulFpQ4",
      inputs: [of("float32", B, 64), blob, tensor("int64", [2], [64, 30])],
    };
    expect(shapes(options)).toEqual(["float32[B,30]"]);
  });
  it("fused projections give one work each", () => {
    const attributes = { K: 64, Nq: 128, Nkv: 32, block_size: 32 };
    const options = { type: "MatMulNBitsQkv", inputs: [f16(B, S, 64)], attributes, outputCount: 4 };
    expect(shapes(options)).toEqual(["128", "32", "32", "64"].map((n) => `float16[B,S,${n}]`));
    expect(works(options)?.map((work) => work.kind === "gemm" && work.n)).toEqual([128, 32, 32]);
    const mlp = {
      type: "MatMulNBitsMlp",
      inputs: [f16(B, 64)],
      attributes: { K: 64, N: 172 },
      outputCount: 2,
    };
    expect(shapes(mlp)).toEqual(["float16[B,172]", "float16[B,64]"]);
    expect(works(mlp)).toHaveLength(2);
  });
  it("GemmFloat8 keeps A's type for the product", () => {
    const inputs = [of("float8e4m3fn", 16, 32), of("float8e4m3fn", 8, 32)];
    const options = { type: "GemmFloat8", inputs, attributes: { transB: 1, dtype: 10 } };
    expect(shapes(options)).toEqual(["float16[16,8]"]);
    expect(works(options)?.[0]?.dtype).toBe("float8e4m3fn");
  });
  it("integer products are int8", () => {
    const zero = of("uint8");
    const inputs = [of("uint8", S, 4), scale, zero, of("uint8", 5, 4), scale, zero];
    expect(works({ type: "QGemm", inputs, attributes: { transB: 1 } })?.[0]?.dtype).toBe("int8");
    const dynamic = [of("float32", S, 4), of("uint8", 4, 5), scale];
    expect(works({ type: "DynamicQuantizeMatMul", inputs: dynamic })?.[0]?.dtype).toBe("int8");
  });
});

describe("experts", () => {
  const inputs = [f16(2, 3, 8), f16(6, 4), f16(4, 16, 8), undefined, f16(4, 8, 16)];
  it("spread the chosen tokens evenly", () => {
    const attributes = { k: 2 };
    expect(works({ type: "MoE", inputs, attributes })).toEqual([
      expect.objectContaining({ batch: 4, m: 3, n: 16, k: 8, transB: true, sharedB: false }),
      expect.objectContaining({ batch: 4, m: 3, n: 8, k: 16 }),
    ]);
  });
  it("multiply nothing for no tokens", () => {
    const none = [f16(0, 8), ...inputs.slice(1)];
    expect(works({ type: "MoE", inputs: none, attributes: { k: 2 } })).toEqual([]);
  });
  it("are reached by few tokens one each, and halve a fused gate", () => {
    const one = [f16(1, 8), f16(1, 4), f16(4, 32, 8), undefined, f16(4, 8, 16)];
    const attributes = { k: 2, activation_type: "swiglu", swiglu_fusion: 1 };
    expect(works({ type: "MoE", inputs: one, attributes })).toEqual([
      expect.objectContaining({ batch: 2, m: 1, n: 32, k: 8 }),
      expect.objectContaining({ batch: 2, m: 1, n: 8, k: 16 }),
    ]);
  });
});

describe("attention", () => {
  it("Attention is a projection and an attention", () => {
    const inputs = [f16(B, S, 768), f16(768, 2304), f16(2304), of("int32", B, S)];
    const options = { type: "Attention", inputs, attributes: { num_heads: 12, unidirectional: 1 } };
    expect(shapes(options)).toEqual(["float16[B,S,768]", "float16[2,B,12,S,64]"]);
    expect(works(options)).toEqual([
      expect.objectContaining({ kind: "gemm", n: 2304, k: 768, sharedB: true, dtype: "float16" }),
      expect.objectContaining({ kind: "attention", heads: 12, headDim: 64, causal: true, masked: true }),
    ]);
  });
  it("QAttention projects in int8", () => {
    const inputs = [of("uint8", B, S, 768), of("int8", 768, 2304), of("float32", 2304), scale, scale];
    const found = works({ type: "QAttention", inputs, attributes: { num_heads: 12 } });
    expect(found?.map((work) => work.dtype)).toEqual(["int8", "float32"]);
  });
  it("PackedAttention takes tokens without padding", () => {
    const tokens = symbol("tokens");
    const inputs = [
      f16(tokens, 768),
      f16(768, 2304),
      f16(2304),
      of("int32", B, S),
      of("int32", symbol("B1")),
    ];
    const options = { type: "PackedAttention", inputs, attributes: { num_heads: 12 } };
    expect(shapes(options)).toEqual(["float16[tokens,768]"]);
    expect(works(options)).toEqual([
      expect.objectContaining({ kind: "gemm", m: tokens }),
      expect.objectContaining({ kind: "attention", batch: B, queryLength: S, keyLength: S }),
    ]);
  });
  it.each([
    ["packed KV", [f16(B, S, 512), f16(B, P, 8, 2, 64)], "P"],
    ["packed QKV", [f16(B, S, 8, 3, 64)], "S"],
    [
      "a past",
      [
        f16(B, S, 512),
        f16(B, S, 512),
        f16(B, S, 512),
        undefined,
        undefined,
        undefined,
        f16(B, 8, P, 64),
        f16(B, 8, P, 64),
      ],
      "P + S",
    ],
  ])("MultiHeadAttention with %s", (_name, inputs, keys) => {
    const options = { type: "MultiHeadAttention", inputs, attributes: { num_heads: 8 }, outputCount: 4 };
    expect(shapes(options)).toEqual([
      "float16[B,S,512]",
      `float16[B,8,${keys},64]`,
      `float16[B,8,${keys},64]`,
      `?[B,8,S,${keys}]`,
    ]);
    const lengths = works(options)?.flatMap((work) => (work.kind === "attention" ? work.keyLength : []));
    expect(String(lengths)).toBe(keys);
  });
  it("PackedMultiHeadAttention", () => {
    const inputs = [f16(100, 8, 3, 64), undefined, undefined, undefined, of("int32", B, S), of("int32", 3)];
    const options = { type: "PackedMultiHeadAttention", inputs, attributes: { num_heads: 8 } };
    expect(shapes(options)).toEqual(["float16[100,512]"]);
    expect(works(options)).toEqual([expect.objectContaining({ batch: B, queryLength: S, headDim: 64 })]);
  });
  it("GroupQueryAttention counts all keys, and shares key heads", () => {
    const total = symbol("total");
    const inputs = [
      f16(B, S, 2048),
      f16(B, S, 512),
      f16(B, S, 512),
      f16(B, 8, P, 64),
      f16(B, 8, P, 64),
      of("int32", B),
      tensor("int32", [], [total]),
    ];
    const options = { type: "GroupQueryAttention", inputs, attributes: { num_heads: 32, kv_num_heads: 8 } };
    expect(shapes(options).slice(0, 2)).toEqual(["float16[B,S,2048]", "float16[B,8,max(P, total),64]"]);
    expect(works(options)).toEqual([
      expect.objectContaining({ heads: 32, kvHeads: 8, queryLength: S, keyLength: total, causal: false }),
    ]);
    const first = [...inputs.slice(0, 3), undefined, undefined, of("int32", B), of("int32")];
    expect(works({ ...options, inputs: first })).toEqual([
      expect.objectContaining({ keyLength: S, causal: true }),
    ]);
  });
  it.each([
    ["fewer keys in all than new ones", 10, 50, 512, "no less than the 50 new positions"],
    ["a rotary table that ends before the keys do", 301, 1, 256, "no fewer than the total length, 301"],
  ])("GroupQueryAttention refuses %s", (_name, total, length, rows, message) => {
    const cache = f16(1, 8, 300, 64);
    const lengths = [of("int32", 1), tensor("int32", [], [total])];
    const inputs = [f16(1, length, 2048), f16(1, length, 512), f16(1, length, 512), cache, cache, ...lengths];
    const attributes = { num_heads: 32, kv_num_heads: 8, do_rotary: 1 };
    const tables = [f16(rows, 32), f16(rows, 32)];
    const given = { domain, type: "GroupQueryAttention", inputs: [...inputs, ...tables], attributes };
    expect(() => infer(given)).toThrow(message);
  });
  it.each([
    [
      "heads off the hidden size",
      [f16(1, 2, 10), f16(1, 2, 8), f16(1, 2, 8)],
      { num_heads: 4 },
      "not divisible",
    ],
    ["no head count", [f16(1, 2, 8), f16(1, 2, 8), f16(1, 2, 8)], {}, "num_heads"],
    ["two parts where three belong", [f16(1, 2, 4, 2, 8)], { num_heads: 4 }, "expected 3"],
  ])("rejects %s", (_name, inputs, attributes, message) => {
    expect(() => infer({ domain, type: "MultiHeadAttention", inputs, attributes })).toThrow(message);
  });
  it("counts as unmeasured where data decide", () => {
    const cache = f16(100, 16, 8, 64);
    const inputs = [f16(S, 2048), f16(S, 512), f16(S, 512), cache, cache];
    const options = { type: "PagedAttention", inputs, attributes: { num_heads: 32, kv_num_heads: 8 } };
    expect(shapes(options)).toEqual(["float16[S,2048]", "float16[100,16,8,64]", "float16[100,16,8,64]"]);
    expect(works(options)).toBeUndefined();
  });
});

describe("operators with a carried state", () => {
  it("LinearAttention keeps a window of states", () => {
    const inputs = [f16(B, S, 256), f16(B, S, 256), f16(B, S, 512)];
    const attributes = { q_num_heads: 4, kv_num_heads: 4, state_window: 3 };
    expect(shapes({ type: "LinearAttention", inputs, attributes })).toEqual([
      "float16[B,S,512]",
      "float16[3,B,4,64,128]",
    ]);
  });
  it("CausalConvWithState dilates, and takes channels last", () => {
    const inputs = [f16(B, S, 4, 8), f16(32, 1, 4)];
    const attributes = { channels_last: 1, dilation: 2 };
    const options = { type: "CausalConvWithState", inputs, attributes };
    expect(shapes(options)).toEqual(["float16[B,S,4,8]", "float16[B,6,4,8]"]);
    expect(works(options)).toEqual([
      expect.objectContaining({ channels: 32, groups: 32, kernel: [4], dilations: [2], layout: "nhwc" }),
    ]);
  });
  it("DynamicQuantizeLSTM turns its weights", () => {
    const inputs = [of("float32", S, B, 10), of("int8", 1, 10, 80), of("int8", 1, 20, 80)];
    const options = { type: "DynamicQuantizeLSTM", inputs, outputCount: 3 };
    expect(shapes(options)[0]).toBe("float32[S,1,B,20]");
    expect(works(options)).toEqual([
      expect.objectContaining({ inputSize: 10, hiddenSize: 20, dtype: "int8" }),
    ]);
  });
});

describe("the rest", () => {
  it.each<[string, ContextOptions["inputs"] & object, ContextOptions["attributes"] & object, string[]]>([
    ["BiasSplitGelu", [f16(2, S, 640), f16(640)], {}, ["float16[2,S,320]"]],
    ["GroupNorm", [f16(2, 8, 8, 32), f16(32), f16(32)], { groups: 8 }, ["float16[2,8,8,32]"]],
    ["BiasAdd", [f16(2, S, 32), f16(32), f16(2, S, 32)], {}, ["float16[2,S,32]"]],
    ["MulInteger", [of("uint8", 2, 3), of("uint8"), of("uint8", 3)], {}, ["int32[2,3]"]],
    ["BiasDropout", [f16(2, 3), f16(3)], {}, ["float16[2,3]", "bool[2,3]"]],
    ["QLinearReduceMean", [of("uint8", B, 3, 4), scale], { axes: [-1], keepdims: 0 }, ["uint8[B,3]"]],
    ["TorchEmbedding", [f16(100, 8), of("int64", B, S)], {}, ["float16[B,S,8]"]],
    [
      "RemovePadding",
      [f16(B, S, 8), of("int32", B)],
      {},
      ["float16[?,8]", "int32[B,S]", "int32[B + 1]", "int32[1]"],
    ],
    ["RestorePadding", [f16(30, 8), of("int32", B, S)], {}, ["float16[B,S,8]"]],
    [
      "RelativePositionBias",
      [f16(32, 8), tensor("int64", [], [S]), tensor("int64", [], [9])],
      {},
      ["float16[1,8,S,9]"],
    ],
    ["Unique", [of("float32", 6)], {}, ["float32[?]", "int64[6]", "int64[?]"]],
    ["Gelu", [unknownTensor], {}, ["?[*]"]],
    ["GreedySearch", [of("int32", B, S), tensor("int32", [1], [64])], {}, ["int32[B,64]"]],
  ])("%s", (type, inputs, attributes, expected) => {
    expect(shapes({ type, inputs, attributes })).toEqual(expected);
  });
  it("operators of old ai.onnx", () => {
    const image = of("float32", B, 3, 8, 9);
    expect(show(inferTensor({ type: "Crop", inputs: [image], attributes: { border: [1, 2, 3, 4] } }))).toBe(
      "float32[B,3,2,5]",
    );
    expect(show(inferTensor({ type: "ImageScaler", inputs: [image] }))).toBe("float32[B,3,8,9]");
  });
});
