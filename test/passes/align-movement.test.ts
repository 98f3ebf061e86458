/** Padding through operators that move, select, repeat or reshape, against ONNX Runtime. */
import { describe, expect, it } from "vitest";
import { type GraphBuilder, model } from "../../fixtures/builder.ts";
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

interface Case {
  readonly name: string;
  readonly build: (graph: GraphBuilder, h: string) => string;
  /** Of the result's axis that is summed over; 6 where left out. */
  readonly size?: number;
  /** Why the axis of 6 must stay; left out where it may be padded. */
  readonly blocked?: RegExp;
  readonly opset?: number;
}

const images: readonly Case[] = [
  { name: "Concat of the same", build: (g, h) => g.node("Concat", [h, h], { axis: 1 }), size: 12 },
  {
    name: "Concat of different parts, one of them stored",
    build: (g, h) => g.node("Concat", [h, weight(g, [2, 5, 8, 8]), h], { axis: 1 }),
    size: 17,
  },
  { name: "Concat of positions", build: (g, h) => g.node("Concat", [h, h], { axis: 3 }) },
  {
    name: "Split in parts as given",
    build: (g, h) => {
      const [a = "", b = ""] = g.nodes("Split", [h, ints(g, [2, 4])], { axis: 1 }, { outputs: 2 });
      return g.node("Concat", [b, a], { axis: 1 });
    },
  },
  {
    name: "Split in equal parts",
    build: (g, h) => {
      const [a = "", b = ""] = g.nodes("Split", [h], { axis: 1 }, { outputs: 2 });
      return g.node("Add", [b, a]);
    },
    size: 3,
  },
  {
    name: "Split by an attribute",
    build: (g, h) => {
      const [a = "", b = ""] = g.nodes("Split", [h], { axis: 1, split: [1, 5] }, { outputs: 2 });
      return g.node("Add", [b, a]);
    },
    size: 5,
    opset: 12,
  },
  {
    name: "Slice from both ends",
    build: (g, h) => g.node("Slice", [h, ints(g, [1]), ints(g, [-1]), ints(g, [1])]),
    size: 4,
  },
  {
    name: "Slice in halves, joined the other way round",
    build: (g, h) => {
      const halfOf = (from: number, to: number) =>
        g.node("Slice", [h, ints(g, [from]), ints(g, [to]), ints(g, [1])]);
      return g.node("Add", [h, g.node("Concat", [halfOf(3, 2 ** 40), halfOf(0, 3)], { axis: 1 })]);
    },
  },
  {
    name: "Slice of positions and of all channels",
    build: (g, h) => g.node("Slice", [h, ints(g, [0, 2]), ints(g, [6, 7]), ints(g, [1, 2])]),
  },
  {
    name: "Slice with a step",
    build: (g, h) => g.node("Slice", [h, ints(g, [0]), ints(g, [6]), ints(g, [1]), ints(g, [2])]),
    size: 3,
    blocked: /Slice .* takes positions along it/,
  },
  {
    name: "Slice by 32-bit bounds",
    build: (g, h) => {
      const bounds = [1, 5, 1].map((value) => g.weight([1], { dtype: "int32", values: [value] }));
      return g.node("Slice", [h, ...bounds]);
    },
    size: 4,
  },
  {
    name: "Slice by attributes",
    build: (g, h) => g.node("Slice", [h], { axes: [1], starts: [2], ends: [2 ** 31 - 1] }),
    size: 4,
    opset: 9,
  },
  {
    name: "Gather of constants",
    build: (g, h) => g.node("Gather", [h, ints(g, [5, 0, -2])], { axis: 1 }),
    size: 3,
  },
  {
    name: "Gather of one",
    build: (g, h) => {
      const one = g.node("Gather", [h, g.scalar(-1, "int64")], { axis: 1 });
      return g.node("Mul", [h, g.node("Unsqueeze", [one, ints(g, [1])])]);
    },
  },
  { name: "Transpose there and back", build: (g, h) => turned(g, turned(g, h, [1, 2, 3, 0]), [3, 0, 1, 2]) },
  {
    name: "Reshape that flattens positions",
    build: (g, h) => g.node("Reshape", [g.node("Reshape", [h, ints(g, [0, 0, -1])]), ints(g, [2, 6, 8, 8])]),
  },
  {
    name: "channel shuffle in two groups",
    build: (g, h) => {
      const groups = g.node("Reshape", [h, ints(g, [2, 2, 3, 8, 8])]);
      return g.node("Reshape", [turned(g, groups, [0, 2, 1, 3, 4]), ints(g, [2, -1, 8, 8])]);
    },
  },
  {
    name: "Reshape across channels and positions",
    build: (g, h) => g.node("Reshape", [g.node("Reshape", [h, ints(g, [2, 8, 48])]), ints(g, [2, 6, 8, 8])]),
    blocked: /Reshape .* merges and splits it in a way that does not come apart/,
  },
  {
    name: "Squeeze and Unsqueeze",
    build: (g, h) => g.node("Squeeze", [g.node("Unsqueeze", [h, ints(g, [2])]), ints(g, [2])]),
  },
  { name: "Expand of one element", build: (g, h) => g.node("Expand", [meanOf(g, h), ints(g, [1, 6, 8, 8])]) },
  {
    name: "Expand that adds axes",
    build: (g, h) => g.node("Squeeze", [g.node("Expand", [h, ints(g, [1, 2, 6, 8, 8])]), ints(g, [0])]),
  },
  {
    name: "Tile of one element",
    build: (g, h) => g.node("Tile", [meanOf(g, h), ints(g, [1, 5, 8, 8])]),
    size: 5,
  },
  { name: "Tile of channels", build: (g, h) => g.node("Tile", [h, ints(g, [1, 3, 1, 1])]), size: 18 },
  {
    name: "ConstantOfShape beside it",
    build: (g, h) => g.node("Concat", [h, g.node("ConstantOfShape", [ints(g, [2, 5, 8, 8])])], { axis: 1 }),
    size: 11,
  },
  { name: "DepthToSpace", build: (g, h) => g.node("DepthToSpace", [four(g, h)], { blocksize: 2 }), size: 6 },
  {
    name: "DepthToSpace, columns first",
    build: (g, h) =>
      g.node("DepthToSpace", [g.node("Conv", [h, weight(g, [24, 6, 1, 1])])], { blocksize: 2, mode: "CRD" }),
    size: 6,
  },
  { name: "SpaceToDepth", build: (g, h) => g.node("SpaceToDepth", [h], { blocksize: 2 }), size: 24 },
  {
    name: "Resize by scales",
    build: (g, h) => g.node("Resize", [h, "", g.weight([4], { values: [1, 1, 2, 2] })], { mode: "linear" }),
  },
  { name: "Resize to sizes", build: (g, h) => g.node("Resize", [h, "", "", ints(g, [2, 6, 16, 12])]) },
  {
    name: "Resize of channels",
    build: (g, h) => g.node("Resize", [h, "", "", ints(g, [2, 12, 8, 8])]),
    size: 12,
    blocked: /Resize .* resizes it/,
  },
  {
    name: "Upsample",
    build: (g, h) => g.node("Upsample", [h, g.weight([4], { values: [1, 1, 2, 2] })]),
    opset: 9,
  },
  {
    name: "Pad of positions",
    build: (g, h) => g.node("Pad", [h, ints(g, [0, 0, 1, 1, 0, 0, 1, 1]), g.scalar(2)]),
  },
  {
    name: "Pad of positions by reflection",
    build: (g, h) => g.node("Pad", [h, ints(g, [0, 0, 1, 1, 0, 0, 1, 1])], { mode: "reflect" }),
  },
  {
    name: "Pad of channels",
    build: (g, h) => g.node("Pad", [h, ints(g, [0, 1, 0, 0, 0, 1, 0, 0])]),
    size: 8,
    blocked: /Pad .* pads it/,
  },
  { name: "Trilu of positions", build: (g, h) => g.node("Trilu", [g.node("Sigmoid", [h])]) },
];

function turned(graph: GraphBuilder, x: string, perm: readonly number[]): string {
  return graph.node("Transpose", [x], { perm });
}

function four(graph: GraphBuilder, h: string): string {
  return graph.node("Concat", [h, h, h, h], { axis: 1 });
}

/** [2, 1, 1, 1]. */
function meanOf(graph: GraphBuilder, h: string): string {
  const weights = weight(graph, [1, 6, 1, 1]);
  return graph.node("GlobalAveragePool", [graph.node("Conv", [h, weights])]);
}

describe("images", () => {
  it.each(images)("$name", async ({ build, size = 6, blocked, opset = 17 }) => {
    const padding = await expectSamePadded(imageModel(build, size, opset), imageFeed);
    if (blocked !== undefined) expect(fateOf(padding, "h", 1)).toMatch(blocked);
    else expect(fateOf(padding, "h", 1)).toBeGreaterThan(6);
  });
});

describe("rows", () => {
  const rows: readonly Case[] = [
    { name: "Flatten", build: (g, h) => g.node("Flatten", [g.node("Unsqueeze", [h, ints(g, [2, 3])])]) },
    {
      name: "Reshape to heads and back",
      build: (g, h) => g.node("Reshape", [g.node("Reshape", [h, ints(g, [0, 2, 3])]), ints(g, [0, -1])]),
    },
    {
      name: "Shape of another axis",
      build: (g, h) => {
        const count = g.node("Gather", [g.node("Shape", [h]), g.scalar(0, "int64")]);
        return g.node("Add", [h, g.node("Cast", [count], { to: 1 })]);
      },
    },
    {
      name: "Shape of its axis",
      build: (g, h) => {
        const count = g.node("Gather", [g.node("Shape", [h]), g.scalar(1, "int64")]);
        return g.node("Div", [h, g.node("Cast", [count], { to: 1 })]);
      },
      blocked: /Shape .* reads its size/,
    },
    {
      name: "Gather by computed indices",
      build: (g, h) => g.node("Gather", [h, g.node("ArgMax", [h], { axis: 0, keepdims: 0 })], { axis: 1 }),
      blocked: /takes positions along it|reads indices along it/,
    },
  ];
  it.each(rows)("$name", async ({ build, blocked }) => {
    const padding = await expectSamePadded(rowsModel(build), rowsFeed);
    const fate = fateOf(padding, "h", 1);
    if (blocked === undefined) expect(fate).toBeGreaterThan(6);
    else expect(fate).toMatch(blocked);
  });
});

describe("symbolic sizes", () => {
  const options = { name: "symbols", opset: 17 };

  it("are copied or left to Reshape", async () => {
    const bytes = model(options, (graph) => {
      const x = graph.input("x", ["N", "S", 7]);
      const h = graph.node("MatMul", [x, weight(graph, [7, 6])], {}, { outputs: ["h"] });
      const shape = graph.node("Shape", [x]);
      const part = (at: number) => graph.node("Slice", [shape, ints(graph, [at]), ints(graph, [at + 1])]);
      const heads = graph.node("Concat", [part(0), part(1), ints(graph, [2]), ints(graph, [3])], { axis: 0 });
      const apart = graph.node("Reshape", [h, heads]);
      const merged = graph.node("Concat", [graph.node("Mul", [part(0), part(1)]), ints(graph, [6])], {
        axis: 0,
      });
      const rows = graph.node("Reshape", [apart, merged]);
      graph.node("MatMul", [rows, weight(graph, [6, 3])], {}, { outputs: ["y"] });
      graph.output("y");
    });
    const padding = await expectSamePadded(bytes, { x: floats([2, 4, 7]) });
    expect(fateOf(padding, "h", 2)).toBeGreaterThan(6);
  });

  it("that cannot be written block what would have to be", async () => {
    const bytes = model(options, (graph) => {
      const x = graph.input("x", ["N", "S", 6]);
      const h = graph.node("MatMul", [x, weight(graph, [6, 6])], {}, { outputs: ["h"] });
      const shape = graph.node("Shape", [x]);
      const part = (at: number) => graph.node("Slice", [shape, ints(graph, [at]), ints(graph, [at + 1])]);
      const turned = graph.node("Transpose", [h], { perm: [2, 0, 1] });
      const target = graph.node("Concat", [ints(graph, [2]), ints(graph, [3]), part(0), part(1)], {
        axis: 0,
      });
      graph.node("Reshape", [turned, target], {}, { outputs: ["y"] });
      graph.output("y");
    });
    const padding = await expectSamePadded(bytes, { x: floats([2, 4, 6]) });
    expect(fateOf(padding, "h", 2)).toMatch(/Reshape .* computes its sizes when the model runs/);
  });
});

describe("Resize to sizes with a symbolic batch", () => {
  type SizesOf = (graph: GraphBuilder, shape: string) => string;

  /** x [N,3,8,8] → 6 channels h → Resize to what `sizes` says → y. */
  function resized(sizes: SizesOf): Uint8Array {
    return model({ name: "resized", opset: 17 }, (graph) => {
      const x = graph.input("x", ["N", 3, 8, 8]);
      const h = graph.node("Conv", [x, weight(graph, [6, 3, 1, 1])], {}, { outputs: ["h"] });
      const target = sizes(graph, graph.node("Shape", [h]));
      const larger = graph.node("Resize", [h, "", "", target], { mode: "nearest" });
      graph.node("Conv", [larger, weight(graph, [4, 6, 1, 1])], {}, { outputs: ["y"] });
      graph.output("y");
    });
  }

  const concat = (graph: GraphBuilder, parts: string[]) => graph.node("Concat", parts, { axis: 0 });
  const slice = (graph: GraphBuilder, shape: string, from: number, to: number) =>
    graph.node("Slice", [shape, ints(graph, [from]), ints(graph, [to])]);
  const pick = (graph: GraphBuilder, shape: string, at: number) =>
    graph.node("Unsqueeze", [graph.node("Gather", [shape, graph.scalar(at, "int64")]), ints(graph, [0])]);

  it.each<[string, SizesOf]>([
    ["the batch, and a number of channels", (g, s) => concat(g, [pick(g, s, 0), ints(g, [6, 16, 12])])],
    ["batch and channels at once", (g, s) => concat(g, [slice(g, s, 0, 2), ints(g, [16, 12])])],
    ["batch and channels one by one", (g, s) => concat(g, [pick(g, s, 0), pick(g, s, 1), ints(g, [16, 12])])],
    [
      "batch, channels and doubled positions",
      (g, s) => concat(g, [slice(g, s, 0, 2), g.node("Mul", [slice(g, s, 2, 4), ints(g, [2, 3])])]),
    ],
  ])("lets channels pass that read %s from a shape", async (_, sizes) => {
    const padding = await expectSamePadded(resized(sizes), { x: floats([2, 3, 8, 8]) });
    expect(fateOf(padding, "h", 1)).toBeGreaterThan(6);
    const operators = padding.after.graph.nodes.map(({ opType }) => opType);
    expect(operators.filter((operator) => operator === "Resize")).toHaveLength(1);
  });

  it.each<[string, SizesOf, RegExp]>([
    [
      "computes with the number of channels",
      (g, s) =>
        concat(g, [pick(g, s, 0), pick(g, s, 1), g.node("Mul", [pick(g, s, 1), ints(g, [2])]), ints(g, [9])]),
      /Shape .* reads its size/,
    ],
    [
      "wants another number of channels",
      (g, s) => concat(g, [pick(g, s, 0), ints(g, [12, 8, 8])]),
      /Resize .* resizes it/,
    ],
  ])("keeps channels where the model %s", async (_, sizes, reason) => {
    const bytes = model({ name: "kept", opset: 17 }, (graph) => {
      const x = graph.input("x", ["N", 3, 8, 8]);
      const h = graph.node("Conv", [x, weight(graph, [6, 3, 1, 1])], {}, { outputs: ["h"] });
      const target = sizes(graph, graph.node("Shape", [h]));
      graph.node("Resize", [h, "", "", target], { mode: "nearest" }, { outputs: ["y"] });
      graph.output("y");
    });
    const padding = await expectSamePadded(bytes, { x: floats([2, 3, 8, 8]) });
    expect(fateOf(padding, "h", 1)).toMatch(reason);
  });
});

describe("tables", () => {
  it("may get rows that no index reaches", async () => {
    const bytes = model({ name: "table", opset: 17 }, (graph) => {
      const ids = graph.input("ids", [2, 5], "int64");
      const table = weight(graph, [9, 6]);
      const h = graph.node("Gather", [table, ids], {}, { outputs: ["h"] });
      graph.node("MatMul", [h, graph.node("Transpose", [table])], {}, { outputs: ["y"] });
      graph.output("y");
    });
    const { Tensor } = await import("onnxruntime-node");
    const ids = new Tensor("int64", BigInt64Array.from([0, 8, 3, 4, 5, 1, 1, 7, 2, 6], BigInt), [2, 5]);
    const padding = await expectSamePadded(bytes, { ids });
    expect(fateOf(padding, "h", 2)).toBeGreaterThan(6);
    expect(fateOf(padding, "y", 2)).toBeGreaterThan(9);
  });
});
