import onnxProto from "onnx-proto";
import { describe, expect, it } from "vitest";
import { type Attributes, type GraphBuilder, model } from "../../fixtures/builder.ts";
import type { DType } from "../../src/ir/dtype.ts";
import { InputError } from "../../src/ir/errors.ts";
import { tensorBytes } from "../../src/onnx/tensor-bytes.ts";
import { encodeNumbers, MemoryBytes } from "../../src/passes/tensors.ts";
import { type FloatType, readFloats } from "../../src/passes/transform-tensor.ts";
import { expectSame, type Folded, floats, foldBytes, noise, operators, volume } from "./folding.ts";

const options = { name: "norms", opset: 17 };
const tolerance = 5e-6;

interface Product {
  readonly type: string;
  readonly input: readonly (number | string)[];
  readonly weights: readonly number[];
  readonly bias?: readonly number[];
  readonly attributes?: Attributes;
  readonly channels: number;
}

function norm(
  graph: GraphBuilder,
  name: string,
  channels: number,
  attributes: Attributes = {},
  seed = 7,
): string {
  const [scale = [], shift = [], mean = [], spread = []] = [1, 2, 3, 4].map((each) =>
    noise(channels, seed + each),
  );
  const parameter = (values: readonly number[]) => graph.weight([channels], { values });
  const variance = spread.map((value) => value * value + 0.1);
  const inputs = [parameter(scale), parameter(shift), parameter(mean), parameter(variance)];
  return graph.node("BatchNormalization", [name, ...inputs], attributes);
}

function weightsOf(graph: GraphBuilder, dims: readonly number[], seed: number, name?: string): string {
  return graph.weight(dims, { values: noise(volume(dims), seed), ...(name !== undefined && { name }) });
}

/** x → product → BatchNormalization → Relu. */
function modelOf({ type, input, weights, bias, attributes = {}, channels }: Product): Uint8Array {
  return model(options, (graph) => {
    graph.input("x", input);
    const inputs = ["x", weightsOf(graph, weights, 3, "w")];
    if (bias !== undefined) inputs.push(weightsOf(graph, bias, 5, "b"));
    const product = graph.node(type, inputs, attributes);
    graph.node(
      "Relu",
      [norm(graph, product, channels, { epsilon: { float: 1e-3 } })],
      {},
      { outputs: ["y"] },
    );
    graph.output("y");
  });
}

const products: Readonly<Record<string, Product>> = {
  Conv: { type: "Conv", input: [2, 3, 6, 5], weights: [4, 3, 3, 3], channels: 4 },
  "Conv with a bias": { type: "Conv", input: [2, 3, 6, 5], weights: [4, 3, 3, 3], bias: [4], channels: 4 },
  "1-D Conv of a symbolic batch": { type: "Conv", input: ["N", 3, 9], weights: [5, 3, 2], channels: 5 },
  "3-D Conv": { type: "Conv", input: [1, 2, 4, 4, 4], weights: [3, 2, 2, 2, 2], channels: 3 },
  "grouped Conv": {
    type: "Conv",
    input: [2, 6, 5, 5],
    weights: [4, 3, 3, 3],
    attributes: { group: 2 },
    channels: 4,
  },
  "depthwise Conv": {
    type: "Conv",
    input: [2, 3, 5, 5],
    weights: [6, 1, 3, 3],
    bias: [6],
    attributes: { group: 3 },
    channels: 6,
  },
  ConvTranspose: { type: "ConvTranspose", input: [2, 3, 4, 4], weights: [3, 5, 2, 2], channels: 5 },
  "grouped ConvTranspose": {
    type: "ConvTranspose",
    input: [2, 6, 4, 4],
    weights: [6, 2, 3, 3],
    bias: [6],
    attributes: { group: 3, strides: [2, 2] },
    channels: 6,
  },
  Gemm: { type: "Gemm", input: [4, 3], weights: [3, 5], channels: 5 },
  "Gemm with everything": {
    type: "Gemm",
    input: [3, 4],
    weights: [5, 3],
    bias: [1, 5],
    attributes: { transA: 1, transB: 1, alpha: { float: 0.5 }, beta: { float: -2 } },
    channels: 5,
  },
  "Gemm with a scalar": { type: "Gemm", input: [4, 3], weights: [3, 5], bias: [], channels: 5 },
};

function inputOf({ input }: Product) {
  return floats(input.map((size) => (typeof size === "number" ? size : 3)));
}

describe("BatchNormalization", () => {
  it.each(Object.entries(products))("goes into %s", async (_, product) => {
    const { after } = await expectSame(modelOf(product), { x: inputOf(product) }, tolerance);
    expect(operators(after)).toEqual([product.type, "Relu"]);
    // Its weights keep their name and shape; what it had of parameters is gone.
    expect(after.graph.values.get("w")?.initializer?.dims).toEqual(product.weights);
    expect(
      [...after.graph.values.values()].filter(({ initializer }) => initializer !== undefined),
    ).toHaveLength(2);
  });

  it("goes into a MatMul and the Add behind it", async () => {
    for (const bias of [[5], [1, 5], []]) {
      const bytes = model(options, (graph) => {
        const product = graph.node("MatMul", [graph.input("x", ["N", 3]), weightsOf(graph, [3, 5], 1)]);
        const sum = graph.node("Add", [weightsOf(graph, bias, 2), product]);
        graph.node("Relu", [norm(graph, sum, 5)], {}, { outputs: ["y"] });
        graph.output("y");
      });
      const { after } = await expectSame(bytes, { x: floats([4, 3]) }, tolerance);
      expect(operators(after)).toEqual(["MatMul", "Add", "Relu"]);
    }
  });

  it("leaves an Add behind a MatMul", async () => {
    const bytes = model(options, (graph) => {
      const product = graph.node("MatMul", [graph.input("x", ["N", 3]), weightsOf(graph, [3, 5], 1)]);
      graph.node("Relu", [norm(graph, product, 5)], {}, { outputs: ["y"] });
      graph.output("y");
    });
    const { after } = await expectSame(bytes, { x: floats([4, 3]) }, tolerance);
    expect(operators(after)).toEqual(["MatMul", "Add", "Relu"]);
  });

  it("goes one after the other, through what changes nothing, and into an output of the model", async () => {
    const bytes = model(options, (graph) => {
      const conv = graph.node("Conv", [graph.input("x", [1, 3, 5, 5]), weightsOf(graph, [4, 3, 3, 3], 1)]);
      const once = norm(graph, graph.node("Identity", [conv]), 4);
      const twice = norm(graph, graph.node("Dropout", [once]), 4, {}, 20);
      graph.node("Identity", [twice], {}, { outputs: ["y"] });
      graph.output("y");
    });
    const { after } = await expectSame(bytes, { x: floats([1, 3, 5, 5]) }, tolerance);
    expect(operators(after)).toEqual(["Conv"]);
  });

  it("goes into weights that a Constant holds, or that are computed from constants", async () => {
    const bytes = model(options, (graph) => {
      const flat = graph.weight([108], { values: noise(108, 1) });
      const shape = graph.weight([4], { dtype: "int64", values: [4, 3, 3, 3] });
      const conv = graph.node("Conv", [graph.input("x", [1, 3, 5, 5]), graph.node("Reshape", [flat, shape])]);
      const constant = graph.node("Constant", [], { value_floats: { floats: noise(16, 2) } });
      const square = graph.weight([4], { dtype: "int64", values: [4, 4, 1, 1] });
      const more = graph.node("Conv", [norm(graph, conv, 4), graph.node("Reshape", [constant, square])]);
      graph.node("Relu", [norm(graph, more, 4)], {}, { outputs: ["y"] });
      graph.output("y");
    });
    const { after } = await expectSame(bytes, { x: floats([1, 3, 5, 5]) }, tolerance);
    expect(operators(after)).toEqual(["Conv", "Conv", "Relu"]);
  });
});

const conv = (graph: GraphBuilder) => graph.node("Conv", ["x", weightsOf(graph, [4, 3, 3, 3], 1, "w")]);

/** Weights that are all zero but one, on an input so small that the product is of moderate size. */
function peaked(graph: GraphBuilder, peak: number): string {
  const values = Array.from({ length: 108 }, (_, index) => (index === 40 ? peak : 0));
  const small = graph.node("Mul", ["x", graph.scalar(1e-20)]);
  return graph.node("Conv", [small, graph.weight([4, 3, 3, 3], { values })]);
}

function scaled(graph: GraphBuilder, name: string, parts: { scale: number; variance: number }): string {
  const vector = (value: number) => graph.weight([4], { values: new Array<number>(4).fill(value) });
  const inputs = [name, vector(parts.scale), vector(0), vector(0), vector(parts.variance)];
  return graph.node("BatchNormalization", inputs, { epsilon: { float: 0 } });
}

const kept: Readonly<Record<string, readonly [(graph: GraphBuilder) => string, reason: string | undefined]>> =
  {
    "another node reads the product": [
      (graph) => {
        const product = conv(graph);
        return graph.node("Add", [norm(graph, product, 4), product]);
      },
      undefined,
    ],
    "two products share the weights": [
      (graph) => {
        const other = graph.node("Conv", [graph.node("Neg", ["x"]), "w"]);
        return graph.node("Add", [norm(graph, conv(graph), 4), other]);
      },
      "its weights are shared",
    ],
    "the weights are computed": [
      (graph) => {
        const weights = graph.node("ReduceSum", ["x", graph.weight([2], { dtype: "int64", values: [0, 2] })]);
        const tall = graph.node("Reshape", [
          weights,
          graph.weight([4], { dtype: "int64", values: [5, 3, 1, 1] }),
        ]);
        return norm(graph, graph.node("Conv", ["x", tall]), 5);
      },
      "its weights are computed",
    ],
    "the bias is computed": [
      (graph) => {
        const bias = graph.node("ReduceMax", ["x"], { axes: [0, 1, 2], keepdims: 0 });
        const weights = weightsOf(graph, [5, 3, 3, 3], 1);
        return norm(graph, graph.node("Conv", ["x", weights, bias]), 5);
      },
      "its bias is not one constant a channel",
    ],
    "it stands behind something else": [
      (graph) => norm(graph, graph.node("Concat", ["x", "x"], { axis: 1 }), 6),
      undefined,
    ],
    "an Add reads the product twice": [
      (graph) => {
        const rows = graph.node("Reshape", ["x", graph.weight([2], { dtype: "int64", values: [15, 5] })]);
        const product = graph.node("MatMul", [rows, weightsOf(graph, [5, 4], 3)]);
        return norm(graph, graph.node("Add", [product, product]), 4);
      },
      undefined,
    ],
    "a weight is infinite": [
      (graph) => norm(graph, peaked(graph, Number.POSITIVE_INFINITY), 4),
      "its weights are not all finite",
    ],
    "a weight would become infinite": [
      (graph) => scaled(graph, peaked(graph, 2e38), { scale: 3, variance: 1 }),
      "its weights could be too large for float32",
    ],
    "a factor is beyond what the runtime computes with": [
      (graph) => scaled(graph, peaked(graph, 0), { scale: 2e18, variance: 1e-45 }),
      "its parameters make infinities",
    ],
    "its variance gives infinities": [
      (graph) => {
        const vector = (value: number) => graph.weight([4], { values: new Array<number>(4).fill(value) });
        const inputs = [conv(graph), vector(1), vector(0), vector(0), vector(0)];
        return graph.node("BatchNormalization", inputs, { epsilon: { float: 0 } });
      },
      "its parameters make infinities",
    ],
  };

describe("BatchNormalization stays", () => {
  it.each(Object.entries(kept))("where %s", async (_, [build, reason]) => {
    const bytes = model(options, (graph) => {
      graph.input("x", [1, 3, 5, 5]);
      graph.node("Relu", [build(graph)], {}, { outputs: ["y"] });
      graph.output("y");
    });
    const { after, notes } = await expectSame(bytes, { x: floats([1, 3, 5, 5]) }, 0);
    expect(operators(after)).toContain("BatchNormalization");
    const reasons = notes.flatMap(({ kind, message }) =>
      kind === "kept" ? [message.replace(/^.*": /, "")] : [],
    );
    expect(reasons).toEqual(reason === undefined ? [] : [reason]);
  });

  it("while it trains", () => {
    const bytes = model({ ...options, opset: 15 }, (graph) => {
      graph.input("x", [1, 3, 5, 5]);
      graph.node("Relu", [norm(graph, conv(graph), 4, { training_mode: 1 })], {}, { outputs: ["y"] });
      graph.output("y");
    });
    expect(foldBytes(bytes).patch.isEmpty).toBe(true);
  });

  it("where its parameters are not there, and needs the weights only when they are written", () => {
    const build = (values: boolean) =>
      model(options, (graph) => {
        const product = graph.node("Conv", [graph.input("x", [1, 3, 5, 5]), graph.weight([4, 3, 3, 3])]);
        const parameters = [0, 0, 0, 0].map(() => graph.weight([4], values ? { values: [1, 2, 3, 4] } : {}));
        graph.node("BatchNormalization", [product, ...parameters], {}, { outputs: ["y"] });
        graph.output("y");
      });
    expect(foldBytes(build(false)).patch.isEmpty).toBe(true);
    const { after } = foldBytes(build(true));
    expect(operators(after)).toEqual(["Conv"]);
    const weights = after.graph.nodes[0]?.inputs[1]?.initializer;
    if (weights === undefined) throw new Error("the Conv has no weights");
    const bytes = tensorBytes(after.source, after.files, weights, encodeNumbers);
    const read = () => bytes.readInto(0, new Uint8Array(4));
    expect(read).toThrow(InputError);
    expect(read).toThrow("norms.weights");
  });
});

/** A 1 × 1 Conv without bias and a BatchNormalization, all of one type: weights and bias after folding. */
function foldedNumbers(
  dtype: FloatType,
  weights: readonly number[],
  parameters: readonly (readonly number[])[],
) {
  const channels = weights.length;
  const bytes = model(options, (graph) => {
    graph.input("x", [1, 1, 2], dtype);
    const product = graph.node("Conv", ["x", graph.weight([channels, 1, 1], { name: "w", values: weights })]);
    const inputs = parameters.map((values) => graph.weight([channels], { values }));
    graph.node("BatchNormalization", [product, ...inputs], { epsilon: { float: 0 } }, { outputs: ["y"] });
    graph.output("y", dtype);
  });
  const proto = onnxProto.onnx.ModelProto.decode(bytes);
  const codes: Readonly<Record<FloatType, number>> = { float32: 1, float16: 10, float64: 11, bfloat16: 16 };
  for (const tensor of proto.graph?.initializer ?? []) {
    const raw = tensor.rawData ?? new Uint8Array();
    const values = readFloats(new MemoryBytes(Uint8Array.from(raw)), "float32");
    tensor.rawData = encodeNumbers(dtype, [...values]);
    tensor.dataType = codes[dtype];
  }
  const folded = foldBytes(onnxProto.onnx.ModelProto.encode(proto).finish());
  return { folded, weights: storedNumbers(folded, 1, dtype), bias: storedNumbers(folded, 2, dtype) };
}

function storedNumbers({ after }: Folded, input: number, dtype: FloatType & DType): readonly number[] {
  const tensor = after.graph.nodes[0]?.inputs[input]?.initializer;
  if (tensor === undefined) return [];
  expect(tensor.dtype).toBe(dtype);
  return [...readFloats(tensorBytes(after.source, after.files, tensor, encodeNumbers), dtype)];
}

describe("folded numbers", () => {
  // Factors of 3 and 1/3, shifts of 1 - 3·0.5 and 2 + 0.25/3.
  const parameters = [
    [3, 1],
    [1, 2],
    [0.5, -0.25],
    [1, 9],
  ];

  // 1/3 lies in [0.25, 0.5): the last place of a half there is 2^-12, of a bfloat16 2^-9.
  it.each([
    ["float64", 1 / 3],
    ["float32", Math.fround(1 / 3)],
    ["float16", 1365 / 4096],
    ["bfloat16", 171 / 512],
  ] as const)("are rounded once to %s", (dtype, third) => {
    const { folded, weights, bias } = foldedNumbers(dtype, [0.125, 1], parameters);
    expect(operators(folded.after)).toEqual(["Conv"]);
    expect(weights).toEqual([0.375, third]);
    expect(bias[0]).toBe(-0.5);
    expect(Math.abs((bias[1] ?? Number.NaN) - (2 + 0.25 / 3))).toBeLessThan(2 ** -7);
  });

  it("stay apart where halves would overflow", () => {
    const { folded } = foldedNumbers("float16", [30000, 1], parameters);
    expect(operators(folded.after)).toEqual(["Conv", "BatchNormalization"]);
    expect(folded.notes.map(({ message }) => message)).toEqual([
      expect.stringContaining("its weights could be too large for float16"),
    ]);
    const { folded: shifted } = foldedNumbers(
      "float16",
      [1, 1],
      [
        [1, 1],
        [0, 60000],
        [0, -60000],
        [1, 1],
      ],
    );
    expect(shifted.notes.map(({ message }) => message)).toEqual([
      expect.stringContaining("its bias would be too large for float16"),
    ]);
  });
});
