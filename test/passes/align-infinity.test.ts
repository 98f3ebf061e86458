/** Infinity times a zero weight is NaN in a padded lane: it must not come back from behind an operator that takes infinity to a number. */
import { Tensor } from "onnxruntime-node";
import { describe, expect, it } from "vitest";
import { type GraphBuilder, model } from "../../fixtures/builder.ts";
import { expectSamePadded, fateOf, weight } from "./padding.ts";

type Build = (graph: GraphBuilder, h: string) => string;

/** x [4,7] to h [4,6], through `build`, and by a product to y. Nothing says that x is finite. */
function open(build: Build, before: Build = (_, x) => x) {
  return model({ name: "open", opset: 17 }, (graph) => {
    const x = before(graph, graph.input("x", [4, 7]));
    const h = graph.node("Gemm", [x, weight(graph, [7, 6])], {}, { outputs: ["h"] });
    graph.node("MatMul", [build(graph, h), weight(graph, [6, 3])], {}, { outputs: ["y"] });
    graph.output("y");
  });
}

const numbers = Float32Array.from({ length: 28 }, (_, at) => (at % 5) - 2);
const feeds = {
  x: new Tensor(
    "float32",
    numbers.map((value, at) => (at % 9 === 4 ? Infinity : value)),
    [4, 7],
  ),
};

const saturating: readonly (readonly [string, Build])[] = [
  ["Tanh", (g, h) => g.node("Tanh", [h])],
  ["Clip", (g, h) => g.node("Clip", [h, g.scalar(-2), g.scalar(2)])],
  ["Erf", (g, h) => g.node("Erf", [h])],
  [
    "a Cast to whole numbers",
    (g, h) => g.node("Cast", [g.node("Cast", [g.node("Sign", [h])], { to: 7 })], { to: 1 }),
  ],
  ["Softmax over another axis", (g, h) => g.node("Softmax", [h], { axis: 0 })],
  ["Where", (g, h) => g.node("Where", [g.node("IsInf", [h]), g.scalar(0), h])],
  ["a divisor", (g, h) => g.node("Div", [g.scalar(1), g.node("Add", [g.node("Abs", [h]), g.scalar(1)])])],
];

function written(g: GraphBuilder, centred: string): string {
  const mean = g.node("ReduceMean", [g.node("Mul", [centred, centred])], { axes: [-1] });
  return g.node("Div", [centred, g.node("Sqrt", [g.node("Add", [mean, g.scalar(1e-5)])])]);
}

/** Of a row with something infinite in it they make NaN and zeros. */
const norms: readonly Build[] = [
  (g, x) => g.node("LayerNormalization", [x, weight(g, [7])], { axis: -1 }),
  (g, x) => written(g, x),
  (g, x) => written(g, g.node("Sub", [x, g.node("ReduceMean", [x], { axes: [-1] })])),
];

describe("behind a product that may read infinity", () => {
  it.each(saturating)("%s keeps its size", async (_, build) => {
    const padding = await expectSamePadded(open(build), feeds);
    expect(fateOf(padding, "h", 1)).toMatch(
      /^MatMul "\w+" sums over it: infinity that Gemm "\w+" may read leaves NaN \(0 · ∞\) in padded lanes/,
    );
  });

  it.each(saturating)("%s is padded where nothing infinite gets there", async (_, build) => {
    const padding = await expectSamePadded(
      open(build, (g, x) => g.node("Sigmoid", [x])),
      feeds,
    );
    expect(fateOf(padding, "h", 1)).toBeGreaterThan(6);
  });

  it.each(saturating)("%s is padded behind a norm, in one operator or written out", async (_, build) => {
    for (const norm of norms)
      expect(fateOf(await expectSamePadded(open(build, norm), feeds), "h", 1)).toBeGreaterThan(6);
  });

  it("is said with the operator that takes it to a number, and what lets it be padded", async () => {
    const tanh: Build = (g, h) =>
      g.node("Neg", [g.node("Tanh", [g.node("Neg", [h])], {}, { name: "bound" })]);
    expect(fateOf(await expectSamePadded(open(tanh), feeds), "h", 1)).toMatch(
      /where Tanh "bound" takes the others to a number again; no flag allows it, but bounding what Gemm "\w+" reads does \(such as torch\.clamp/,
    );
    const clamp: Build = (g, x) => g.node("Clip", [x, g.scalar(-65504), g.scalar(65504)]);
    expect(fateOf(await expectSamePadded(open(tanh, clamp), feeds), "h", 1)).toBeGreaterThan(6);
  });

  it("a gate on what is infinite itself is padded", async () => {
    const silu: Build = (g, h) => g.node("Mul", [h, g.node("Sigmoid", [h])]);
    const finite = { x: new Tensor("float32", numbers, [4, 7]) };
    expect(fateOf(await expectSamePadded(open(silu), finite), "h", 1)).toBeGreaterThan(6);
  });

  it.each(["LSTM", "GRU", "RNN"])("the units of an %s keep their number", async (type) => {
    const gates = { LSTM: 4, GRU: 3, RNN: 1 }[type] ?? 1;
    const bytes = model({ name: "open", opset: 17 }, (graph) => {
      const x = graph.input("x", [4, 1, 7]);
      const operands = [weight(graph, [1, gates * 5, 7]), weight(graph, [1, gates * 5, 5])];
      graph.node(type, [x, ...operands], { hidden_size: 5 }, { outputs: ["y"] });
      graph.output("y");
    });
    const x = new Tensor("float32", feeds.x.data as Float32Array, [4, 1, 7]);
    const padding = await expectSamePadded(bytes, { x });
    expect(fateOf(padding, "y", 3)).toMatch(/sums over it: infinity that it may read leaves NaN/);
  });
});

describe("infinity that the model holds", () => {
  const mask = (dims: readonly number[]) => {
    const size = dims.reduce((total, dim) => total * dim, 1);
    return Array.from({ length: size }, (_, at) => (at === size - 1 ? -Infinity : 0));
  };

  it("in a small or a large constant leaves NaN behind a zero weight", async () => {
    for (const rows of [4, 5000]) {
      const bytes = model({ name: "held", opset: 17 }, (graph) => {
        const x = graph.node("Sigmoid", [graph.input("x", [rows, 7])]);
        const masked = graph.node("Add", [x, graph.weight([rows, 1], { values: mask([rows, 1]) })]);
        const h = graph.node("MatMul", [masked, weight(graph, [7, 6])], {}, { outputs: ["h"] });
        graph.node("MatMul", [graph.node("Relu", [h]), weight(graph, [6, 3])], {}, { outputs: ["y"] });
        graph.output("y");
      });
      const x = new Tensor("float32", new Float32Array(rows * 7), [rows, 7]);
      expect(fateOf(await expectSamePadded(bytes, { x }), "h", 1)).toMatch(/sums over it/);
    }
  });

  it("in a column beside padded lanes is read, however long", async () => {
    const rows = 5000;
    const bytes = model({ name: "column", opset: 17 }, (graph) => {
      const x = graph.node("Sigmoid", [graph.input("x", [rows, 7])]);
      const h = graph.node("MatMul", [x, weight(graph, [7, 6])], {}, { outputs: ["h"] });
      const masked = graph.node("Add", [h, graph.weight([rows, 1], { values: mask([rows, 1]) })]);
      graph.node("MatMul", [graph.node("Exp", [masked]), weight(graph, [6, 3])], {}, { outputs: ["y"] });
      graph.output("y");
    });
    const x = new Tensor("float32", new Float32Array(rows * 7), [rows, 7]);
    expect(fateOf(await expectSamePadded(bytes, { x }), "h", 1)).toMatch(/sums over it/);
  });

  it("in a mask before Softmax changes nothing behind it", async () => {
    const bytes = model({ name: "mask", opset: 17 }, (graph) => {
      const x = graph.input("x", [4, 7]);
      const scores = graph.node("MatMul", [x, graph.node("Transpose", [x])]);
      const attention = graph.node("Softmax", [
        graph.node("Add", [scores, graph.weight([4, 4], { values: mask([4, 4]) })]),
      ]);
      const values = graph.node(
        "MatMul",
        [graph.node("Tanh", [x]), weight(graph, [7, 6])],
        {},
        { outputs: ["h"] },
      );
      graph.node(
        "MatMul",
        [graph.node("MatMul", [attention, values]), weight(graph, [6, 3])],
        {},
        { outputs: ["y"] },
      );
      graph.output("y");
    });
    const x = new Tensor("float32", numbers, [4, 7]);
    expect(fateOf(await expectSamePadded(bytes, { x }), "h", 1)).toBeGreaterThan(6);
  });
});
