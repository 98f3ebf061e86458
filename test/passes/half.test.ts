import { Tensor } from "onnxruntime-node";
import { describe, expect, it } from "vitest";
import { model } from "../../fixtures/builder.ts";
import { floats, noise } from "./folding.ts";
import { behindProduct, countOf, dtypeOf, expectClose, halveBytes, weight } from "./halving.ts";

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

  it("casts for nothing what is computed ahead of time: one table of angles, read in half wherever that pays", async () => {
    const bytes = model({ name: "angles" }, (graph) => {
      const product = graph.node("MatMul", [graph.input("x", [64, 8]), weight(graph, [8, 512])]);
      const angles = graph.weight([512], { values: Array.from({ length: 512 }, (_, at) => 10 * at) });
      graph.node("Mul", [product, graph.node("Cos", [angles])], {}, { outputs: ["y"] });
      graph.output("y");
    });
    const halved = await expectClose(bytes, { x: floats([64, 8]) });
    expect(dtypeOf(halved, "Cos")).toBe("float32");
    expect(dtypeOf(halved, "Mul")).toBe("float16");
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
