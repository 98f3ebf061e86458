import { Tensor } from "onnxruntime-node";
import { describe, expect, it } from "vitest";
import { type GraphBuilder, model } from "../../fixtures/builder.ts";
import { inferFacts } from "../../src/facts/infer.ts";
import { floats, noise } from "./folding.ts";
import { countOf, dtypeOf, expectClose, halveBytes, weight } from "./halving.ts";

const x = floats([4, 8]);

describe("functions", () => {
  it("calls one that takes any type in FP16; what it gives to FP32 operands stays FP32", async () => {
    const bytes = model({ name: "call", domains: { test: 1 } }, (graph, builder) => {
      builder.addFunction("test", "Grow", (body) => {
        for (const name of ["v", "w", "scales"]) body.input(name, undefined);
        const conv = body.node("Conv", ["v", "w"]);
        body.node("Resize", [conv, "", "scales"], { mode: "nearest" }, { outputs: ["grown"] });
        body.output("grown");
      });
      const input = graph.input("x", [1, 3, 8, 8]);
      const scales = graph.weight([4], { values: [1, 1, 2, 2] });
      const grown = graph.node("Grow", [input, weight(graph, [4, 3, 1, 1]), scales], {}, { domain: "test" });
      graph.node("Conv", [grown, weight(graph, [2, 4, 1, 1])], {}, { outputs: ["y"] });
      graph.output("y", "float32", [1, 2, 16, 16]);
    });
    const halved = await expectClose(bytes, { x: floats([1, 3, 8, 8]) });
    expect(countOf(halved.after.graph, "Cast")).toBe(2);
    expect(dtypeOf(halved, "Grow")).toBe("float16");
    const [call] = halved.after.graph.nodes.filter(({ opType }) => opType === "Grow");
    expect(call?.inputs.map((value) => value?.initializer?.dtype)).toEqual([undefined, "float16", "float32"]);
  });

  it("keeps one in FP32 that has a reason inside", async () => {
    const bytes = model({ name: "call", domains: { test: 1 } }, (graph, builder) => {
      builder.addFunction("test", "Grow", (body) => {
        body.input("v", undefined);
        body.node("Exp", ["v"], {}, { outputs: ["w"] });
        body.output("w");
      });
      const product = graph.node("MatMul", [graph.input("x", [4, 8]), weight(graph, [8, 8])]);
      const called = graph.node("Grow", [product], {}, { domain: "test" });
      graph.node("MatMul", [called, weight(graph, [8, 8], 3)], {}, { outputs: ["y"] });
      graph.output("y");
    });
    expect(dtypeOf(await expectClose(bytes), "Grow")).toBe("float32");
  });
});

describe("operators of ONNX Runtime", () => {
  const domains = { "com.microsoft": 1 };
  const inMicrosoft = { domain: "com.microsoft" };

  it("fused products, activations and attention in FP16; statistics of a normalization stay FP32", async () => {
    const bytes = model({ name: "microsoft", domains }, (graph) => {
      const input = graph.input("x", [2, 4, 8]);
      const product = graph.node(
        "FusedMatMul",
        [input, weight(graph, [8, 8])],
        { alpha: { float: 0.5 } },
        inMicrosoft,
      );
      const gate = graph.node("BiasGelu", [product, weight(graph, [8], 2)], {}, inMicrosoft);
      const [normal = "", , , sum = ""] = graph.nodes(
        "SkipLayerNormalization",
        [gate, input, weight(graph, [8], 3), weight(graph, [8], 4)],
        {},
        { ...inMicrosoft, outputs: ["normal", "", "", "sum"] },
      );
      const heads = graph.node("MultiHeadAttention", [normal, normal, normal], { num_heads: 2 }, inMicrosoft);
      graph.node("QuickGelu", [graph.node("Add", [heads, sum])], {}, { ...inMicrosoft, outputs: ["y"] });
      graph.output("y", "float32", [2, 4, 8]);
    });
    const halved = await expectClose(bytes, { x: floats([2, 4, 8]) });
    for (const op of ["FusedMatMul", "BiasGelu", "SkipLayerNormalization", "MultiHeadAttention"])
      expect(dtypeOf(halved, op), op).toBe("float16");
    expect(countOf(halved.after.graph, "Cast")).toBe(2);
  });

  it("keeps an unknown operator's operands", () => {
    const bytes = model({ name: "unknown", domains: { mine: 1 } }, (graph) => {
      const product = graph.node("MatMul", [graph.input("x", [4, 8]), weight(graph, [8, 8])]);
      const mine = graph.node("Mine", [product], {}, { domain: "mine" });
      graph.node("MatMul", [mine, weight(graph, [8, 8], 2)], {}, { outputs: ["y"] });
      graph.output("y", "float32", [4, 8]);
    });
    const { after } = halveBytes(bytes);
    const mine = after.graph.nodes.find(({ opType }) => opType === "Mine");
    expect(mine?.inputs[0]?.producer?.opType).toBe("Cast");
    // Nobody knows the type of what it gives: the product behind it is left alone.
    expect(mine?.outputs[0]?.consumers.map(({ opType }) => opType)).toEqual(["MatMul"]);
  });
});

describe("quantized models", () => {
  const quantize = (graph: GraphBuilder, value: string, scale: number) => {
    const parameters = [graph.scalar(scale), graph.weight([], { dtype: "int8", values: [0] })];
    return graph.node("DequantizeLinear", [
      graph.node("QuantizeLinear", [value, ...parameters]),
      ...parameters,
    ]);
  };

  it("leaves products of codes as they are", async () => {
    const bytes = model({ name: "qdq", opset: 21 }, (graph) => {
      const input = quantize(graph, graph.input("x", [4, 8]), 0.01);
      const codes = graph.weight([8, 8], {
        dtype: "int8",
        values: noise(64, 3).map((v) => Math.round(v * 100)),
      });
      const weights = graph.node("DequantizeLinear", [codes, graph.scalar(0.01)]);
      const relu = graph.node("Relu", [graph.node("MatMul", [input, weights])]);
      const product = graph.node("MatMul", [quantize(graph, relu, 0.05), weight(graph, [8, 8])]);
      graph.node("MatMul", [product, weight(graph, [8, 8], 5)], {}, { outputs: ["y"] });
      graph.output("y");
    });
    const halved = await expectClose(bytes);
    const { root } = inferFacts(halved.after);
    const products = halved.after.graph.nodes.filter(({ opType }) => opType === "MatMul");
    const facts = products.flatMap(({ outputs }) =>
      outputs.flatMap((value) => (value ? [root.fact(value)] : [])),
    );
    expect(facts).toMatchObject([{ dtype: "float32" }, { dtype: "float32" }, { dtype: "float16" }]);
  });

  it("dequantizes weights to FP16", async () => {
    const bytes = model({ name: "weights", opset: 21 }, (graph) => {
      const codes = graph.weight([8, 8], {
        dtype: "int8",
        values: noise(64, 3).map((v) => Math.round(v * 100)),
      });
      const weights = graph.node("DequantizeLinear", [codes, graph.scalar(0.01)]);
      graph.node("MatMul", [graph.input("x", [4, 8]), weights], {}, { outputs: ["y"] });
      graph.output("y");
    });
    expect(dtypeOf(await expectClose(bytes), "DequantizeLinear")).toBe("float16");
  });
});

describe("old and mixed files", () => {
  it("casts by name before opset 6, and changes inputs that list an initializer before IR 4", async () => {
    const bytes = model({ name: "old", opset: 5, irVersion: 3 }, (graph) => {
      const input = graph.input("x", [4, 8]);
      const w = graph.input(weight(graph, [8, 8]), [8, 8]);
      graph.node("MatMul", [input, w], {}, { outputs: ["y"] });
      graph.output("y", "float32", [4, 8]);
    });
    const { after, changed } = halveBytes(bytes);
    expect(changed).toBe(true);
    const cast = after.graph.nodes.find(({ opType }) => opType === "Cast");
    expect(cast?.attributes[0]?.value).toEqual({ type: "string", value: "FLOAT16" });
    expect(after.graph.inputs.map(({ declared }) => declared)).toMatchObject([
      { dtype: "float32" },
      { dtype: "float16" },
    ]);
  });

  it("runs an initializer listed as an input before IR 4", async () => {
    const bytes = model({ name: "old", opset: 9, irVersion: 3 }, (graph) => {
      const input = graph.input("x", [4, 8]);
      const w = graph.input(weight(graph, [8, 8]), [8, 8]);
      graph.node("MatMul", [input, w], {}, { outputs: ["y"] });
      graph.output("y", "float32", [4, 8]);
    });
    await expectClose(bytes);
  });

  it("keeps a default that the caller may replace in FP32", async () => {
    const bytes = model({ name: "default" }, (graph) => {
      const input = graph.input("x", [4, 8]);
      const w = graph.input(graph.weight([8, 8], { name: "w", values: noise(64, 2) }), [8, 8]);
      graph.node("MatMul", [input, w], {}, { outputs: ["y"] });
      graph.output("y");
    });
    const { after } = await expectClose(bytes);
    expect(after.graph.values.get("w")?.initializer?.dtype).toBe("float32");
    const other = new Tensor("float32", Float32Array.from(noise(64, 8)), [8, 8]);
    await expectClose(bytes, { x, w: other });
  });

  it("takes FP16 weights behind a Cast as they are", async () => {
    const bytes = model({ name: "mixed" }, (graph) => {
      const halves = graph.weight([8, 8], {
        dtype: "float16",
        values: noise(64, 4).map((v) => Math.round(v * 64) / 64),
      });
      const wide = graph.node("Cast", [halves], { to: 1 });
      graph.node("MatMul", [graph.input("x", [4, 8]), wide], {}, { outputs: ["y"] });
      graph.output("y");
    });
    const { after } = await expectClose(bytes);
    expect(countOf(after.graph, "Cast")).toBe(2);
  });

  it("keeps the type of an input that a body refers to, also where inputs become half", async () => {
    const bytes = model({ name: "io" }, (graph) => {
      const input = graph.input("x", [4, 8]);
      const state = graph.input("state", [4, 8]);
      const body = graph.inner("body");
      body.input("i", [], "int64");
      const condition = body.input("go", [], "bool");
      const carried = body.input("carried", [4, 8]);
      body.node("Identity", [condition], {}, { outputs: ["on"] });
      body.node("MatMul", [carried, weight(body, [8, 8])], {}, { outputs: ["next"] });
      body.output("on", "bool", []);
      body.output("next", "float32", [4, 8]);
      const trips = graph.weight([], { dtype: "int64", values: [2] });
      const last = graph.node("Loop", [trips, "", state], { body: { graph: body } });
      graph.node("Add", [last, graph.node("MatMul", [input, weight(graph, [8, 8])])], {}, { outputs: ["y"] });
      graph.output("y", "float32", [4, 8]);
    });
    const { after } = halveBytes(bytes, { halfIo: true });
    expect(after.graph.inputs.map(({ declared }) => declared)).toMatchObject([
      { dtype: "float16" },
      { dtype: "float32" },
    ]);
    await expectClose(bytes, { x, state: floats([4, 8], 9) });
  });
});
