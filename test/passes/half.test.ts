import { Tensor } from "onnxruntime-node";
import { describe, expect, it } from "vitest";
import { type GraphBuilder, type ModelBuilder, type ModelOptions, model } from "../../fixtures/builder.ts";
import { inferFacts } from "../../src/facts/infer.ts";
import { modelFromBytes } from "../../src/onnx/open.ts";
import type { PassOptions } from "../../src/passes/pass.ts";
import { bytesOfModel, difference, type Feeds, floats, noise, run, volume } from "./folding.ts";
import { countOf, type Halved, halveBytes, runHalf } from "./halving.ts";

/** Rounding to 11 bits a few times over. */
const tolerance = 5e-3;

const x = floats([4, 8]);

function weight(graph: GraphBuilder, dims: readonly number[], seed = 7, scale = 1): string {
  return graph.weight(dims, { values: noise(volume(dims), seed).map((value) => value * scale) });
}

/** x [4, 8] · w, then whatever `build` makes of it, as y. */
function behindProduct(
  build: (graph: GraphBuilder, product: string, builder: ModelBuilder) => string,
  options: Partial<ModelOptions> = {},
): Uint8Array {
  return model({ name: "half", opset: 17, ...options }, (graph, builder) => {
    const input = graph.input("x", [4, 8]);
    const product = graph.node("MatMul", [input, weight(graph, [8, 8])]);
    graph.node("Identity", [build(graph, product, builder)], {}, { outputs: ["y"] });
    graph.output("y");
  });
}

async function expectClose(
  bytes: Uint8Array,
  feeds: Feeds = { x },
  options: Partial<PassOptions> = {},
): Promise<Halved> {
  const halved = halveBytes(bytes, options);
  expect(halved.changed).toBe(true);
  expect(runHalf(halved.after, options).changed).toBe(false);
  const expected = await run(bytes, feeds);
  const actual = await run(bytesOfModel(halved.after), feeds);
  expect(difference(expected, actual)).toBeLessThan(tolerance);
  return halved;
}

function dtypeOf({ after }: Halved, opType: string): unknown {
  const node = after.graph.nodes.find((each) => each.opType === opType);
  const value = node?.outputs[0];
  const fact = value && inferFacts(after).root.fact(value);
  return fact?.kind === "tensor" ? fact.dtype : undefined;
}

describe("graphs that break other converters", () => {
  it("turns a Cast to FP32 inside a half region into one to FP16", async () => {
    const bytes = behindProduct((graph, product) => {
      const flags = graph.node("Greater", [product, graph.scalar(0)]);
      const mask = graph.node("Cast", [flags], { to: 1 });
      return graph.node("MatMul", [graph.node("Mul", [product, mask]), weight(graph, [8, 8], 3)]);
    });
    const halved = await expectClose(bytes);
    expect(countOf(halved.after.graph, "Cast")).toBe(3);
    expect(dtypeOf(halved, "Mul")).toBe("float16");
  });

  it("keeps the scales of a Resize", async () => {
    const bytes = model({ name: "resize" }, (graph) => {
      const input = graph.input("x", [1, 3, 8, 8]);
      const conv = graph.node("Conv", [input, weight(graph, [4, 3, 3, 3])], { pads: [1, 1, 1, 1] });
      const scales = graph.weight([4], { values: [1, 1, 2, 2] });
      const larger = graph.node("Resize", [conv, "", scales], { mode: "linear" });
      graph.node("Conv", [larger, weight(graph, [2, 4, 1, 1])], {}, { outputs: ["y"] });
      graph.output("y");
    });
    const halved = await expectClose(bytes, { x: floats([1, 3, 8, 8]) });
    expect(dtypeOf(halved, "Resize")).toBe("float16");
    expect(countOf(halved.after.graph, "Cast")).toBe(2);
  });

  it("casts a value once for a node that reads it twice, and for all its readers", async () => {
    const bytes = model({ name: "reused" }, (graph) => {
      const input = graph.input("x", [4, 8]);
      const twice = graph.node("Max", [input, input]);
      const left = graph.node("MatMul", [twice, weight(graph, [8, 8])]);
      const right = graph.node("MatMul", [input, weight(graph, [8, 8], 2)]);
      graph.node("Add", [left, right], {}, { outputs: ["y"] });
      graph.node("Max", [left, left], {}, { outputs: ["z"] });
      for (const output of ["y", "z"]) graph.output(output);
    });
    const { after } = await expectClose(bytes);
    expect(countOf(after.graph, "Cast")).toBeLessThanOrEqual(4);
  });

  it("takes nodes without names", async () => {
    const bytes = model({ name: "unnamed" }, (graph) => {
      let value = graph.input("x", [4, 8]);
      for (const seed of [1, 2, 3]) {
        const product = graph.node("MatMul", [value, weight(graph, [8, 8], seed)], {}, { name: "" });
        value = graph.node("Relu", [product], {}, { name: "" });
      }
      graph.node("Identity", [value], {}, { name: "", outputs: ["y"] });
      graph.output("y");
    });
    await expectClose(bytes);
  });

  it("gives ConstantOfShape an FP16 value, also where it had none", async () => {
    const bytes = behindProduct((graph, product) => {
      const zeros = graph.node("ConstantOfShape", [graph.node("Shape", [product])]);
      return graph.node("MatMul", [graph.node("Add", [product, zeros]), weight(graph, [8, 8], 5)]);
    });
    const halved = await expectClose(bytes);
    expect(dtypeOf(halved, "ConstantOfShape")).toBe("float16");
  });

  it.each(["float16", "float32"])("writes all five with %s inputs and outputs", async (edges) => {
    const bytes = model({ name: "all" }, (graph) => {
      const input = graph.input("x", [4, 8]);
      const zeros = graph.node("ConstantOfShape", [graph.node("Shape", [input])], {}, { name: "" });
      const cast = graph.node("Cast", [graph.node("Max", [input, input], {}, { name: "" })], { to: 1 });
      graph.node("MatMul", [graph.node("Add", [cast, zeros]), weight(graph, [8, 8])], {}, { outputs: ["y"] });
      graph.output("y");
    });
    const halved = halveBytes(bytes, { halfIo: edges === "float16" });
    const [input] = halved.after.graph.inputs;
    expect(input?.declared).toMatchObject({ dtype: edges });
    expect(halved.after.graph.outputs[0]?.declared).toMatchObject({ dtype: edges });
    if (edges === "float32") await expectClose(bytes);
    else expect(countOf(halved.after.graph, "Cast")).toBe(0);
  });
});

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
    expect(dtypeOf(await expectClose(bytes), "Exp")).toBe("float32");
    expect(dtypeOf(await expectClose(bytes, { x }, { ranges: small }), "Exp")).toBe("float16");
    const large = new Map([...small, ["product", 60_000] as const]);
    const halved = await expectClose(bytes, { x }, { ranges: large });
    expect(halved.notes.some(({ message }) => message.includes("reaches 60000 on sample inputs"))).toBe(true);
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

describe("graphs in graphs", () => {
  it("halves the body of an If, with the values around it", async () => {
    const bytes = behindProduct((graph, product) => {
      const shared = weight(graph, [8, 8], 9);
      const branch = (name: string, seed: number) => {
        const inner = graph.inner(name);
        const other = graph.node("MatMul", [product, shared], {}, { outputs: [`outer_${name}`] });
        const first = inner.node("MatMul", [product, weight(inner, [8, 8], seed)]);
        const second = inner.node("MatMul", [first, shared]);
        inner.node("Add", [second, other], {}, { outputs: [`${name}_y`] });
        inner.output(`${name}_y`, "float32", [4, 8]);
        return inner;
      };
      const flag = graph.node("Greater", [
        graph.node("ReduceMax", [product], { keepdims: 0 }),
        graph.scalar(0),
      ]);
      return graph.node("If", [flag], {
        then_branch: { graph: branch("yes", 1) },
        else_branch: { graph: branch("no", 2) },
      });
    });
    for (const sign of [1, -1]) {
      const feeds = {
        x: new Tensor(
          "float32",
          Float32Array.from(noise(32, 3), (v) => v * sign),
          [4, 8],
        ),
      };
      const { after } = await expectClose(bytes, feeds);
      const inner = after.graph.nodes.find(({ opType }) => opType === "If")?.attributes[0]?.value;
      expect(inner?.type === "graph" && countOf(inner.graph, "Cast")).toBe(1);
    }
  });

  it("halves the body of a Loop; what it carries stays FP32", async () => {
    const bytes = behindProduct((graph, product) => {
      const body = graph.inner("body");
      const scale = weight(graph, [8, 8], 4, 0.3);
      body.input("i", [], "int64");
      const condition = body.input("go", [], "bool");
      const state = body.input("state", [4, 8]);
      body.node("Identity", [condition], {}, { outputs: ["go_on"] });
      body.node("Tanh", [body.node("MatMul", [state, scale])], {}, { outputs: ["next"] });
      body.node("Relu", ["next"], {}, { outputs: ["seen"] });
      body.output("go_on", "bool", []);
      body.output("next", "float32", [4, 8]);
      body.output("seen", "float32", [4, 8]);
      const [last, all] = graph.nodes(
        "Loop",
        [graph.weight([], { dtype: "int64", values: [3] }), "", product],
        { body: { graph: body } },
        { outputs: 2 },
      );
      const sum = graph.node("ReduceSum", [all ?? "", graph.weight([1], { dtype: "int64", values: [0] })], {
        keepdims: 0,
      });
      return graph.node("MatMul", [graph.node("Add", [last ?? "", sum]), weight(graph, [8, 8], 5)]);
    });
    const { after } = await expectClose(bytes);
    const loop = after.graph.nodes.find(({ opType }) => opType === "Loop");
    expect(loop?.inputs[2]?.producer?.opType).toBe("Cast");
  });

  it("casts around the call of a function", async () => {
    const bytes = behindProduct(
      (graph, product, builder) => {
        builder.addFunction("test", "Twice", (body) => {
          const value = body.input("v", undefined);
          body.node(
            "Add",
            [value, body.node("Mul", [value, body.node("Constant", [], { value_float: { float: 1 } })])],
            {},
            { outputs: ["w"] },
          );
          body.output("w");
        });
        const called = graph.node("Twice", [product], {}, { domain: "test" });
        return graph.node("MatMul", [called, weight(graph, [8, 8], 5)]);
      },
      { domains: { test: 1 } },
    );
    const { after } = await expectClose(bytes);
    expect(countOf(after.graph, "Cast")).toBe(4);
  });
});

describe("edges", () => {
  it("keeps what is an output and read inside, and what is stored and an output", async () => {
    const bytes = model({ name: "edges" }, (graph) => {
      const input = graph.input("x", [4, 8]);
      const stored = graph.weight([8, 8], { name: "w", values: noise(64, 1) });
      const middle = graph.node("MatMul", [input, stored], {}, { outputs: ["middle"] });
      graph.node("MatMul", [middle, stored], {}, { outputs: ["y"] });
      for (const name of ["y", "middle", "w"]) graph.output(name);
    });
    await expectClose(bytes);
  });

  it("keeps a small model that nothing would gain from", () => {
    const bytes = model({ name: "small" }, (graph) => {
      graph.node("Relu", [graph.input("x", [4, 8])], {}, { outputs: ["y"] });
      graph.output("y");
    });
    expect(halveBytes(bytes).changed).toBe(false);
  });

  it("writes bfloat16 where the opset has it, and says where it does not", () => {
    const bytes = behindProduct((graph, product) => graph.node("Relu", [product]));
    const halved = halveBytes(bytes, { halfType: "bfloat16" });
    expect(dtypeOf(halved, "MatMul")).toBe("bfloat16");
    const old = behindProduct((graph, product) => graph.node("Relu", [product]), { opset: 12 });
    expect(halveBytes(old, { halfType: "bfloat16" }).notes).toMatchObject([{ kind: "blocked" }]);
  });

  it("keeps a convolution that its opset has no bfloat16 for", () => {
    const conv = (opset: number) =>
      model({ name: "conv", opset }, (graph) => {
        const input = graph.input("x", [1, 3, 8, 8]);
        graph.node("Conv", [input, weight(graph, [4, 3, 3, 3])], {}, { outputs: ["y"] });
        graph.output("y");
      });
    expect(dtypeOf(halveBytes(conv(22), { halfType: "bfloat16" }), "Conv")).toBe("bfloat16");
    const { changed, notes } = halveBytes(conv(17), { halfType: "bfloat16" });
    expect(changed).toBe(false);
    expect(notes).toMatchObject([{ kind: "kept", message: expect.stringContaining("no BF16 form") }]);
  });
});
