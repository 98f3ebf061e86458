/** A batch that a file fixes becomes another one, where samples stay apart, and is refused by name where they do not. */
import { describe, expect, it } from "vitest";
import type { GraphBuilder } from "../../fixtures/builder.ts";
import { batchModel, build, expectStacked, portsOf } from "./batching.ts";
import { weight } from "./padding.ts";

const ints = (graph: GraphBuilder, ...values: number[]) =>
  graph.weight([values.length], { dtype: "int64", values });

/** Convolution, pool, a Reshape to literal sizes, a product. */
function convolutions(graph: GraphBuilder): void {
  const h = graph.node("Conv", [graph.input("x", [1, 3, 8, 8]), weight(graph, [4, 3, 3, 3])]);
  const flat = graph.node("Reshape", [graph.node("Relu", [h]), ints(graph, 1, 144)]);
  graph.node("MatMul", [flat, weight(graph, [144, 5])], {}, { outputs: ["y"] });
  graph.output("y", "float32", [1, 5]);
}

function layers(graph: GraphBuilder): void {
  const h = graph.node("Gemm", [graph.input("x", [2, 6]), weight(graph, [6, 8]), weight(graph, [8])]);
  graph.node("Softmax", [h], { axis: -1 }, { outputs: ["y"] });
  graph.output("y", "float32", [2, 8]);
}

/** Heads split and merged by Reshapes to literal sizes, one of which folds the batch into the heads. */
function attention(graph: GraphBuilder): void {
  const x = graph.input("x", [1, 4, 6]);
  const heads = (name: string) => {
    const split = graph.node("Reshape", [
      graph.node("MatMul", [x, weight(graph, [6, 6])], {}, { name }),
      ints(graph, 1, 4, 2, 3),
    ]);
    return graph.node("Reshape", [
      graph.node("Transpose", [split], { perm: [0, 2, 1, 3] }),
      ints(graph, 2, 4, 3),
    ]);
  };
  const [q, k, v] = [heads("q"), heads("k"), heads("v")];
  const scores = graph.node("MatMul", [q, graph.node("Transpose", [k], { perm: [0, 2, 1] })]);
  const mixed = graph.node("MatMul", [graph.node("Softmax", [scores], { axis: -1 }), v]);
  const merged = graph.node("Transpose", [graph.node("Reshape", [mixed, ints(graph, 1, 2, 4, 3)])], {
    perm: [0, 2, 1, 3],
  });
  graph.node("Reshape", [merged, ints(graph, 1, -1, 6)], {}, { outputs: ["y"] });
  graph.output("y", "float32", [1, 4, 6]);
}

/** A class token that is one for all samples, joined to each. */
function token(graph: GraphBuilder): void {
  graph.node(
    "Concat",
    [weight(graph, [1, 1, 4]), graph.input("x", [1, 3, 4])],
    { axis: 1 },
    { outputs: ["y"] },
  );
  graph.output("y", "float32", [1, 4, 4]);
}

/** The batch behind the steps of a sequence, with stored first states. */
function sequence(graph: GraphBuilder): void {
  const steps = graph.node("Transpose", [graph.input("x", [1, 5, 3])], { perm: [1, 0, 2] });
  const state = () => weight(graph, [1, 1, 4]);
  const inputs = [steps, weight(graph, [1, 16, 3]), weight(graph, [1, 16, 4]), "", "", state(), state()];
  const [h = ""] = graph.nodes("LSTM", inputs, { hidden_size: 4 }, { outputs: ["h", "", "last"] });
  graph.node("Reshape", [h, ints(graph, 5, 1, 4)], {}, { outputs: ["y"] });
  graph.output("y", "float32", [5, 1, 4]);
}

function resized(graph: GraphBuilder): void {
  const inputs = [graph.input("x", [1, 2, 3, 3]), "", "", ints(graph, 1, 2, 6, 6)];
  graph.node("Resize", inputs, { mode: "nearest" }, { outputs: ["y"] });
  graph.output("y", "float32", [1, 2, 6, 6]);
}

function expanded(graph: GraphBuilder): void {
  graph.node("Expand", [graph.input("x", [2, 1, 3]), ints(graph, 2, 4, 3)], {}, { outputs: ["y"] });
  graph.output("y", "float32", [2, 4, 3]);
}

describe("another batch", () => {
  it.each([
    ["convolutions and a literal Reshape", convolutions, ["x [batch,3,8,8]", "y [batch,5]"], 0],
    ["layers with a batch of two", layers, ["x [batch,6]", "y [batch,8]"], 0],
    ["attention with literal Reshapes", attention, ["x [batch,4,6]", "y [batch,4,6]"], 0],
    ["a token for all samples", token, ["x [batch,3,4]", "y [batch,4,4]"], 0],
    ["a sequence, its batch behind the steps", sequence, ["x [batch,5,3]", "y [5,batch,4]"], 1],
    ["a Resize to literal sizes", resized, ["x [batch,2,3,3]", "y [batch,2,6,6]"], 0],
    ["an Expand to literal sizes", expanded, ["x [batch,1,3]", "y [batch,4,3]"], 0],
  ] as const)("of %s gives what single runs give", async (_, graph, ports, axis) => {
    const bytes = build(graph);
    const { after } = batchModel(bytes, "dynamic");
    expect(portsOf(after)).toEqual(ports);
    await expectStacked(bytes, after, axis);
  });

  it("is a number where one is asked for, and nothing where it is that already", () => {
    const bytes = build(convolutions);
    const { after, notes } = batchModel(bytes, 8);
    expect(portsOf(after)).toEqual(["x [8,3,8,8]", "y [8,5]"]);
    expect(notes.map(({ message }) => message)).toEqual(['"x": 1 → 8; 1 node that held it changed']);
    expect(batchModel(bytes, 1).notes.map(({ message }) => message)).toEqual(["the batch is 1 already"]);
  });

  it("takes a name that is free", () => {
    const bytes = build((graph) => {
      graph.node("Relu", [graph.input("x", [1, "batch"])], {}, { outputs: ["y"] });
      graph.output("y", "float32", [1, "batch"]);
    });
    expect(portsOf(batchModel(bytes, "dynamic").after)).toEqual([
      "x [batch_size,batch]",
      "y [batch_size,batch]",
    ]);
  });
});

/** y is what `last` makes of x, [4, 4]. */
const of = (last: (graph: GraphBuilder, x: string) => string) => (graph: GraphBuilder) => {
  const y = last(graph, graph.input("x", [4, 4]));
  graph.node("Relu", [y], {}, { outputs: ["y"], name: "end" });
  graph.output("y");
};
const named = { name: "mixes" };

describe("samples that do not stay apart are refused, by the node where", () => {
  it.each([
    [
      "a product with its own transpose",
      (g: GraphBuilder, x: string) =>
        g.node("MatMul", [x, g.node("Transpose", [x], { perm: [1, 0] })], {}, named),
      /"mixes" \(MatMul\) does not keep samples apart: found \[batch,batch\], expected batch along one axis/,
    ],
    [
      "samples summed over",
      (g: GraphBuilder, x: string) => g.node("ReduceMean", [x], { axes: [0], keepdims: 1 }, named),
      /"mixes" \(ReduceMean\) does not keep samples apart: found \[1,4\], expected batch along one axis/,
    ],
    [
      "a Softmax over samples",
      (g: GraphBuilder, x: string) => g.node("Softmax", [x], { axis: 0 }, named),
      /"mixes" \(Softmax\) normalizes over samples/,
    ],
    [
      "one sample picked",
      (g: GraphBuilder, x: string) =>
        g.node("Gather", [x, g.weight([1], { dtype: "int64", values: [0] })], { axis: 0 }, named),
      /"mixes" \(Gather\) picks samples/,
    ],
    [
      "samples in reverse",
      (g: GraphBuilder, x: string) =>
        g.node("Slice", [x, ints(g, -1), ints(g, -9), ints(g, 0), ints(g, -1)], {}, named),
      /"mixes" \(Slice\) takes some samples/,
    ],
    [
      "samples added up",
      (g: GraphBuilder, x: string) => g.node("CumSum", [x, g.scalar(0, "int64")], {}, named),
      /"mixes" \(CumSum\) adds up samples/,
    ],
    [
      "samples behind samples",
      (g: GraphBuilder, x: string) => g.node("Concat", [x, x], { axis: 0 }, named),
      /"mixes" \(Concat\) appends samples to samples/,
    ],
    [
      "samples as steps",
      (g: GraphBuilder, x: string) => {
        const steps = g.node("Unsqueeze", [x, ints(g, 1)]);
        return (
          g.nodes("RNN", [steps, weight(g, [1, 3, 4]), weight(g, [1, 3, 3])], { hidden_size: 3 }, named)[0] ??
          ""
        );
      },
      /"mixes" \(RNN\) takes samples for steps of a sequence/,
    ],
    [
      "elements of several samples in a row",
      (g: GraphBuilder, x: string) =>
        g.node("Reshape", [g.node("Transpose", [x], { perm: [1, 0] }), ints(g, 2, 8)], {}, named),
      /"mixes" \(Reshape\)/,
    ],
    [
      "a tensor of as many rows",
      (g: GraphBuilder, x: string) => g.node("Add", [x, weight(g, [4, 4])], {}, named),
      /"mixes" \(Add\) does not keep samples apart/,
    ],
  ])("%s", (_, last, text) => {
    expect(() => batchModel(build(of(last)), "dynamic")).toThrow(text);
  });

  it("a first state for another number of samples", () => {
    const bytes = build((graph) => {
      const weights = [weight(graph, [1, 3, 4]), weight(graph, [1, 3, 3]), "", "", weight(graph, [1, 2, 3])];
      const steps = graph.node("Transpose", [graph.input("x", [2, 5, 4])], { perm: [1, 0, 2] });
      graph.nodes("RNN", [steps, ...weights], { hidden_size: 3 }, { outputs: ["y"], name: "states" });
      graph.output("y");
    });
    expect(() => batchModel(bytes, "dynamic")).toThrow(/"states" \(RNN\)/);
  });

  it("samples padded with others", () => {
    const bytes = build((graph) => {
      const inputs = [graph.input("x", [1, 4]), ints(graph, 1, 0, -1, 0)];
      graph.node("Pad", inputs, {}, { outputs: ["y"], name: "shifts" });
      graph.output("y");
    });
    expect(() => batchModel(bytes, "dynamic")).toThrow(/"shifts" \(Pad\) adds samples, or takes some/);
  });

  it("samples that a branch reads", () => {
    const bytes = build((graph) => {
      const x = graph.input("x", [1, 4]);
      const branch = (prefix: string, type: string) => {
        const inner = graph.inner(prefix);
        inner.output(inner.node(type, [x]), "float32", [1, 4]);
        return { graph: inner };
      };
      const branches = { then_branch: branch("t", "Relu"), else_branch: branch("e", "Neg") };
      graph.node("If", [graph.scalar(1, "bool")], branches, { outputs: ["y"], name: "branch" });
      graph.output("y", "float32", [1, 4]);
    });
    expect(() => batchModel(bytes, "dynamic")).toThrow(/"branch" \(If\) holds a graph of its own/);
  });

  it("an input whose batch is open already", () => {
    const bytes = build((graph) => {
      graph.node("Relu", [graph.input("x", ["N", 4])], {}, { outputs: ["y"] });
      graph.output("y");
    });
    expect(() => batchModel(bytes, 2)).toThrow(/the batch of input "x" is open already \("N"\): --dim N=/);
  });
});
