/** What lane-wise operators, normalizations, pools and reductions do to padded lanes, against ONNX Runtime. */
import { describe, expect, it } from "vitest";
import type { GraphBuilder } from "../../fixtures/builder.ts";
import { writtenNorm } from "../../fixtures/layers.ts";
import { curves, keysOf } from "../../src/ops/elementwise/curves.ts";
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

interface Case {
  readonly name: string;
  readonly build: (graph: GraphBuilder, h: string) => string;
  /** Why the axis of 6 must stay; left out where it may be padded. */
  readonly blocked?: RegExp;
  /** Set where it may be padded with Slices and Pads around the operator. */
  readonly inside?: true;
  readonly opset?: number;
}

/** Zeros in padded lanes become NaN or infinity. */
const partialAtZero: ReadonlySet<string> = new Set(["Acosh", "Log", "Reciprocal"]);
/** Not on floats, or with a boolean result. */
const notOnFloats: ReadonlySet<string> = new Set(["BitwiseNot", "IsInf", "IsNaN", "Not"]);
/** Newer than the opset of the test models; Swish is newer than the installed ONNX Runtime. */
const opsets: ReadonlyMap<string, number> = new Map([
  ["Gelu", 20],
  ["Mish", 18],
]);

const unary: readonly Case[] = keysOf(curves)
  .filter((type) => !notOnFloats.has(type) && type !== "Swish")
  .map((type) => ({
    name: type,
    build: (graph, h) => graph.node(type, [h]),
    ...(partialAtZero.has(type) && { blocked: /MatMul "matmul_\d+" sums over it/ }),
    opset: opsets.get(type) ?? 17,
  }));

const binary: readonly Case[] = [
  { name: "Add of a constant", build: (g, h) => g.node("Add", [h, weight(g, [6])]) },
  { name: "Add of a scalar", build: (g, h) => g.node("Add", [h, g.scalar(2)]) },
  { name: "Sub from a constant", build: (g, h) => g.node("Sub", [g.scalar(1), h]) },
  { name: "Mul with itself", build: (g, h) => g.node("Mul", [h, h]) },
  { name: "Div by a constant", build: (g, h) => g.node("Div", [h, weight(g, [6])]) },
  { name: "Div by a scalar", build: (g, h) => g.node("Div", [h, g.scalar(3)]) },
  { name: "Div by a column", build: (g, h) => g.node("Div", [h, weight(g, [4, 1])]) },
  {
    name: "Div by something computed",
    build: (g, h) => g.node("Div", [h, g.node("Abs", [h])]),
    blocked: /sums over it, and neither operand is certain to be zero/,
  },
  {
    name: "Div by something computed that is far from zero",
    build: (g, h) => g.node("Div", [h, g.node("Add", [g.node("Abs", [h]), g.scalar(1)])]),
  },
  { name: "Pow by a scalar", build: (g, h) => g.node("Pow", [h, g.scalar(2)]) },
  {
    name: "Pow by a constant",
    build: (g, h) => g.node("Pow", [g.node("Abs", [h]), g.weight([6], { values: [1, 2, 3, 0.5, 2, 4] })]),
  },
  {
    name: "Pow of zero to a negative power",
    build: (g, h) => g.node("Pow", [h, g.scalar(-1)]),
    blocked: /sums over it/,
  },
  { name: "Max", build: (g, h) => g.node("Max", [h, weight(g, [6]), g.scalar(0.1)]) },
  { name: "Min", build: (g, h) => g.node("Min", [h, g.scalar(-0.1)]) },
  { name: "Mean", build: (g, h) => g.node("Mean", [h, weight(g, [6])]) },
  { name: "Sum of one", build: (g, h) => g.node("Sum", [h]) },
  { name: "Mod", build: (g, h) => g.node("Mod", [h, g.scalar(0.3)], { fmod: 1 }) },
  {
    name: "Where by a comparison",
    build: (g, h) => g.node("Where", [g.node("Greater", [h, weight(g, [6])]), h, g.scalar(-1)]),
  },
  {
    name: "Where with infinity in padded lanes",
    build: (g, h) => g.node("Where", [g.node("Less", [h, g.scalar(1)]), g.scalar(-Infinity), h]),
    blocked: /sums over it/,
  },
  {
    name: "Where with infinity in true lanes only",
    build: (g, h) => g.node("Where", [g.node("Greater", [h, g.scalar(9)]), g.scalar(-Infinity), h]),
  },
  { name: "Clip", build: (g, h) => g.node("Clip", [h, g.scalar(0.2), g.scalar(0.5)]) },
  { name: "PRelu", build: (g, h) => g.node("PRelu", [h, weight(g, [6])]) },
  { name: "Cast", build: (g, h) => g.node("Cast", [g.node("Cast", [h], { to: 7 })], { to: 1 }) },
  { name: "Dropout", build: (g, h) => g.node("Dropout", [h]) },
  {
    name: "Not of a comparison",
    build: (g, h) => g.node("Cast", [g.node("Not", [g.node("Equal", [h, h])])], { to: 1 }),
  },
  {
    name: "BiasGelu",
    build: (g, h) => g.node("BiasGelu", [h, weight(g, [6])], {}, { domain: "com.microsoft" }),
  },
  { name: "FastGelu", build: (g, h) => g.node("FastGelu", [h], {}, { domain: "com.microsoft" }) },
  { name: "QuickGelu", build: (g, h) => g.node("QuickGelu", [h], {}, { domain: "com.microsoft" }) },
];

const rowwise: readonly Case[] = [
  {
    name: "Softmax over it",
    build: (g, h) => g.node("Softmax", [h]),
    blocked: /Softmax .* normalizes over it/,
    inside: true,
  },
  { name: "Softmax over another axis", build: (g, h) => g.node("Softmax", [h], { axis: 0 }) },
  {
    name: "Softmax of old over everything behind an axis",
    build: (g, h) => g.node("Softmax", [h], { axis: 0 }),
    blocked: /Softmax .* normalizes over it/,
    inside: true,
    opset: 11,
  },
  { name: "LogSoftmax over another axis", build: (g, h) => g.node("LogSoftmax", [h], { axis: 0 }) },
  {
    name: "LayerNormalization",
    build: (g, h) => g.node("LayerNormalization", [h, weight(g, [6]), weight(g, [6], 2)]),
    blocked: /LayerNormalization .* normalizes over it/,
    inside: true,
  },
  {
    name: "SkipLayerNormalization",
    build: (g, h) => {
      const rows = g.node("Unsqueeze", [h, ints(g, [0])]);
      const inputs = [rows, rows, weight(g, [6]), weight(g, [6], 2)];
      return g.node("SkipLayerNormalization", inputs, {}, { domain: "com.microsoft" });
    },
    blocked: /SkipLayerNormalization .* normalizes over it/,
    inside: true,
  },
  ...(["layer", "rms"] as const).map((kind) => ({
    name: `a norm that is written out: ${kind}`,
    build: (g: GraphBuilder, h: string) =>
      writtenNorm(g, h, 6, kind, { name: kind, parameter: () => weight(g, [6]) }),
    blocked: /(LayerNorm|RMSNorm) written out around Sqrt "(layer|rms)" normalizes over it/,
    inside: true as const,
  })),
  {
    name: "a norm that is written out, as a product with the inverse of its root",
    build: (g, h) => {
      const mean = g.node("ReduceMean", [g.node("Mul", [h, h])], { axes: [1] });
      const root = g.node("Sqrt", [g.node("Add", [mean, g.scalar(1e-3)])]);
      return g.node("Mul", [weight(g, [6]), g.node("Mul", [h, g.node("Reciprocal", [root])])]);
    },
    blocked: /RMSNorm written out around Sqrt .* normalizes over it/,
    inside: true,
  },
  {
    name: "a norm that is written out, over all axes",
    build: (g, h) => {
      const centred = g.node("Sub", [h, g.node("ReduceMean", [h], { axes: [-1, 0] })]);
      const mean = g.node("ReduceMean", [g.node("Pow", [centred, g.scalar(2)])], { axes: [0, 1] });
      const root = g.node("Pow", [g.node("Add", [mean, g.scalar(1e-3)]), g.scalar(0.5)]);
      return g.node("Div", [centred, root]);
    },
    blocked: /LayerNorm written out around Pow .* normalizes over it/,
    inside: true,
  },
  {
    name: "a norm that is written out, and scaled to more rows",
    build: (g, h) => {
      const parameter = () => weight(g, [2, 1, 6]);
      const rows = writtenNorm(g, h, 6, "rms", { parameter });
      return g.node("ReduceSum", [rows, ints(g, [0])], { keepdims: 0 });
    },
    blocked: /RMSNorm written out around Sqrt "root" normalizes over it/,
    inside: true,
  },
  {
    name: "a norm that is written out, its distance from the mean read by others too",
    build: (g, h) => {
      const centred = g.node("Sub", [h, g.node("ReduceMean", [h], { axes: [1] })]);
      const mean = g.node("ReduceMean", [g.node("Pow", [centred, g.scalar(2)])], { axes: [1] });
      const root = g.node("Sqrt", [g.node("Add", [mean, g.scalar(1e-3)])]);
      return g.node("Add", [g.node("Div", [centred, root]), g.node("Tanh", [centred])]);
    },
    blocked: /ReduceMean .* reduces it/,
  },
  {
    name: "ReduceMean over it",
    build: (g, h) => g.node("Sub", [h, g.node("ReduceMean", [h], { axes: [1] })]),
    blocked: /ReduceMean .* reduces it/,
    inside: true,
  },
  {
    name: "ReduceSum over zeros",
    build: (g, h) => g.node("Div", [h, g.node("ReduceSum", [h, ints(g, [1])])]),
  },
  {
    name: "ReduceSum over something else",
    build: (g, h) => {
      const gate = g.node("Sigmoid", [h]);
      return g.node("Div", [h, g.node("ReduceSum", [gate, ints(g, [1])])]);
    },
    blocked: /ReduceSum .* sums over it, and its padded lanes are not zero/,
  },
  {
    name: "ReduceL2 over zeros",
    build: (g, h) => g.node("Div", [h, g.node("ReduceL2", [h], { axes: [1] })]),
  },
  {
    name: "ReduceMax over it",
    build: (g, h) => g.node("Sub", [h, g.node("ReduceMax", [h], { axes: [1] })]),
    blocked: /ReduceMax .* reduces it/,
    inside: true,
  },
  ...["ReduceMean", "ReduceMax", "ReduceL1", "ReduceProd", "ReduceSumSquare", "ReduceLogSumExp"].map(
    (type) => ({
      name: `${type} over rows`,
      build: (g: GraphBuilder, h: string) => g.node(type, [h], { axes: [0] }),
    }),
  ),
  {
    name: "CumSum along it",
    build: (g, h) => g.node("CumSum", [h, g.scalar(1, "int64")]),
    blocked: /CumSum .* walks along it/,
    inside: true,
  },
  { name: "CumSum along another axis", build: (g, h) => g.node("CumSum", [h, g.scalar(0, "int64")]) },
  {
    name: "TopK",
    build: (g, h) => g.nodes("TopK", [h, ints(g, [6])], {}, { outputs: 2 })[0] ?? "",
    blocked: /TopK .* compares along it/,
    inside: true,
  },
  {
    name: "TopK over rows",
    build: (g, h) => g.nodes("TopK", [h, ints(g, [2])], { axis: 0 }, { outputs: 2 })[0] ?? "",
  },
  {
    name: "ArgMax over it",
    build: (g, h) => g.node("Add", [h, g.node("Cast", [g.node("ArgMax", [h], { axis: 1 })], { to: 1 })]),
    blocked: /ArgMax .* compares along it/,
    inside: true,
  },
  {
    name: "an operator that says nothing",
    build: (g, h) => g.node("Hardmax", [g.node("ReverseSequence", [h, ints(g, [1, 2, 3, 4, 1, 2])])]),
    blocked: /ReverseSequence .* does not say how padding passes/,
  },
];

const channels: readonly Case[] = [
  {
    name: "BatchNormalization",
    build: (g, h) => {
      const variance = g.weight([6], { values: [1, 2, 0.5, 1, 3, 1] });
      return g.node("BatchNormalization", [
        h,
        weight(g, [6]),
        weight(g, [6], 2),
        weight(g, [6], 3),
        variance,
      ]);
    },
  },
  {
    name: "InstanceNormalization",
    build: (g, h) => g.node("InstanceNormalization", [h, weight(g, [6]), weight(g, [6], 2)]),
  },
  {
    name: "InstanceNormalization over groups",
    build: (g, h) => {
      const groups = g.node("Reshape", [h, ints(g, [0, 2, -1])]);
      const normalized = g.node("InstanceNormalization", [groups, weight(g, [2]), weight(g, [2], 2)]);
      return g.node("Reshape", [normalized, ints(g, [2, 6, 8, 8])]);
    },
  },
  {
    name: "GroupNormalization",
    build: (g, h) => g.node("GroupNormalization", [h, weight(g, [6]), weight(g, [6], 2)], { num_groups: 3 }),
    opset: 21,
  },
  {
    name: "LRN",
    build: (g, h) => g.node("LRN", [h], { size: 3 }),
    blocked: /LRN .* normalizes over neighbours in it/,
  },
  {
    name: "LpNormalization",
    build: (g, h) => g.node("LpNormalization", [h], { axis: 1 }),
    blocked: /LpNormalization .* normalizes over it/,
    inside: true,
  },
  { name: "MaxPool", build: (g, h) => g.node("MaxPool", [h], { kernel_shape: [3, 3], pads: [1, 1, 1, 1] }) },
  {
    name: "AveragePool behind a Sigmoid",
    build: (g, h) => {
      const attributes = { kernel_shape: [3, 3], pads: [1, 1, 1, 1], count_include_pad: 1 };
      return g.node("AveragePool", [g.node("Sigmoid", [h])], attributes);
    },
  },
  { name: "GlobalAveragePool", build: (g, h) => g.node("Add", [h, g.node("GlobalAveragePool", [h])]) },
  { name: "GlobalMaxPool", build: (g, h) => g.node("Add", [h, g.node("GlobalMaxPool", [h])]) },
  {
    name: "squeeze and excite",
    build: (g, h) => {
      const squeezed = g.node("Conv", [
        g.node("GlobalAveragePool", [h]),
        weight(g, [3, 6, 1, 1]),
        weight(g, [3]),
      ]);
      const gate = g.node("Conv", [g.node("Relu", [squeezed]), weight(g, [6, 3, 1, 1]), weight(g, [6])]);
      return g.node("Mul", [h, g.node("Sigmoid", [gate])]);
    },
  },
  { name: "PRelu of one slope a channel", build: (g, h) => g.node("PRelu", [h, weight(g, [6, 1, 1])]) },
];

function check(cases: readonly Case[], modelOf: typeof rowsModel, feed: typeof rowsFeed, size = 6): void {
  it.each(cases)("$name", async ({ build, blocked, inside, opset = 17 }) => {
    const bytes = modelOf(build, size, opset);
    const padding = await expectSamePadded(bytes, feed);
    const fate = fateOf(padding, "h", 1);
    if (blocked === undefined) expect(fate).toBeGreaterThan(6);
    else expect(fate).toMatch(blocked);
    if (inside === undefined) return;
    const wider = await expectSamePadded(bytes, feed, 1e-5, 1, true);
    expect(fateOf(wider, "h", 1)).toBeGreaterThan(6);
  });
}

describe("functions of one element", () => check(unary, rowsModel, rowsFeed));
describe("functions of several operands", () => check(binary, rowsModel, rowsFeed));
describe("rows", () => check(rowwise, rowsModel, rowsFeed));
describe("channels", () => check(channels, imageModel, imageFeed));
