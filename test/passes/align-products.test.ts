/** Padding through convolutions, matrix products and recurrences, against ONNX Runtime. */
import { describe, expect, it } from "vitest";
import { type Attributes, type GraphBuilder, model } from "../../fixtures/builder.ts";
import { floats } from "./folding.ts";
import {
  expectSamePadded,
  fateOf,
  imageFeed,
  imageModel,
  ints,
  rowsFeed,
  rowsModel,
  weight,
} from "./padding.ts";

const options = { name: "products", opset: 17, domains: { "com.microsoft": 1 } };

/** x through two nodes of `type`, of 6 channels between them; `second` are the second's weights. */
function twice(
  type: string,
  x: readonly number[],
  [first, second]: readonly [readonly number[], readonly number[]],
  attributes: readonly [Attributes, Attributes] = [{}, {}],
): Uint8Array {
  return model(options, (graph) => {
    const input = graph.input("x", x);
    const between = { outputs: ["h"] };
    const h = graph.node(type, [input, weight(graph, first), weight(graph, [6])], attributes[0], between);
    graph.node(type, [graph.node("Relu", [h]), weight(graph, second)], attributes[1], { outputs: ["y"] });
    graph.output("y");
  });
}

describe("convolutions", () => {
  it.each([
    [
      "one axis",
      "Conv",
      [2, 3, 9],
      [
        [6, 3, 3],
        [4, 6, 3],
      ],
      [{}, {}],
    ],
    [
      "two axes",
      "Conv",
      [2, 3, 9, 9],
      [
        [6, 3, 3, 3],
        [4, 6, 1, 1],
      ],
      [{ strides: [2, 2] }, {}],
    ],
    [
      "three axes",
      "Conv",
      [1, 2, 5, 5, 5],
      [
        [6, 2, 3, 3, 3],
        [4, 6, 1, 1, 1],
      ],
      [{}, {}],
    ],
    [
      "groups of three",
      "Conv",
      [2, 4, 5, 5],
      [
        [6, 2, 3, 3],
        [4, 3, 1, 1],
      ],
      [{ group: 2 }, { group: 2 }],
    ],
    [
      "depthwise",
      "Conv",
      [2, 6, 5, 5],
      [
        [6, 1, 3, 3],
        [4, 6, 1, 1],
      ],
      [{ group: 6 }, {}],
    ],
    [
      "depthwise behind",
      "Conv",
      [2, 3, 5, 5],
      [
        [6, 3, 1, 1],
        [6, 1, 3, 3],
      ],
      [{}, { group: 6 }],
    ],
    [
      "two filters a channel",
      "Conv",
      [2, 3, 5, 5],
      [
        [6, 1, 3, 3],
        [4, 6, 1, 1],
      ],
      [{ group: 3 }, {}],
    ],
    [
      "transposed",
      "ConvTranspose",
      [2, 3, 5, 5],
      [
        [3, 6, 2, 2],
        [6, 4, 2, 2],
      ],
      [{ strides: [2, 2] }, {}],
    ],
    [
      "transposed in groups",
      "ConvTranspose",
      [2, 4, 4],
      [
        [4, 3, 2],
        [6, 2, 2],
      ],
      [{ group: 2 }, { group: 2 }],
    ],
    [
      "transposed depthwise",
      "ConvTranspose",
      [2, 6, 4],
      [
        [6, 1, 2],
        [6, 4, 2],
      ],
      [{ group: 6 }, {}],
    ],
  ] as const)("%s", async (_, type, x, weights, attributes) => {
    const padding = await expectSamePadded(twice(type, x, weights, attributes), { x: floats([...x]) });
    expect(fateOf(padding, "h", 1)).toBeGreaterThan(6);
    expect(fateOf(padding, "h", 2)).toMatch(/slides a window over it/);
  });

  it("with different groups meet in their common structure", async () => {
    const bytes = twice(
      "Conv",
      [2, 4, 5, 5],
      [
        [6, 2, 3, 3],
        [6, 2, 1, 1],
      ],
      [{ group: 2 }, { group: 3 }],
    );
    const padding = await expectSamePadded(bytes, { x: floats([2, 4, 5, 5]) });
    expect(fateOf(padding, "h", 1)).toMatch(/Conv/);
  });

  it("pad the channels of the model's input, and cut those of its output", async () => {
    const padding = await expectSamePadded(
      imageModel((graph, h) => graph.node("Relu", [h])),
      imageFeed,
    );
    expect(fateOf(padding, "x", 1)).toBeGreaterThan(3);
    expect(fateOf(padding, "y", 1)).toBeGreaterThan(5);
    const types = padding.after.graph.nodes.map(({ opType }) => opType);
    expect(types).toEqual(["Pad", "Tanh", "Conv", "Relu", "Conv", "Slice"]);
  });

  it("with a residual and an activation fused in", async () => {
    const bytes = imageModel((graph, h) => {
      const operands = [h, weight(graph, [6, 6, 1, 1]), weight(graph, [6]), h];
      return graph.node("FusedConv", operands, { activation: "Relu" }, { domain: "com.microsoft" });
    });
    expect(fateOf(await expectSamePadded(bytes, imageFeed), "h", 1)).toBeGreaterThan(6);
  });

  it("whose weights are used twice have one set of axes", async () => {
    const bytes = model(options, (graph) => {
      const w = weight(graph, [6, 3, 3, 3]);
      const branches = ["a", "b"].map((name) =>
        graph.node("Conv", [graph.input(name, [1, 3, 5, 5]), w], {}, { outputs: [`h_${name}`] }),
      );
      const all = graph.node("Concat", branches, { axis: 1 });
      graph.node("Conv", [all, weight(graph, [4, 12, 1, 1])], {}, { outputs: ["y"] });
      graph.output("y");
    });
    const feed = { a: floats([1, 3, 5, 5]), b: floats([1, 3, 5, 5], 2) };
    const padding = await expectSamePadded(bytes, feed);
    expect(fateOf(padding, "h_a", 1)).toBe(fateOf(padding, "h_b", 1));
  });
});

describe("matrix products", () => {
  const cases: readonly (readonly [string, (graph: GraphBuilder, h: string) => string])[] = [
    [
      "Gemm with both operands stored transposed",
      (g, h) => {
        const turned = g.node("Transpose", [h]);
        return g.node("Gemm", [turned, weight(g, [6, 6]), weight(g, [4, 1])], { transA: 1, transB: 1 });
      },
    ],
    [
      "Gemm scaled, its bias a scalar",
      (g, h) => {
        const scales = { alpha: { float: 0.5 }, beta: { float: 2 } };
        return g.node("Gemm", [h, weight(g, [6, 6]), g.scalar(3)], scales);
      },
    ],
    [
      "a residual stream through one square matrix",
      (g, h) => g.node("Add", [h, g.node("MatMul", [h, weight(g, [6, 6])])]),
    ],
    [
      "constant on the left",
      (g, h) => g.node("Transpose", [g.node("MatMul", [weight(g, [6, 6]), g.node("Transpose", [h])])]),
    ],
    ["rows against rows", (g, h) => g.node("MatMul", [g.node("MatMul", [h, g.node("Transpose", [h])]), h])],
    [
      "a batch of one matrix",
      (g, h) => {
        const batch = g.node("Unsqueeze", [h, ints(g, [0])]);
        return g.node("Squeeze", [g.node("MatMul", [batch, weight(g, [1, 6, 6])]), ints(g, [0])]);
      },
    ],
    [
      "a vector",
      (g, h) =>
        g.node("Mul", [h, g.node("Unsqueeze", [g.node("MatMul", [h, weight(g, [6])]), ints(g, [1])])]),
    ],
    [
      "FusedMatMul",
      (g, h) =>
        g.node(
          "FusedMatMul",
          [h, weight(g, [6, 6])],
          { transB: 1, alpha: { float: 2 } },
          { domain: "com.microsoft" },
        ),
    ],
    ["Einsum of a matrix", (g, h) => g.node("Einsum", [h, weight(g, [6, 6])], { equation: "ij,kj->ik" })],
    [
      "Einsum of rows",
      (g, h) => {
        const scores = g.node("Einsum", [h, h], { equation: "ij,kj->ik" });
        return g.node("Einsum", [scores, h], { equation: "...k,kj" });
      },
    ],
    [
      "Einsum that sums one operand",
      (g, h) =>
        g.node("Mul", [h, g.node("Unsqueeze", [g.node("Einsum", [h], { equation: "ij->i" }), ints(g, [1])])]),
    ],
    [
      "attention of two heads",
      (g, h) => {
        const heads = (seed: number) => {
          const projected = g.node("MatMul", [h, weight(g, [6, 6], seed)]);
          return g.node("Transpose", [g.node("Reshape", [projected, ints(g, [-1, 2, 3])])], {
            perm: [1, 0, 2],
          });
        };
        const keys = g.node("Transpose", [heads(2)], { perm: [0, 2, 1] });
        const scores = g.node("Softmax", [
          g.node("Mul", [g.node("MatMul", [heads(1), keys]), g.scalar(0.5)]),
        ]);
        const merged = g.node("Transpose", [g.node("MatMul", [scores, heads(3)])], { perm: [1, 0, 2] });
        return g.node("Reshape", [merged, ints(g, [4, 6])]);
      },
    ],
  ];
  it.each(cases)("%s", async (_, build) => {
    const padding = await expectSamePadded(rowsModel(build), rowsFeed);
    expect(fateOf(padding, "h", 1)).toBeGreaterThan(6);
  });

  it("of more than two operands block what they sum over", async () => {
    const bytes = rowsModel((g, h) => {
      const sums = g.node("Einsum", [h, h, h], { equation: "ij,ij,kj->k" });
      return g.node("Add", [h, g.node("Unsqueeze", [sums, ints(g, [1])])]);
    });
    expect(fateOf(await expectSamePadded(bytes, rowsFeed), "h", 1)).toMatch(/more than two operands/);
  });
});
