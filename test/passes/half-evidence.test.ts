import { Tensor } from "onnxruntime-node";
import { describe, expect, it } from "vitest";
import { type GraphBuilder, model } from "../../fixtures/builder.ts";
import { modelFromBytes } from "../../src/onnx/open.ts";
import { bytesOfModel, difference, floats, noise, run } from "./folding.ts";
import { behindProduct, countOf, dtypeOf, expectClose, halveBytes, runEmulation, weight } from "./halving.ts";

const x = floats([4, 8]);

describe("masks", () => {
  const masked = (value: number, build = "Where") =>
    behindProduct((graph, product) => {
      const scores = graph.node("MatMul", [product, graph.node("Transpose", [product], { perm: [1, 0] })]);
      const keys = graph.weight([4, 4], {
        dtype: "bool",
        values: Array.from({ length: 16 }, (_, index) => (index % 4 <= index / 4 ? 1 : 0)),
      });
      const large = graph.scalar(value);
      const result =
        build === "Where"
          ? graph.node("Where", [keys, scores, large])
          : graph.node("Add", [
              scores,
              graph.node("Mul", [
                graph.node("Sub", [graph.scalar(1), graph.node("Cast", [keys], { to: 1 })]),
                large,
              ]),
            ]);
      const weights = graph.node("Softmax", [result], { axis: 1 });
      return graph.node("MatMul", [weights, product]);
    });

  it.each([-1e9, -3.4028234663852886e38])("clamps %d where only a softmax sees it", async (value) => {
    for (const build of ["Where", "Add"]) {
      const { notes, after } = await expectClose(masked(value, build));
      expect(notes.some(({ message }) => message.includes("clamped to -32752"))).toBe(true);
      expect(notes.some(({ kind }) => kind === "kept")).toBe(false);
      expect(countOf(after.graph, "Cast")).toBeLessThanOrEqual(4);
    }
  });

  const lowest = -3.4028234663852886e38;
  const scored = (mask: (graph: GraphBuilder) => string) =>
    model({ name: "masked", opset: 17 }, (graph) => {
      const input = graph.input("x", [64, 64]);
      const [a, b] = [1, 2].map((seed) => graph.node("MatMul", [input, weight(graph, [64, 64], seed, 0.1)]));
      const scores = graph.node("MatMul", [a ?? "", graph.node("Transpose", [b ?? ""], { perm: [1, 0] })]);
      const weights = graph.node("Softmax", [graph.node("Add", [scores, mask(graph)])], { axis: 1 });
      graph.node("MatMul", [weights, input], {}, { outputs: ["y"] });
      graph.output("y");
    });
  /** The last row is masked as a whole. */
  const rows = (masked: number, open: number) => {
    const fill = (_: unknown, at: number) => (at >= 63 * 64 || at % 64 > at / 64 ? masked : open);
    return new Tensor("float32", Float32Array.from({ length: 64 * 64 }, fill), [64, 64]);
  };
  const queries = floats([64, 64]);

  it.each(["float16", "bfloat16"] as const)("that are inputs are added in FP32 (%s)", async (halfType) => {
    const bytes = scored((graph) => graph.input("mask", [64, 64]));
    const feeds = { x: queries, mask: rows(lowest, 0) };
    for (const halfIo of [false, true]) {
      const halved = halveBytes(bytes, { halfType, halfIo });
      expect(dtypeOf(halved, "Softmax")).toBe("float32");
      const mask = halved.after.graph.inputs.find(({ name }) => name === "mask");
      expect(mask?.declared).toMatchObject({ dtype: "float32" });
    }
    const emulated = runEmulation(modelFromBytes(bytes), { halfType });
    const [expected, actual] = [await run(bytes, feeds), await run(bytesOfModel(emulated), feeds)];
    expect(difference(expected, actual)).toBeLessThan(halfType === "float16" ? 5e-3 : 4e-2);
    if (halfType === "float16") await expectClose(bytes, feeds);
  });

  it("keep −∞, and so the NaN of a row that holds nothing else", async () => {
    const bytes = scored((graph) => graph.input("mask", [64, 64]));
    const feeds = { x: queries, mask: rows(Number.NEGATIVE_INFINITY, 0) };
    const { after } = halveBytes(bytes);
    const [expected, actual] = [await run(bytes, feeds), await run(bytesOfModel(after), feeds)];
    const invalid = (values: typeof expected) =>
      Array.from(values.get("y")?.data as Float32Array, (value) => Number.isNaN(value));
    expect(invalid(expected)).toContain(true);
    expect(invalid(actual)).toEqual(invalid(expected));
  });

  it("may be made from inputs: (1 − mask) · −1e9", async () => {
    const bytes = scored((graph) => {
      const kept = graph.node("Sub", [graph.scalar(1), graph.input("mask", [64, 64])]);
      return graph.node("Mul", [kept, graph.scalar(-1e9)]);
    });
    await expectClose(bytes, { x: queries, mask: rows(0, 1) });
  });

  it("may be chosen by an input, number by number: a row of nothing but masks is as it was", async () => {
    const bytes = scored((graph) => {
      const isKept = graph.node("Cast", [graph.input("mask", [64, 64])], { to: 9 });
      return graph.node("Where", [isKept, graph.scalar(0), graph.scalar(lowest)]);
    });
    const { notes } = await expectClose(bytes, { x: queries, mask: rows(0, 1) });
    expect(notes.some(({ message }) => message.includes("clamped"))).toBe(false);
    expect(dtypeOf(halveBytes(bytes), "Softmax")).toBe("float32");
  });

  it("is clamped where it stands in place of the scores, whoever chooses", async () => {
    const bytes = model({ name: "filled", opset: 17 }, (graph) => {
      const input = graph.input("x", [64, 64]);
      const isKept = graph.node("Cast", [graph.input("mask", [64, 64])], { to: 9 });
      const scores = graph.node("MatMul", [input, weight(graph, [64, 64], 1, 0.1)]);
      const weights = graph.node("Softmax", [graph.node("Where", [isKept, scores, graph.scalar(lowest)])]);
      graph.node("MatMul", [weights, weight(graph, [64, 64], 2)], {}, { outputs: ["y"] });
      graph.output("y");
    });
    const { notes } = await expectClose(bytes, { x: queries, mask: rows(0, 1) });
    expect(notes.some(({ message }) => message.includes("clamped to -32752"))).toBe(true);
  });

  it("leaves −∞ and what fits alone", async () => {
    for (const value of [-10000, Number.NEGATIVE_INFINITY]) {
      const { notes } = await expectClose(masked(value));
      expect(notes.some(({ message }) => message.includes("clamped"))).toBe(false);
    }
  });

  it("keeps a large constant that something else reads in FP32", async () => {
    const bytes = behindProduct((graph, product) => {
      const large = graph.scalar(-1e9);
      const kept = graph.node("Where", [graph.node("Less", [product, graph.scalar(0)]), large, product]);
      return graph.node("LogSoftmax", [kept]);
    });
    const halved = await expectClose(bytes);
    expect(dtypeOf(halved, "Where")).toBe("float32");
    expect(halved.notes.some(({ message }) => message.includes("out of FP16's range"))).toBe(true);
  });
});

describe("whole numbers", () => {
  const count = 8192;
  /** A row of a table for each of many numbers, through a product. */
  const reading = (numbers: (graph: GraphBuilder) => string) =>
    model({ name: "indices", opset: 17 }, (graph) => {
      const ids = graph.node("Cast", [numbers(graph)], { to: 7 });
      const table = graph.weight([5000, 8], { values: noise(40_000, 3) });
      const rows = graph.node("Gather", [table, ids], { axis: 0 });
      graph.node("MatMul", [rows, weight(graph, [8, 8])], {}, { outputs: ["y"] });
      graph.output("y", "float32", [count, 8]);
    });
  const ids = Array.from({ length: count }, (_, index) => (index * 37) % 4999);
  const feeds = { x: new Tensor("float32", Float32Array.from(ids), [count]) };

  it("are made of floats that stay FP32: 4095 is 4096 in half", async () => {
    const computed = (graph: GraphBuilder) => {
      const input = graph.node("Mul", [graph.input("x", [count]), graph.scalar(1)]);
      return graph.node("Floor", [graph.node("Add", [input, graph.scalar(0.25)])]);
    };
    const halved = await expectClose(reading(computed), feeds);
    for (const op of ["Mul", "Add", "Floor"]) expect(dtypeOf(halved, op), op).toBe("float32");
    expect(dtypeOf(halved, "MatMul")).toBe("float16");
  });

  it("may be two bytes put together", async () => {
    const built = reading((graph) => {
      const byte = (name: string) => graph.node("Cast", [graph.input(name, [count], "uint8")], { to: 1 });
      return graph.node("Add", [graph.node("Mul", [byte("high"), graph.scalar(256)]), byte("low")]);
    });
    const bytesOf = (take: (id: number) => number) =>
      new Tensor("uint8", Uint8Array.from(ids, take), [count]);
    const halves = { high: bytesOf((id) => id >> 8), low: bytesOf((id) => id & 255) };
    expect(dtypeOf(await expectClose(built, halves), "Add")).toBe("float32");
  });

  it("go through branches", async () => {
    const built = reading((graph) => {
      const input = graph.input("x", [count]);
      const branch = (name: string, shift: number) => {
        const inner = graph.inner(name);
        const moved = inner.node("Add", [input, inner.scalar(shift)]);
        inner.node("Mul", [moved, inner.scalar(1)], {}, { outputs: [`${name}_ids`] });
        inner.output(`${name}_ids`, "float32", [count]);
        return { graph: inner };
      };
      const flag = graph.input("flag", [], "bool");
      return graph.node("If", [flag], { then_branch: branch("yes", 0), else_branch: branch("no", 1) });
    });
    await expectClose(built, { ...feeds, flag: new Tensor("bool", Uint8Array.of(1), []) });
  });

  it("leave an input of theirs FP32 where inputs become half", () => {
    const { after } = halveBytes(
      reading((graph) => graph.input("x", [count])),
      { halfIo: true },
    );
    expect(after.graph.inputs[0]?.declared).toMatchObject({ dtype: "float32" });
    expect(after.graph.outputs[0]?.declared).toMatchObject({ dtype: "float16" });
  });

  it("may be the end of a Range", async () => {
    const bytes = behindProduct((graph, product) => {
      const peak = graph.node("ReduceMax", [product], { keepdims: 0 });
      const last = graph.node("Floor", [graph.node("Mul", [peak, graph.scalar(1)])]);
      const range = graph.node("Range", [graph.scalar(0), last, graph.scalar(1)]);
      const length = graph.node("Cast", [graph.node("Size", [range])], { to: 1 });
      const share = graph.node("Div", [length, graph.scalar(4095)]);
      return graph.node("MatMul", [graph.node("Mul", [product, share]), weight(graph, [8, 8], 3)]);
    });
    const halved = await expectClose(bytes);
    for (const op of ["ReduceMax", "Floor"]) expect(dtypeOf(halved, op), op).toBe("float32");
  });
});

describe("evidence", () => {
  it("keeps a normalization written out in FP32 as one piece", async () => {
    const bytes = behindProduct((graph, product) => {
      const mean = graph.node("ReduceMean", [product], { axes: [1] });
      const centered = graph.node("Sub", [product, mean]);
      const square = graph.node("Pow", [centered, graph.scalar(2)]);
      const variance = graph.node("ReduceMean", [square], { axes: [1] });
      const deviation = graph.node("Sqrt", [graph.node("Add", [variance, graph.scalar(1e-12)])]);
      const normal = graph.node("Div", [centered, deviation]);
      return graph.node("MatMul", [
        graph.node("Mul", [normal, weight(graph, [8])]),
        weight(graph, [8, 8], 2),
      ]);
    });
    const halved = await expectClose(bytes);
    for (const op of ["ReduceMean", "Sub", "Pow", "Add", "Sqrt", "Div"])
      expect(dtypeOf(halved, op), op).toBe("float32");
    expect(countOf(halved.after.graph, "Cast")).toBe(4);
  });

  it("keeps positions and angles in FP32, and what they turn into in FP16", async () => {
    const bytes = model({ name: "rope" }, (graph) => {
      const input = graph.input("x", [4, 8]);
      const ids = graph.input("ids", [4, 1], "int64");
      const angles = graph.node("Mul", [graph.node("Cast", [ids], { to: 1 }), weight(graph, [1, 8])]);
      const product = graph.node("MatMul", [input, weight(graph, [8, 8])]);
      const turned = graph.node("Mul", [product, graph.node("Cos", [angles])]);
      graph.node("MatMul", [turned, weight(graph, [8, 8], 4)], {}, { outputs: ["y"] });
      graph.output("y");
    });
    const ids = new Tensor("int64", BigInt64Array.from([100_001n, 5n, 70_003n, 65_537n]), [4, 1]);
    const halved = await expectClose(bytes, { x, ids });
    expect(dtypeOf(halved, "Cos")).toBe("float32");
  });

  it("lets a power saturate where a tanh ends it", async () => {
    const gelu = (graph: GraphBuilder, value: string) => {
      const cube = graph.node("Mul", [graph.node("Pow", [value, graph.scalar(3)]), graph.scalar(0.044715)]);
      const inner = graph.node("Mul", [graph.node("Add", [value, cube]), graph.scalar(0.79788)]);
      const gate = graph.node("Add", [graph.node("Tanh", [inner]), graph.scalar(1)]);
      return graph.node("Mul", [graph.node("Mul", [value, graph.scalar(0.5)]), gate]);
    };
    const bytes = behindProduct((graph, product) =>
      graph.node("MatMul", [gelu(graph, product), weight(graph, [8, 8], 2)]),
    );
    const large = new Tensor(
      "float32",
      Float32Array.from(noise(32, 5), (value) => value * 200),
      [4, 8],
    );
    const halved = await expectClose(bytes, { x: large });
    expect(dtypeOf(halved, "Pow")).toBe("float16");
  });

  it("believes ranges: large ones make islands, small ones clear overflows", async () => {
    const bytes = behindProduct((graph, product) => {
      const exponential = graph.node("Exp", [product], {}, { outputs: ["exp"] });
      return graph.node("MatMul", [exponential, weight(graph, [8, 8], 2)], {}, { outputs: ["product"] });
    });
    const small = new Map([...modelFromBytes(bytes).graph.values.keys()].map((name) => [name, 50]));
    const seen = (largest: Map<string, number>) => ({ ranges: { largest, areSamples: true } });
    expect(dtypeOf(await expectClose(bytes), "Exp")).toBe("float32");
    expect(dtypeOf(await expectClose(bytes, { x }, seen(small)), "Exp")).toBe("float16");
    const large = new Map([...small, ["product", 60_000] as const]);
    const halved = await expectClose(bytes, { x }, seen(large));
    expect(halved.notes.some(({ message }) => message.includes("reaches 60000 on sample inputs"))).toBe(true);
  });

  it("takes drawn inputs as a reason for FP32, never against it: |h| of 100 to the third overflows", async () => {
    const bytes = behindProduct((graph, product) =>
      graph.node("MatMul", [graph.node("Pow", [product, graph.scalar(3)]), weight(graph, [8, 8], 2)]),
    );
    const largest = new Map([...modelFromBytes(bytes).graph.values.keys()].map((name) => [name, 4]));
    const large = new Tensor(
      "float32",
      Float32Array.from(noise(32, 5), (value) => value * 100),
      [4, 8],
    );
    const halved = await expectClose(bytes, { x: large }, { ranges: { largest, areSamples: false } });
    expect(dtypeOf(halved, "Pow")).toBe("float32");
  });

  it.each(["ReduceSum", "ReduceL1"])("judges a %s over a symbolic axis as a long one", async (op) => {
    const bytes = model({ name: "symbolic", opset: 12 }, (graph) => {
      const input = graph.input("x", ["n", 8]);
      const product = graph.node("MatMul", [input, weight(graph, [8, 8])]);
      const total = graph.node(op, [product], { axes: [0], keepdims: 1 });
      graph.node("MatMul", [total, weight(graph, [8, 8], 3)], {}, { outputs: ["y"] });
      graph.output("y");
    });
    const long = new Tensor("float32", new Float32Array(4096 * 8).fill(20), [4096, 8]);
    const halved = await expectClose(bytes, { x: long });
    expect(dtypeOf(halved, op)).toBe("float32");
  });

  it.each(["MatMul", "Gemm", "Gather"])(
    "keeps a %s whose weight has lanes that vanish beside others",
    async (op) => {
      const tiny = (lane: number) => (lane % 2 === 0 ? 1e-8 : 1);
      const scaled = (lane: (index: number) => number) =>
        noise(64 * 64, 7).map((w, at) => w * tiny(lane(at)));
      const bytes = model({ name: "lanes", opset: 17 }, (graph) => {
        const input = graph.input("x", [64, 64]);
        const columns = graph.weight([64, 64], { values: scaled((at) => at % 64) });
        const rows = graph.weight([64, 64], { values: scaled((at) => Math.floor(at / 64)) });
        const ids = graph.weight([64], { dtype: "int64", values: Array.from({ length: 64 }, (_, id) => id) });
        const back = Array.from({ length: 64 }, (_, lane) => 1 / tiny(lane));
        const results: Record<string, () => string> = {
          MatMul: () => graph.node("MatMul", [input, columns]),
          Gemm: () => graph.node("Gemm", [input, rows], { transB: 1 }),
          Gather: () => graph.node("Transpose", [graph.node("Gather", [rows, ids])]),
        };
        const result = graph.node("Mul", [results[op]?.() ?? "", graph.weight([64], { values: back })]);
        graph.node("MatMul", [result, weight(graph, [64, 64])], {}, { outputs: ["y"] });
        graph.output("y");
      });
      const halved = await expectClose(bytes, { x: floats([64, 64]) });
      expect(dtypeOf(halved, op)).toBe("float32");
      expect(halved.notes.some(({ message }) => message.includes("32 lanes of"))).toBe(true);
    },
  );

  it("judges each constant by its own elements, whatever was read before", async () => {
    const bytes = model({ name: "each", opset: 17 }, (graph) => {
      const input = graph.input("x", [16, 64]);
      const large = graph.weight([64], { values: new Array(64).fill(1e6) });
      const product = graph.node("MatMul", [input, weight(graph, [64, 64])]);
      graph.node("Div", [product, large], {}, { name: "large" });
      const small = graph.node("Add", [product, weight(graph, [1, 64], 2)], {}, { name: "small" });
      graph.node("MatMul", [small, weight(graph, [64, 8], 3)], {}, { outputs: ["y"] });
      graph.output("y");
    });
    const { notes } = halveBytes(bytes);
    expect(notes.filter(({ kind }) => kind === "kept").map(({ node }) => node?.name)).toEqual(["large"]);
  });

  it("keeps an operator that has no FP16 form", async () => {
    const bytes = behindProduct((graph, product) =>
      graph.node("MatMul", [graph.node("Celu", [product]), weight(graph, [8, 8], 2)]),
    );
    const halved = await expectClose(bytes);
    expect(dtypeOf(halved, "Celu")).toBe("float32");
    expect(countOf(halved.after.graph, "Cast")).toBe(4);
  });
});

describe("normalizations without an epsilon", () => {
  const normalized = (epsilon: number) =>
    behindProduct((graph, product) => {
      const bounded = graph.node("Tanh", [graph.node("Mul", [product, graph.scalar(8)])]);
      const scale = graph.weight([8], { values: new Array(8).fill(1) });
      const attributes = { axis: -1, epsilon: { float: epsilon } };
      const rows = graph.node("LayerNormalization", [bounded, scale], attributes);
      return graph.node("MatMul", [rows, weight(graph, [8, 8])]);
    });

  it("read what half would make one number, and divide by nothing", async () => {
    const halved = halveBytes(normalized(0));
    for (const op of ["Tanh", "LayerNormalization"]) expect(dtypeOf(halved, op), op).toBe("float32");
    expect(dtypeOf(halved, "MatMul")).toBe("float16");
    expect(halved.notes.map(({ message }) => message).join()).toMatch(/without an epsilon/);
    // Rows on which Tanh is all but 1 everywhere.
    const large = new Tensor("float32", new Float32Array(32).fill(40), [4, 8]);
    const outputs = [...(await run(bytesOfModel(halved.after), { x: large })).values()];
    const before = [...(await run(normalized(0), { x: large })).values()];
    const finite = ({ data }: Tensor) => Array.from(data as Float32Array, Number.isFinite);
    expect(outputs.map(finite)).toEqual(before.map(finite));
  });

  it("run in half where they have one", () => {
    expect(dtypeOf(halveBytes(normalized(1e-5)), "Tanh")).toBe("float16");
  });
});
