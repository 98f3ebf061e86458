/** Sizes that weights settle: nobody has to give them, and no other is assumed. */
import { describe, expect, it } from "vitest";
import { type GraphBuilder, model } from "../../fixtures/builder.ts";
import { inferFacts } from "../../src/facts/infer.ts";
import { lint } from "../../src/index.ts";
import { modelFromBytes } from "../../src/onnx/open.ts";
import { sizeAttempts } from "../../src/verify/sizes.ts";

type Build = (graph: GraphBuilder) => void;

function factsOf(build: Build) {
  const { symbols, bindings, isBound } = inferFacts(
    modelFromBytes(model({ name: "settled", opset: 17 }, build)),
  );
  return { symbols: [...symbols].sort(), bindings: Object.fromEntries(bindings), isBound };
}

const convolution: Build = (graph) => {
  const x = graph.node("Relu", [graph.input("x", ["batch", "channels", 56, 56])]);
  graph.output(graph.node("Conv", [x, graph.weight([129, 67, 3, 3])]));
};

describe("a symbol is settled", () => {
  it.each<[string, Build, Record<string, number>]>([
    ["by a convolution behind other nodes", convolution, { channels: 67 }],
    [
      "by the groups of one",
      (graph) =>
        graph.output(
          graph.node("Conv", [graph.input("x", ["batch", "channels", 8, 8]), graph.weight([6, 3, 1, 1])], {
            group: 2,
          }),
        ),
      { channels: 6 },
    ],
    [
      "by a product, through what a Flatten makes of it",
      (graph) => {
        const flat = graph.node("Flatten", [graph.input("x", ["batch", "channels", 7, 7])]);
        graph.output(graph.node("Gemm", [flat, graph.weight([245, 8])]));
      },
      { channels: 5 },
    ],
    [
      "by a normalization's parameters",
      (graph) => {
        const parameters = [0, 1, 2, 3].map(() => graph.weight([12]));
        graph.output(
          graph.node("BatchNormalization", [graph.input("x", ["batch", "channels", 8, 8]), ...parameters]),
        );
      },
      { channels: 12 },
    ],
  ])("%s", (_, build, bindings) => {
    expect(factsOf(build)).toEqual({ symbols: ["batch"], bindings, isBound: false });
  });

  it.each<[string, Build]>([
    [
      "where it may be broadcast",
      (graph) =>
        graph.output(graph.node("Add", [graph.input("x", ["batch", "channels"]), graph.weight([1, 67])])),
    ],
    [
      "where several sizes come to the same",
      (graph) => {
        const pooled = graph.node("MaxPool", [graph.input("x", ["batch", 1, "channels", 1])], {
          kernel_shape: [2, 1],
          strides: [2, 1],
        });
        graph.output(graph.node("Gemm", [graph.node("Flatten", [pooled]), graph.weight([7, 8])]));
      },
    ],
    [
      "where two weights contradict each other",
      (graph) => {
        const x = graph.input("x", ["batch", "channels"]);
        graph.output(graph.node("Gemm", [x, graph.weight([5, 8])]));
        graph.output(graph.node("Gemm", [x, graph.weight([6, 8])]));
      },
    ],
    [
      "where a branch may not run",
      (graph) => {
        const x = graph.input("x", ["batch", "channels"]);
        const branch = (name: string, make: (inner: GraphBuilder) => string) => {
          const inner = graph.inner(name);
          inner.output(make(inner));
          return { graph: inner };
        };
        const then_branch = branch("then", (inner) => inner.node("MatMul", [x, inner.weight([5, 8])]));
        const else_branch = branch("else", (inner) => inner.node("Relu", [x]));
        graph.output(graph.node("If", [graph.input("yes", [], "bool")], { then_branch, else_branch }));
      },
    ],
  ])("not %s", (_, build) => {
    expect(factsOf(build)).toMatchObject({ symbols: ["batch", "channels"], bindings: {} });
  });
});

it("is priced at its size, and not said to be assumed; what compares models runs them at it", async () => {
  const bytes = model({ name: "settled", opset: 17 }, convolution);
  const open = await lint(bytes, { dims: { batch: 2 } });
  const given = await lint(bytes, { dims: { batch: 2, channels: 67 } });
  expect(open.assumed).toEqual([]);
  expect(open.symbols).toEqual({ batch: 2, channels: 67 });
  expect(open.predicted).toEqual(given.predicted);
  for (const attempt of sizeAttempts(modelFromBytes(bytes), {}))
    for (const sizes of attempt) expect(sizes.get("channels")).toBe(67);
});
