/** What a stack that runs one operator a node launches: PyTorch's views, copies and kernels. */
import { describe, expect, it } from "vitest";
import { type GraphBuilder, model } from "../../fixtures/builder.ts";
import { createCostModel } from "../../src/cost/model.ts";
import { modelFromBytes } from "../../src/onnx/open.ts";
import { priceModel } from "../../src/workload/workload.ts";
import { targetOf } from "../rules/lint.ts";

/** "MatMul", "Transpose permute": kernels in their order, passes with what they were measured as. */
function launched(build: (graph: GraphBuilder) => void, stack: "cudnn" | "ort-cuda" = "cudnn"): string[] {
  using opened = modelFromBytes(model({ name: "operators", opset: 17 }, build));
  const { timeline } = priceModel(opened, { target: targetOf(stack, "fp16"), cost: createCostModel() });
  return timeline.steps.map(({ nodes, detail: { variant } }) =>
    [nodes.map(({ opType }) => opType).join("+"), ...(variant === undefined ? [] : [variant])].join(" "),
  );
}

const ints = (graph: GraphBuilder, ...values: number[]) =>
  graph.weight([values.length], { dtype: "int64", values });

describe("a kernel a node", () => {
  it("has a product's bias behind it, where ONNX Runtime joins them", () => {
    const build = (graph: GraphBuilder) =>
      graph.output(
        graph.node("Add", [
          graph.node("MatMul", [graph.input("x", [197, 192]), graph.weight([192, 768])]),
          graph.weight([768]),
        ]),
      );
    expect(launched(build)).toEqual(["MatMul", "Add bias"]);
    expect(launched(build, "ort-cuda")).toEqual(["MatMul+Add"]);
  });

  it("works out addresses where an operand repeats, a constant of one element too", () => {
    const build = (graph: GraphBuilder) => {
      const [x, y] = [graph.input("x", [64, 96]), graph.input("y", [64, 96])];
      const scaled = graph.node("Mul", [graph.node("Add", [x, y]), graph.scalar(0.5)]);
      graph.output(
        graph.node("Erf", [graph.node("Relu", [graph.node("Sub", [scaled, graph.input("z", [96])])])]),
      );
    };
    expect(launched(build)).toEqual(["Add add", "Mul bias", "Sub bias", "Relu relu", "Erf gelu"]);
  });

  it("reads heads as they lie, and copies them back where a Reshape joins them", () => {
    const build = (graph: GraphBuilder) => {
      const heads = graph.node("Reshape", [graph.input("x", [1, 64, 96]), ints(graph, 1, 64, 3, 32)]);
      const q = graph.node("Transpose", [heads], { perm: [0, 2, 1, 3] });
      const scores = graph.node("MatMul", [q, graph.node("Transpose", [q], { perm: [0, 1, 3, 2] })]);
      const mixed = graph.node("MatMul", [graph.node("Softmax", [scores]), q]);
      const tokens = graph.node("Transpose", [mixed], { perm: [0, 2, 1, 3] });
      const joined = graph.node("Reshape", [tokens, ints(graph, 1, 64, 96)]);
      graph.output(graph.node("Relu", [joined]));
    };
    expect(launched(build)).toEqual([
      "MatMul",
      "Softmax softmax",
      "MatMul",
      "Transpose permute",
      "Relu relu",
    ]);
  });

  it("copies heads before a product where samples lie between them", () => {
    const build = (graph: GraphBuilder) => {
      const heads = graph.node("Reshape", [graph.input("x", [2, 64, 96]), ints(graph, 2, 64, 3, 32)]);
      const q = graph.node("Transpose", [heads], { perm: [0, 2, 1, 3] });
      graph.output(graph.node("MatMul", [q, graph.input("k", [2, 3, 32, 64])]));
    };
    expect(launched(build)).toEqual(["Transpose permute", "MatMul"]);
  });

  it("owes copies of shared heads to what repeats them, whatever order they lie in", () => {
    const build = (graph: GraphBuilder) => {
      const heads = graph.node("Reshape", [graph.input("x", [1, 64, 96]), ints(graph, 1, 64, 2, 48)]);
      const keys = graph.node("Relu", [graph.node("Transpose", [heads], { perm: [0, 2, 1, 3] })]);
      const own = graph.node("Unsqueeze", [keys, ints(graph, 2)]);
      const shared = graph.node("Expand", [own, ints(graph, 1, 2, 3, 64, 48)]);
      graph.output(graph.node("Reshape", [shared, ints(graph, 1, 6, 64, 48)]));
    };
    expect(launched(build)).toEqual(["Relu relu", "Expand permute"]);
  });

  it("brings rows in order for a norm, and reads two orders of one addition element by element", () => {
    const build = (graph: GraphBuilder) => {
      const x = graph.input("x", [1, 96, 32, 32]);
      const last = graph.node("Transpose", [x], { perm: [0, 2, 3, 1] });
      const norm = graph.node("LayerNormalization", [last, graph.weight([96]), graph.weight([96])]);
      const back = graph.node("Transpose", [norm], { perm: [0, 3, 1, 2] });
      graph.output(graph.node("Add", [x, back]));
    };
    expect(launched(build)).toEqual(["Transpose permute", "LayerNormalization layernorm", "Add permute"]);
  });

  it("takes one element of an axis as a view, and gathers by what lies strided one by one", () => {
    const build = (graph: GraphBuilder) => {
      const index = (value: number) => graph.weight([], { dtype: "int64", values: [value] });
      const table = graph.weight([1000, 64]);
      const ids = graph.input("ids", [4, 26], "int64");
      const column = graph.node("Gather", [ids, index(3)], { axis: 1 });
      graph.output(graph.node("Gather", [table, column]));
      graph.output(graph.node("Gather", [table, graph.input("more", [4], "int64")]));
      graph.output(graph.node("Gather", [graph.weight([1000, 63]), graph.input("odd", [4], "int64")]));
    };
    expect(launched(build)).toEqual(["Gather gather_single", "Gather gather", "Gather gather_single"]);
  });
});

describe("a batched product", () => {
  const bytesOf = (a: readonly number[], b: readonly number[]) => {
    const build = (graph: GraphBuilder) =>
      graph.output(
        graph.node("MatMul", [graph.input("a", a, "float16"), graph.input("b", b, "float16")]),
        "float16",
      );
    using opened = modelFromBytes(model({ name: "broadcast", opset: 17 }, build));
    const { timeline } = priceModel(opened, {
      target: targetOf("ort-cuda", "fp16"),
      cost: createCostModel(),
    });
    return timeline.steps.reduce((sum, { estimate }) => sum + estimate.bytes, 0);
  };
  const elements = (sizes: readonly number[]) => sizes.reduce((all, size) => all * size, 1);

  it.each([
    [
      [4, 8, 4, 1, 128],
      [4, 8, 1, 128, 64],
      [4, 8, 4, 1, 64],
    ],
    [
      [5, 1, 37, 101],
      [7, 101, 59],
      [5, 7, 37, 59],
    ],
    [
      [6, 32, 16],
      [6, 16, 24],
      [6, 32, 24],
    ],
    [
      [1, 32, 16],
      [6, 16, 24],
      [6, 32, 24],
    ],
    [
      [6, 32, 16],
      [1, 16, 24],
      [6, 32, 24],
    ],
  ])("moves what its operands hold: %j by %j", (a, b, y) => {
    expect(bytesOf(a, b)).toBe(2 * (elements(a) + elements(b) + elements(y)));
  });
});
