/** @file Shapes and work of convolutions, matrix products, Einsum, recurrences and attention. */
import { describe, expect, it } from "vitest";
import { type Shape, symbol } from "../../src/ir/dim.ts";
import type { DType } from "../../src/ir/dtype.ts";
import { ShapeError, type TensorFact } from "../../src/ops/op.ts";
import { tensor, unknownTensor } from "../../src/ops/shape.ts";
import { type ContextOptions, infer, inferTensor, show, workOf } from "./context.ts";

const B = symbol("B");
const S = symbol("S");
const H = symbol("H");
const W = symbol("W");

function f32(...shape: Shape): TensorFact {
  return tensor("float32", shape);
}
function of(dtype: DType, ...shape: Shape): TensorFact {
  return tensor(dtype, shape);
}
/** One work as text, sizes by name: short expectations that still show every field. */
function works(options: ContextOptions): readonly string[] | undefined {
  return workOf(options)?.map((work) =>
    Object.entries(work)
      .filter(([, value]) => value !== false)
      .map(([key, value]) => (key === "kind" ? value : value === true ? key : `${key}=${value}`))
      .join(" "),
  );
}

describe("Conv", () => {
  it.each<[string, number[], number[], ContextOptions["attributes"] & object, string]>([
    ["2-D", [1, 3, 224, 224], [64, 3, 7, 7], { strides: [2, 2], pads: [3, 3, 3, 3] }, "[1,64,112,112]"],
    ["1-D, dilated", [2, 8, 100], [16, 8, 3], { dilations: [4] }, "[2,16,92]"],
    ["3-D", [1, 4, 8, 16, 16], [8, 4, 3, 3, 3], {}, "[1,8,6,14,14]"],
    ["grouped", [1, 32, 14, 14], [32, 8, 3, 3], { group: 4, pads: [1, 1, 1, 1] }, "[1,32,14,14]"],
    ["SAME_UPPER", [1, 3, 7, 7], [4, 3, 3, 3], { auto_pad: "SAME_UPPER", strides: [2, 2] }, "[1,4,4,4]"],
    ["VALID", [1, 3, 7, 7], [4, 3, 3, 3], { auto_pad: "VALID", strides: [2, 2] }, "[1,4,3,3]"],
    ["unequal pads", [1, 3, 10, 10], [4, 3, 3, 3], { pads: [0, 1, 2, 3] }, "[1,4,10,12]"],
  ])("%s", (_name, x, w, attributes, expected) => {
    expect(show(inferTensor({ type: "Conv", inputs: [f32(...x), f32(...w)], attributes }))).toBe(
      `float32${expected}`,
    );
  });

  it("keeps symbols, and halves them exactly as a formula", () => {
    const inputs = [f32(B, 3, H, W), f32(8, 3, 3, 3)];
    const same = { pads: [1, 1, 1, 1] };
    expect(show(inferTensor({ type: "Conv", inputs, attributes: same }))).toBe("float32[B,8,H,W]");
  });

  it("says as much as one operand tells", () => {
    const weightsOnly = inferTensor({ type: "Conv", inputs: [unknownTensor, f32(8, 3, 3, 3)] });
    expect(show(weightsOnly)).toBe("float32[?,8,? - 2,? - 2]");
    expect(inferTensor({ type: "Conv", inputs: [unknownTensor, unknownTensor] }).shape).toBeUndefined();
    expect(
      inferTensor({
        type: "Conv",
        inputs: [f32(1, 3, 8, 8), unknownTensor],
        attributes: { kernel_shape: [3, 3] },
      }).shape?.slice(2),
    ).toEqual([6, 6]);
  });

  it.each([
    ["zero stride", [1, 3, 8, 8], [4, 3, 3, 3], { strides: [0, 1] }, "strides"],
    ["group that does not divide the channels", [1, 6, 8, 8], [4, 2, 3, 3], { group: 4 }, "group 4"],
    ["group of zero", [1, 6, 8, 8], [4, 2, 3, 3], { group: 0 }, "group is 0"],
    ["channels that disagree", [1, 4, 8, 8], [4, 3, 3, 3], {}, "4 does not equal 3"],
    ["kernel_shape against W", [1, 3, 8, 8], [4, 3, 3, 3], { kernel_shape: [5, 5] }, "5 does not equal 3"],
    ["ranks that disagree", [1, 3, 8], [4, 3, 3, 3], {}, "rank 3"],
    ["an empty kernel", [1, 3, 8, 8], [4, 3, 0, 3], {}, "positive"],
    ["window beyond the input", [1, 3, 4, 4], [4, 3, 7, 7], {}, "does not fit"],
  ])("rejects %s", (_name, x, w, attributes, message) => {
    const options = { type: "Conv", inputs: [f32(...x), f32(...w)], attributes };
    expect(() => infer(options)).toThrow(ShapeError);
    expect(() => infer(options)).toThrow(message);
  });

  it("describes its work", () => {
    const inputs = [of("float16", B, 32, 14, 14), of("float16", 64, 8, 3, 3), of("float16", 64)];
    const attributes = { group: 4, pads: [1, 1, 1, 1], strides: [2, 2] };
    expect(works({ type: "Conv", inputs, attributes })).toEqual([
      "conv batch=B channels=32 filters=64 groups=4 input=14,14 output=7,7 layout=nchw kernel=3,3 strides=2,2 dilations=1,1 dtype=float16",
    ]);
  });
});

describe("ConvInteger and DeformConv", () => {
  it("multiplies in int8, accumulates in int32", () => {
    const options = { type: "ConvInteger", inputs: [of("uint8", 1, 4, 8, 8), of("int8", 8, 4, 3, 3)] };
    expect(() => infer(options)).not.toThrow();
    expect(show(inferTensor(options))).toBe("int32[1,8,6,6]");
    expect(works(options)?.[0]).toContain("dtype=int8");
  });
  it("takes offsets as they are", () => {
    const inputs = [f32(1, 4, 8, 8), f32(8, 4, 3, 3), f32(1, 18, 6, 6), f32(8)];
    expect(show(inferTensor({ type: "DeformConv", inputs }))).toBe("float32[1,8,6,6]");
  });
});

describe("ConvTranspose", () => {
  it.each([
    ["plain", [1, 2, 3, 3], [2, 4, 3, 3], {}, "[1,4,5,5]"],
    ["strides, pads", [1, 1, 3, 3], [1, 2, 3, 3], { strides: [3, 2], pads: [1, 2, 1, 2] }, "[1,2,7,3]"],
    ["output_padding", [1, 1, 3, 3], [1, 2, 3, 3], { strides: [3, 2], output_padding: [1, 1] }, "[1,2,10,8]"],
    ["output_shape", [1, 1, 3, 3], [1, 2, 3, 3], { strides: [3, 2], output_shape: [10, 8] }, "[1,2,10,8]"],
    [
      "full output_shape",
      [1, 1, 3, 3],
      [1, 2, 3, 3],
      { strides: [3, 2], output_shape: [1, 2, 10, 8] },
      "[1,2,10,8]",
    ],
    ["groups", [1, 4, 3], [4, 3, 3], { group: 2 }, "[1,6,5]"],
    ["dilations", [1, 1, 3, 3], [1, 1, 2, 2], { dilations: [2, 2] }, "[1,1,5,5]"],
    ["SAME_UPPER", [1, 1, 3, 3], [1, 2, 3, 3], { strides: [2, 2], auto_pad: "SAME_UPPER" }, "[1,2,6,6]"],
    ["SAME with a small kernel", [1, 1, 3], [1, 2, 2], { strides: [4], auto_pad: "SAME_LOWER" }, "[1,2,10]"],
  ])("%s", (_name, x, w, attributes, expected) => {
    const options = { type: "ConvTranspose", inputs: [f32(...x), f32(...w)], attributes };
    expect(show(inferTensor(options))).toBe(`float32${expected}`);
  });

  it("counts filters over all groups, and stays symbolic", () => {
    const inputs = [f32(B, 8, H, W), f32(8, 6, 4, 4)];
    const attributes = { group: 2, strides: [2, 2], pads: [1, 1, 1, 1] };
    expect(works({ type: "ConvTranspose", inputs, attributes })).toEqual([
      "conv batch=B channels=8 filters=12 groups=2 input=H,W output=2*H,2*W layout=nchw transposed kernel=4,4 strides=2,2 dilations=1,1 dtype=float32",
    ]);
  });
});

describe("MatMul", () => {
  it.each([
    [[2, 3], [3, 4], "[2,4]", "batch=1 m=2 n=4 k=3 sharedB dtype=float32"],
    [[3], [3], "[]", "batch=1 m=1 n=1 k=3 sharedB dtype=float32"],
    [[3], [5, 3, 4], "[5,4]", "batch=5 m=1 n=4 k=3 dtype=float32 matricesA=1"],
    [[5, 2, 3], [3], "[5,2]", "batch=1 m=10 n=1 k=3 sharedB dtype=float32"],
    [[8, 16, 32], [32, 64], "[8,16,64]", "batch=1 m=128 n=64 k=32 sharedB dtype=float32"],
    [[8, 16, 32], [1, 32, 64], "[8,16,64]", "batch=1 m=128 n=64 k=32 sharedB dtype=float32"],
    [[4, 1, 2, 3], [5, 3, 7], "[4,5,2,7]", "batch=20 m=2 n=7 k=3 dtype=float32 matricesA=4 matricesB=5"],
    [[2, 3], [5, 3, 7], "[5,2,7]", "batch=5 m=2 n=7 k=3 dtype=float32 matricesA=1"],
    [[B, S, 32], [32, 64], "[B,S,64]", "batch=1 m=B*S n=64 k=32 sharedB dtype=float32"],
    [[B, 8, S, 64], [B, 8, 64, S], "[B,8,S,S]", "batch=8*B m=S n=S k=64 dtype=float32"],
  ])("%j by %j", (a, b, shape, work) => {
    const options = { type: "MatMul", inputs: [f32(...a), f32(...b)] };
    expect(show(inferTensor(options))).toBe(`float32${shape}`);
    expect(works(options)).toEqual([`gemm ${work}`]);
  });

  it("rejects inner axes that differ, and mixed types", () => {
    expect(() => infer({ type: "MatMul", inputs: [f32(2, 3), f32(4, 5)] })).toThrow("3 does not equal 4");
    expect(() => infer({ type: "MatMul", inputs: [f32(2, 3), of("float16", 3, 5)] })).toThrow("float16");
    expect(() => infer({ type: "MatMul", inputs: [f32(), f32(4, 5)] })).toThrow("scalar");
  });

  it("accumulates integers in int32", () => {
    const options = { type: "MatMulInteger", inputs: [of("uint8", 4, 3), of("int8", 3, 2)] };
    expect(show(inferTensor(options))).toBe("int32[4,2]");
    expect(works(options)).toEqual(["gemm batch=1 m=4 n=2 k=3 sharedB dtype=int8"]);
  });
});

describe("Gemm", () => {
  it("transposes, and lets C tell a size", () => {
    const attributes = { transA: 1, transB: 1, alpha: { float: 0.5 } };
    const options = { type: "Gemm", inputs: [f32(4, S), f32(5, 4), f32(5)], attributes };
    expect(show(inferTensor(options))).toBe("float32[S,5]");
    expect(works(options)).toEqual(["gemm batch=1 m=S n=5 k=4 transA transB sharedB dtype=float32"]);
  });
  it.each([
    ["inner axes", [f32(2, 3), f32(4, 5)], "3 does not equal 4"],
    ["rank", [f32(1, 2, 3), f32(3, 5)], "rank 3"],
    ["C that would grow the product", [f32(1, 3), f32(3, 5), f32(4, 5)], "does not broadcast"],
    ["C of rank 3", [f32(2, 3), f32(3, 5), f32(1, 2, 5)], "does not broadcast"],
  ])("rejects %s", (_name, inputs, message) => {
    expect(() => infer({ type: "Gemm", inputs })).toThrow(message);
  });
});

describe("Einsum", () => {
  it.each([
    [
      "ij,jk->ik",
      [
        [2, 3],
        [3, 4],
      ],
      "[2,4]",
      ["gemm batch=1 m=2 n=4 k=3 sharedB"],
    ],
    [
      "ij,kj->ik",
      [
        [2, 3],
        [4, 3],
      ],
      "[2,4]",
      ["gemm batch=1 m=2 n=4 k=3 transB sharedB"],
    ],
    [
      "ij,jk->ki",
      [
        [2, 3],
        [3, 4],
      ],
      "[4,2]",
      ["gemm batch=1 m=4 n=2 k=3 transA transB sharedB"],
    ],
    [
      "bij, bjk",
      [
        [5, 2, 3],
        [5, 3, 4],
      ],
      "[2,4]",
      ["gemm batch=1 m=2 n=4 k=15 sharedB"],
    ],
    [
      "bij,bjk->bik",
      [
        [5, 2, 3],
        [5, 3, 4],
      ],
      "[5,2,4]",
      ["gemm batch=5 m=2 n=4 k=3"],
    ],
    [
      "bhqd,bhkd->bhqk",
      [
        [B, 8, S, 64],
        [B, 8, S, 64],
      ],
      "[B,8,S,S]",
      ["gemm batch=8*B m=S n=S k=64 transB"],
    ],
    [
      "bqhd,bkhd->bhqk",
      [
        [2, 7, 8, 64],
        [2, 9, 8, 64],
      ],
      "[2,8,7,9]",
      ["gemm batch=16 m=7 n=9 k=64 transB"],
    ],
    [
      "...ij,...jk->...ik",
      [
        [4, 1, 2, 3],
        [5, 3, 7],
      ],
      "[4,5,2,7]",
      ["gemm batch=1 m=8 n=35 k=3 sharedB"],
    ],
    [
      "bsk,kn->bsn",
      [
        [B, S, 32],
        [32, 64],
      ],
      "[B,S,64]",
      ["gemm batch=1 m=B*S n=64 k=32 sharedB"],
    ],
    [
      "ab,bc,cd->ad",
      [
        [2, 3],
        [3, 4],
        [4, 5],
      ],
      "[2,5]",
      ["gemm batch=1 m=2 n=4 k=3 sharedB", "gemm batch=1 m=2 n=5 k=4 sharedB"],
    ],
    ["i,i->", [[3], [3]], "[]", ["gemm batch=1 m=1 n=1 k=3 sharedB"]],
    ["ij->ji", [[2, 3]], "[3,2]", ["traffic pattern=copy rows=2 columns=3 bytesRead=24 bytesWritten=24"]],
    ["ij->i", [[2, 3]], "[2]", ["traffic pattern=reduction rows=2 columns=3 bytesRead=24 bytesWritten=8"]],
    [
      "...ii->...i",
      [[5, 3, 3]],
      "[5,3]",
      ["traffic pattern=copy rows=5 columns=3 bytesRead=60 bytesWritten=60"],
    ],
    [
      "i,j->ij",
      [[2], [3]],
      "[2,3]",
      ["traffic pattern=elementwise rows=2 columns=3 bytesRead=20 bytesWritten=24"],
    ],
    ["ba", [[2, 3]], "[3,2]", ["traffic pattern=copy rows=2 columns=3 bytesRead=24 bytesWritten=24"]],
  ] as const)("%s", (equation, shapes, shape, expected) => {
    const options = { type: "Einsum", inputs: shapes.map((dims) => f32(...dims)), attributes: { equation } };
    expect(show(inferTensor(options))).toBe(`float32${shape}`);
    expect(works(options)).toEqual(expected.map((work) => `${work} dtype=float32`));
  });

  it.each([
    [
      "ij,jk->il",
      [
        [2, 3],
        [3, 4],
      ],
      "output label l",
    ],
    [
      "ij,jk->ii",
      [
        [2, 3],
        [3, 4],
      ],
      "repeat",
    ],
    ["ij->i", [[2, 3, 4]], "rank 3"],
    [
      "ij,jk->ik",
      [
        [2, 3],
        [5, 4],
      ],
      "cannot broadcast",
    ],
    ["i1->i", [[2, 3]], "not a term"],
    ["ij,jk->ik", [[2, 3]], "2 terms for 1 operands"],
  ] as const)("rejects %s of %j", (equation, shapes, message) => {
    const options = { type: "Einsum", inputs: shapes.map((dims) => f32(...dims)), attributes: { equation } };
    expect(() => infer(options)).toThrow(message);
  });
});

describe("LSTM, GRU, RNN", () => {
  it("gives the sequence and its last states", () => {
    const inputs = [f32(S, B, 10), f32(2, 80, 10), f32(2, 80, 20)];
    const attributes = { hidden_size: 20, direction: "bidirectional" };
    const options = { type: "LSTM", inputs, attributes };
    expect(infer(options).map(show)).toEqual(["float32[S,2,B,20]", "float32[2,B,20]", "float32[2,B,20]"]);
    expect(works(options)).toEqual([
      "recurrent steps=S batch=B inputSize=10 hiddenSize=20 gates=4 directions=2 dtype=float32",
    ]);
  });
  it("puts the batch first with layout 1", () => {
    const inputs = [f32(3, 7, 10), f32(1, 60, 10), f32(1, 60, 20)];
    expect(infer({ type: "GRU", inputs, attributes: { layout: 1 } }).map(show)).toEqual([
      "float32[3,7,1,20]",
      "float32[3,1,20]",
    ]);
  });
  it("rejects weights that do not fit", () => {
    const inputs = [f32(7, 3, 10), f32(2, 20, 10), f32(1, 20, 20)];
    expect(() => infer({ type: "RNN", inputs })).toThrow("directions");
    expect(() => infer({ type: "RNN", inputs, attributes: { direction: "up" } })).toThrow("direction");
  });
});

describe("Attention", () => {
  it("takes rank 4 with a past", () => {
    const inputs = [
      f32(2, 8, 4, 64),
      f32(2, 2, 6, 64),
      f32(2, 2, 6, 32),
      undefined,
      f32(2, 2, S, 64),
      f32(2, 2, S, 32),
    ];
    const options = { type: "Attention", inputs, attributes: { is_causal: 1 }, outputCount: 4 };
    expect(infer(options).map(show)).toEqual([
      "float32[2,8,4,32]",
      "float32[2,2,S + 6,64]",
      "float32[2,2,S + 6,32]",
      "float32[2,8,4,S + 6]",
    ]);
    expect(works(options)).toEqual([
      "attention batch=2 heads=8 kvHeads=2 queryLength=4 keyLength=S + 6 headDim=64 valueHeadDim=32 dtype=float32",
    ]);
  });
  it("takes rank 3 with head counts", () => {
    const inputs = [
      of("float16", B, S, 512),
      of("float16", B, S, 128),
      of("float16", B, S, 128),
      tensor("bool", [S, S]),
    ];
    const attributes = { q_num_heads: 8, kv_num_heads: 2, is_causal: 1 };
    const options = { type: "Attention", inputs, attributes };
    expect(show(infer(options)[0])).toBe("float16[B,S,512]");
    expect(works(options)).toEqual([
      "attention batch=B heads=8 kvHeads=2 queryLength=S keyLength=S headDim=64 valueHeadDim=64 causal masked dtype=float16",
    ]);
  });
  it.each([
    ["missing head counts", [f32(1, 2, 6), f32(1, 2, 6), f32(1, 2, 6)], {}, "number of heads"],
    [
      "hidden sizes off the heads",
      [f32(1, 2, 6), f32(1, 2, 8), f32(1, 2, 8)],
      { q_num_heads: 4, kv_num_heads: 4 },
      "not divisible",
    ],
    [
      "head sizes that differ",
      [f32(1, 2, 3, 8), f32(1, 2, 3, 16), f32(1, 2, 3, 16)],
      {},
      "8 does not equal 16",
    ],
    [
      "heads that cannot be shared",
      [f32(1, 5, 3, 8), f32(1, 2, 3, 8), f32(1, 2, 3, 8)],
      {},
      "expected a multiple of the 2 of K and V",
    ],
  ])("rejects %s", (_name, inputs, attributes, message) => {
    expect(() => infer({ type: "Attention", inputs, attributes })).toThrow(message);
  });
  it("does not guess how long an unknown past is", () => {
    const operands = [f32(1, 2, 3, 8), f32(1, 2, 3, 8), f32(1, 2, 3, 8)];
    const inputs = [...operands, undefined, unknownTensor, unknownTensor];
    expect(show(infer({ type: "Attention", inputs })[1])).toBe("float32[1,2,? + 3,8]");
  });
  it("infers the modifiers of FlexAttention on the scores", () => {
    const seen: string[] = [];
    const graph = {
      name: "mod",
      owner: undefined,
      nodes: [],
      inputs: [],
      outputs: [],
      annotated: new Set<string>(),
      values: new Map(),
      span: { offset: 0, length: 0 },
    };
    const inputs = [1, 2, 3].map(() => of("float16", 1, 4, 5, 8));
    const options: ContextOptions = {
      domain: "ai.onnx.preview",
      type: "FlexAttention",
      inputs,
      attributes: { score_mod: graph },
      inferGraph: (_graph, facts) => {
        seen.push(...facts.map(show));
        return facts;
      },
    };
    expect(show(inferTensor(options))).toBe("float16[1,4,5,8]");
    expect(seen).toEqual(["float32[1,4,5,5]"]);
  });
});

describe("operators with a carried state", () => {
  it("LinearAttention", () => {
    const inputs = [f32(B, S, 512), f32(B, S, 256), f32(B, S, 128), of("float32", B, 4, 64, 32)];
    const attributes = { q_num_heads: 8, kv_num_heads: 4, update_rule: "gated" };
    const options = { type: "LinearAttention", inputs, attributes };
    expect(infer(options).map(show)).toEqual(["float32[B,S,256]", "float32[B,4,64,32]"]);
    expect(works(options)).toEqual([
      "gemm batch=8*B m=S n=32 k=64 dtype=float32",
      "gemm batch=4*B m=64 n=32 k=S transA dtype=float32",
    ]);
  });
  it("CausalConvWithState", () => {
    const options = { type: "CausalConvWithState", inputs: [f32(B, 8, S), f32(8, 1, 4)] };
    expect(infer(options).map(show)).toEqual(["float32[B,8,S]", "float32[B,8,3]"]);
    expect(works(options)?.[0]).toContain("channels=8 filters=8 groups=8");
  });
  it("RotaryEmbedding", () => {
    expect(show(inferTensor({ type: "RotaryEmbedding", inputs: [f32(B, S, 64)] }))).toBe("float32[B,S,64]");
    expect(() => infer({ type: "RotaryEmbedding", inputs: [f32(B, 64)] })).toThrow("rank 2");
  });
});
