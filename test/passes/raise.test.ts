/** A file of an older opset, relabelled as opset 20: what it computes stays, in main graphs, bodies and functions. */
import { describe, expect, it } from "vitest";
import { type GraphBuilder, type ModelBuilder, model } from "../../fixtures/builder.ts";
import { patched } from "../../src/fix/edits.ts";
import { Patch } from "../../src/ir/patch.ts";
import { modelFromBytes, type OpenModel } from "../../src/onnx/open.ts";
import { FreshNames } from "../../src/passes/names.ts";
import { type Hurdle, raiseTo } from "../../src/passes/opset/raise.ts";
import { bytesOfModel, difference, floats, run } from "./folding.ts";
import { ints } from "./padding.ts";

type Build = (graph: GraphBuilder, x: string, model: ModelBuilder) => string;

interface Options {
  readonly opset: number;
  readonly irVersion?: number;
  readonly domains?: Readonly<Record<string, number>>;
}

/** x [1,4,6,6] → what `build` says → y. */
function modelOf(build: Build, options: Options): Uint8Array {
  return model({ name: "raise", ...options }, (graph, whole) => {
    const y = build(graph, graph.input("x", [1, 4, 6, 6]), whole);
    graph.node("Identity", [y], {}, { outputs: ["y"] });
    graph.output("y", "float32", []);
  });
}

const feeds = { x: floats([1, 4, 6, 6]) };

function raised(bytes: Uint8Array, to = 20): { after: OpenModel; hurdle: Hurdle | undefined; patch: Patch } {
  const before = modelFromBytes(bytes);
  const patch = new Patch();
  const hurdle = raiseTo(to, { model: before, names: new FreshNames(before) }, patch);
  return { after: patched(before, patch, "raise.data"), hurdle, patch };
}

/** How many nodes it writes anew. */
function rewrites(patch: Patch): number {
  return [...patch.graphs.values()].reduce((sum, { nodes }) => sum + nodes.size, 0);
}

const reductions = [
  ...["ReduceL1", "ReduceL2", "ReduceLogSumExp", "ReduceMax", "ReduceMean", "ReduceMin", "ReduceProd"],
  ...["ReduceSumSquare"],
];

const forms: Readonly<Record<string, readonly [Build, since?: number]>> = {
  ...Object.fromEntries(
    reductions.map((type): [string, [Build]] => [
      `${type} over an attribute's axes`,
      [(graph, x) => graph.node(type, [x], { axes: [-1, 1], keepdims: 0 })],
    ]),
  ),
  "ReduceLogSum over an attribute's axes": [
    (graph, x) => graph.node("ReduceLogSum", [graph.node("Abs", [x])], { axes: [2] }),
  ],
  "ReduceMean over everything": [(graph, x) => graph.node("ReduceMean", [x])],
  "Split into as many parts as results": [
    (graph, x) => {
      const [a = "", b = ""] = graph.nodes("Split", [x], { axis: 1 }, { outputs: 2 });
      return graph.node("Sub", [a, b]);
    },
  ],
  ...Object.fromEntries(
    ["bilinear", "nearest", "bicubic"].map((mode): [string, [Build, number]] => [
      `GridSample, ${mode}`,
      [
        (graph, x) => {
          const values = Array.from({ length: 50 }, (_, at) => Math.sin(at));
          return graph.node("GridSample", [x, graph.weight([1, 5, 5, 2], { values })], { mode });
        },
        16,
      ],
    ]),
  ),
  "a body that reduces": [
    (graph, x) => {
      const [yes, no] = [graph.inner("yes"), graph.inner("no")];
      yes.output(yes.node("ReduceMean", [x], { axes: [2, 3] }));
      no.output(no.node("ReduceMax", [x], { axes: [2, 3] }));
      const branches = { then_branch: { graph: yes }, else_branch: { graph: no } };
      return graph.node("If", [graph.scalar(1, "bool")], branches);
    },
  ],
  "a function that reduces": [
    (graph, x, whole) => {
      whole.addFunction("local", "mean", (body) => {
        const y = body.node("ReduceMean", [body.input("a", undefined)], { axes: [2, 3] });
        body.output(body.node("Relu", [y]));
      });
      return graph.node("Add", [
        graph.node("mean", [x], {}, { domain: "local" }),
        graph.node("mean", [graph.node("Neg", [x])], {}, { domain: "local" }),
      ]);
    },
  ],
};

const opsets = [13, 14, 15, 16, 17, 18, 19];
const cases = Object.entries(forms).flatMap(([name, [build, since = 13]]) =>
  opsets
    // What has a new form since 18 is no node of it.
    .filter((opset) => opset >= since && (opset < 18 || name.startsWith("GridSample")))
    .map((opset) => [name, opset, build] as const),
);

describe("a file is raised to opset 20, and means the same", () => {
  it.each(cases)("%s, from %i", async (name, opset, build) => {
    const domains = name.includes("function") ? { local: 1 } : {};
    const bytes = modelOf(build, { opset, domains });
    const { after, hurdle } = raised(bytes);
    expect(hurdle).toBeUndefined();
    expect([after.opsets.get(""), after.irVersion]).toEqual([20, 9]);
    for (const { opsets: own } of after.functions.values()) expect(own.get("")).toBe(20);
    expect(difference(await run(bytes, feeds), await run(bytesOfModel(after), feeds))).toBe(0);
    expect(raised(bytesOfModel(after)).patch.graphs.size).toBe(0);
  });

  it("with its constants, from an IR version where they are inputs", async () => {
    const bytes = model({ name: "old", opset: 13, irVersion: 3 }, (graph) => {
      const x = graph.input("x", [1, 4, 6, 6]);
      const weight = graph.weight([4, 1, 1], { values: [1, 2, 3, 4], name: "weight" });
      graph.input("weight", [4, 1, 1]);
      graph.node("ReduceMean", [graph.node("Mul", [x, weight])], { axes: [1] }, { outputs: ["y"] });
      graph.output("y", "float32", [1, 1, 6, 6]);
    });
    const { after, hurdle } = raised(bytes);
    expect([hurdle, after.opsets.get(""), after.irVersion]).toEqual([undefined, 20, 9]);
    expect(after.graph.inputs.map(({ name }) => name)).toEqual(["x"]);
    expect(difference(await run(bytes, feeds), await run(bytesOfModel(after), feeds))).toBe(0);
  });

  it("leaves what another domain has", () => {
    const bytes = modelOf((graph, x) => graph.node("Gelu", [x], {}, { domain: "com.microsoft" }), {
      opset: 17,
      domains: { "com.microsoft": 1 },
    });
    const { after, patch } = raised(bytes);
    expect([...after.opsets]).toEqual([
      ["com.microsoft", 1],
      ["", 20],
    ]);
    expect(rewrites(patch)).toBe(0);
  });
});

describe("a file is not raised", () => {
  const inFunction =
    (attributes: Parameters<GraphBuilder["node"]>[2], type: string): Build =>
    (graph, x, whole) => {
      const build = (body: GraphBuilder) =>
        body.output(body.node(type, [body.input("a", undefined)], { kernel_shape: [3, 3], ...attributes }));
      whole.addFunction("local", "pool", build, ["way"]);
      return graph.node("pool", [x], { way: 1 }, { domain: "local" });
    };
  it.each<[string, RegExp, Build]>([
    [
      "with a pool that rounds up over padding",
      /^MaxPool "m" is not known to mean the same in both$/,
      (graph, x) =>
        graph.node(
          "MaxPool",
          [x],
          { kernel_shape: [3, 3], strides: [2, 2], pads: [1, 1, 1, 1], ceil_mode: 1 },
          { name: "m" },
        ),
    ],
    ["with LpPool", /^LpPool/, (graph, x) => graph.node("LpPool", [x], { kernel_shape: [3, 3] })],
    [
      "with an operator that nobody knows",
      /^Unheard "u" is not known/,
      (graph, x) => graph.node("Unheard", [x], {}, { name: "u" }),
    ],
    [
      "where a function says by its caller whether it rounds up",
      /^AveragePool "\w+" of its function local::pool is not known/,
      inFunction({ ceil_mode: { reference: "way" } }, "AveragePool"),
    ],
    ["with LpPool in a function", /^LpPool "\w+" of its function local::pool/, inFunction({}, "LpPool")],
    ["with an empty list of axes", /^ReduceMean/, (graph, x) => graph.node("ReduceMean", [x], { axes: [] })],
  ])("%s", (_, reason, build) => {
    const bytes = modelOf(build, { opset: 17, domains: { local: 1 } });
    const { hurdle, patch } = raised(bytes);
    expect(hurdle?.reason).toMatch(reason);
    expect(patch.isEmpty).toBe(true);
  });

  it("keeps the axes that a newer node reads", () => {
    const build: Build = (graph, x) => graph.node("ReduceMean", [x, ints(graph, [2, 3])]);
    expect(rewrites(raised(modelOf(build, { opset: 18 })).patch)).toBe(0);
  });
});
