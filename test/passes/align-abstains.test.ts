/** Models that padding, or folding, would change in a way that no weight shows: both keep off. */
import onnxProto from "onnx-proto";
import { Tensor } from "onnxruntime-node";
import { describe, expect, it } from "vitest";
import { type AttributeSpec, type GraphBuilder, model } from "../../fixtures/builder.ts";
import type { DType } from "../../src/ir/dtype.ts";
import { modelFromBytes } from "../../src/onnx/open.ts";
import { expectSame } from "./folding.ts";
import {
  expectSamePadded,
  fateOf,
  imageFeed,
  imageModel,
  padEverything,
  rowsFeed,
  rowsModel,
  weight,
} from "./padding.ts";

const { onnx } = onnxProto;

const flag = new Tensor("bool", Uint8Array.from([1]), []);

describe("training", () => {
  it("information keeps every axis", () => {
    const plain = rowsModel((graph, h) => graph.node("Relu", [h]));
    const decoded = onnx.ModelProto.decode(plain);
    decoded.trainingInfo = [onnx.TrainingInfoProto.create({ algorithm: { name: "step", node: [] } })];
    const before = modelFromBytes(onnx.ModelProto.encode(decoded).finish());
    expect(padEverything(modelFromBytes(plain)).sizes.size).toBeGreaterThan(0);
    expect(padEverything(before).sizes.size).toBe(0);
  });

  it.each<[string, (graph: GraphBuilder, h: string) => string]>([
    [
      "true",
      (graph, h) => graph.node("Dropout", [h, graph.scalar(0.4), graph.scalar(1, "bool")], { seed: 7 }),
    ],
    [
      "computed",
      (graph, h) =>
        graph.node("Dropout", [h, graph.scalar(0.4), graph.input("flag", [], "bool")], { seed: 7 }),
    ],
  ])("mode of Dropout, %s, draws a mask of its input's shape", async (_, build) => {
    const padding = await expectSamePadded(rowsModel(build), _ === "true" ? rowsFeed : { ...rowsFeed, flag });
    expect(fateOf(padding, "h", 1)).toMatch(/Dropout .* draws/);
  });

  it("mode of BatchNormalization takes statistics", () => {
    const bytes = imageModel((graph, h) => {
      const operands = [1, 2, 3].map((seed) => weight(graph, [6], seed));
      const variance = graph.weight([6], { values: [1, 2, 3, 4, 5, 6] });
      const inputs = [h, operands[0] ?? "", operands[1] ?? "", operands[2] ?? "", variance];
      return graph.node("BatchNormalization", inputs, { training_mode: 1 }, { outputs: ["n"] });
    });
    expect(fateOf(padEverything(modelFromBytes(bytes)), "h", 1)).toMatch(/takes statistics/);
  });

  it.each(["RandomNormalLike", "RandomUniformLike", "Bernoulli"])("%s draws as many as there are", (type) => {
    const bytes = rowsModel((graph, h) => graph.node(type, [h], { seed: { float: 3 } }));
    expect(fateOf(padEverything(modelFromBytes(bytes)), "h", 1)).toMatch(new RegExp(type));
  });
});

describe("epsilon", () => {
  const epsilon: Readonly<Record<string, AttributeSpec>> = { epsilon: { float: 0 } };
  const channelsOf = (graph: GraphBuilder) => [weight(graph, [6]), weight(graph, [6], 2)];

  it.each<[string, (graph: GraphBuilder, h: string) => string, number?]>([
    ["InstanceNormalization", (g, h) => g.node("InstanceNormalization", [h, ...channelsOf(g)], epsilon)],
    ["LpNormalization", (g, h) => g.node("LpNormalization", [h], { axis: 3 })],
    [
      "GroupNormalization",
      (g, h) => g.node("GroupNormalization", [h, ...channelsOf(g)], { ...epsilon, num_groups: 6 }),
      21,
    ],
    [
      "LayerNormalization",
      (g, h) =>
        g.node("LayerNormalization", [h, weight(g, [8, 8]), weight(g, [8, 8], 2)], { ...epsilon, axis: 2 }),
    ],
    [
      "LRN without a bias",
      (g, h) => {
        const turned = g.node("Transpose", [h], { perm: [0, 2, 1, 3] });
        const normal = g.node("LRN", [turned], { size: 3, bias: { float: 0 }, alpha: { float: 1 } });
        return g.node("Transpose", [normal], { perm: [0, 2, 1, 3] });
      },
    ],
    [
      "RMSNormalization",
      (g, h) => g.node("RMSNormalization", [h, weight(g, [8, 8])], { ...epsilon, axis: 2 }),
      23,
    ],
  ])("of zero, or too small to tell from it, keeps the channels of %s", async (_, build, opset = 17) => {
    const padding = await expectSamePadded(imageModel(build, 6, opset), imageFeed);
    expect(fateOf(padding, "h", 1)).toMatch(/sums over it/);
  });

  it("is not missed where a stored variance is one", async () => {
    const bytes = imageModel((graph, h) => {
      const variance = graph.weight([6], { values: [1, 2, 3, 4, 5, 6] });
      return graph.node(
        "BatchNormalization",
        [h, ...channelsOf(graph), weight(graph, [6], 3), variance],
        epsilon,
      );
    });
    expect(fateOf(await expectSamePadded(bytes, imageFeed), "h", 1)).toBeGreaterThan(6);
  });

  it("of zero keeps channels whose variance is computed", async () => {
    const bytes = imageModel((graph, h) => {
      const row = graph.node("ReduceMean", [h], { axes: [0, 2, 3], keepdims: 0 });
      const variance = graph.node("Abs", [row]);
      return graph.node("BatchNormalization", [h, ...channelsOf(graph), row, variance], epsilon);
    });
    expect(fateOf(await expectSamePadded(bytes, imageFeed), "h", 1)).toMatch(/sums over it/);
  });
});

describe("folding", () => {
  it("keeps a BatchNormalization behind a product that is added to itself", async () => {
    const bytes = model({ name: "twice", opset: 17 }, (graph) => {
      const x = graph.input("x", [4, 7]);
      const y = graph.node("MatMul", [x, weight(graph, [7, 6])]);
      const operands = [weight(graph, [6], 1), weight(graph, [6], 2), weight(graph, [6], 3)];
      const variance = graph.weight([6], { values: [1, 2, 3, 4, 5, 6] });
      graph.node(
        "BatchNormalization",
        [graph.node("Add", [y, y]), ...operands, variance],
        {},
        { outputs: ["z"] },
      );
      graph.output("z");
    });
    await expectSame(bytes, rowsFeed);
  });

  it("keeps a BatchNormalization whose factors would overflow the weights", async () => {
    const bytes = model({ name: "overflow", opset: 17 }, (graph) => {
      const x = graph.input("x", [4, 2]);
      const w = graph.weight([2, 2], { values: [1e30, 1, 1e30, 2] });
      const y = graph.node("Gemm", [x, w]);
      const [scale, none, one] = [
        [1e10, 1],
        [0, 0],
        [1, 1],
      ].map((values) => graph.weight([2], { values }));
      const operands = [y, scale ?? "", none ?? "", none ?? "", one ?? ""];
      graph.node("BatchNormalization", operands, {}, { outputs: ["z"] });
      graph.output("z");
    });
    const x = new Tensor("float32", Float32Array.from([0, 1, 1e-30, 1e-30, 1e-20, -1e-20, 0, 0]), [4, 2]);
    await expectSame(bytes, { x });
  });
});

describe("a Pad at an input of the model", () => {
  const opsetsOf = [7, 10, 11, 12, 13, 18, 22] as const;
  const cases = opsetsOf.flatMap((opset) =>
    (["float32", "float64", "float16", "int32", "int64", "uint8", "bool"] as const).map(
      (dtype) => [opset, dtype] as const,
    ),
  );

  it.each(cases)("of opset %i takes %s or is not written", async (opset, dtype) => {
    const bytes = model({ name: "edge", opset }, (graph) => {
      const x = graph.input("x", [4, 6], dtype);
      const h = graph.node("Cast", [x], { to: 1 });
      graph.node("MatMul", [h, weight(graph, [6, 3])], {}, { outputs: ["y"] });
      graph.output("y");
    });
    const values = Array.from({ length: 24 }, (_, at) => at % 2);
    const padding = await expectSamePadded(bytes, { x: tensorOf(dtype, values) });
    if (dtype === "float32" || opset >= 13) expect(fateOf(padding, "x", 1)).toBeGreaterThan(6);
  });

  function tensorOf(dtype: DType, values: readonly number[]): Tensor {
    const dims = [4, 6];
    switch (dtype) {
      case "int64":
        return new Tensor(
          "int64",
          BigInt64Array.from(values, (value) => BigInt(value)),
          dims,
        );
      case "int32":
        return new Tensor("int32", Int32Array.from(values), dims);
      case "uint8":
        return new Tensor("uint8", Uint8Array.from(values), dims);
      case "bool":
        return new Tensor("bool", Uint8Array.from(values), dims);
      case "float64":
        return new Tensor("float64", Float64Array.from(values), dims);
      case "float16":
        return new Tensor(
          "float16",
          Uint16Array.from(values, (value) => value * 0x3c00),
          dims,
        );
      default:
        return new Tensor("float32", Float32Array.from(values), dims);
    }
  }
});

describe("an operator that is not known", () => {
  /** h [4,6] through an operator of a domain nobody knows, whose declared output is `declared`; then `use`. */
  function around(declared: readonly number[], use: (graph: GraphBuilder, u: string, h: string) => string) {
    const bytes = rowsModel((graph, h) => {
      const u = graph.node(
        "Mystery",
        [graph.input("other", [4, 6])],
        {},
        { domain: "nobody", outputs: ["u"] },
      );
      return use(graph, u, h);
    });
    const decoded = onnx.ModelProto.decode(bytes);
    const dim = declared.map((dimValue) => ({ dimValue }));
    decoded.graph?.valueInfo?.push(
      onnx.ValueInfoProto.create({ name: "u", type: { tensorType: { elemType: 1, shape: { dim } } } }),
    );
    return padEverything(modelFromBytes(onnx.ModelProto.encode(decoded).finish()));
  }

  it("has outputs of any shape, whatever is declared", () => {
    const padding = around([1, 1], (graph, u, h) => graph.node("Add", [h, u]));
    expect(fateOf(padding, "h", 1)).toMatch(/Mystery/);
  });

  it("and so has what is computed from them", () => {
    const padding = around([1, 1], (graph, u, h) => graph.node("Add", [h, graph.node("Relu", [u])]));
    expect(fateOf(padding, "h", 1)).toMatch(/Mystery/);
  });

  it("leaves what has nothing to do with them", () => {
    const padding = around([1, 1], (graph, u, h) => {
      graph.output(graph.node("Relu", [u]));
      return h;
    });
    expect(fateOf(padding, "h", 1)).toBeGreaterThan(6);
  });
});
