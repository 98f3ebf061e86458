/** What ONNX Runtime joins is priced as joined, and as nothing else is: its own optimized file, priced, says which. */
import { afterAll, describe, expect, it } from "vitest";
import { type GraphBuilder, model, type Sizes } from "../../fixtures/builder.ts";
import { createCostModel } from "../../src/cost/model.ts";
import { findGpu } from "../../src/hardware/gpus.ts";
import { stacks } from "../../src/hardware/stacks.ts";
import { invariant } from "../../src/ir/errors.ts";
import { modelFromBytes } from "../../src/onnx/open.ts";
import { priceModel, type Workload } from "../../src/workload/workload.ts";
import { temporaryFolder } from "../cli/models.ts";
import { optimizedByOrt } from "./ort-optimized.ts";

const folder = temporaryFolder();
afterAll(() => folder[Symbol.dispose]());
const cost = createCostModel();

function price(bytes: Uint8Array): Workload {
  const gpu = findGpu("h200");
  invariant(gpu !== undefined, "the H200 has a row");
  return priceModel(modelFromBytes(bytes), {
    target: { gpu, stack: stacks["ort-cuda"], precision: "as-is" },
    cost,
  });
}

/** Without what the CPU provider alone joins. */
const optimized = (bytes: Uint8Array) =>
  optimizedByOrt(bytes, folder, {
    level: "extended",
    without: ["ConvActivationFusion", "GemmActivationFusion"],
  });

type Build = (graph: GraphBuilder) => readonly string[];

const sizes: Sizes = [2, 4, 64, 32];
const half = (graph: GraphBuilder, rank = 0) =>
  graph.weight(new Array<number>(rank).fill(1), { values: [0.125] });
const queries = (graph: GraphBuilder) => graph.node("Softmax", [graph.input("q", sizes)]);
const keys = (graph: GraphBuilder) => graph.node("Softmax", [graph.input("k", sizes)]);
const turned = (graph: GraphBuilder, x: string, perm = [0, 1, 3, 2]) =>
  graph.node("Transpose", [x], { perm });
const product = (graph: GraphBuilder, q: string, k: string) =>
  graph.node("Softmax", [graph.node("MatMul", [q, k])]);
const residual: Sizes = [2, 64, 256];
const ones = (graph: GraphBuilder) => graph.weight([256], { values: new Array<number>(256).fill(1) });
const norm = (graph: GraphBuilder, x: string, axis = -1) =>
  graph.node("LayerNormalization", [x, ones(graph), ones(graph)], { axis });
const sum = (graph: GraphBuilder, left: Sizes = residual, right: Sizes = residual) =>
  graph.node("Add", [
    graph.node("Softmax", [graph.input("a", left)]),
    graph.node("Softmax", [graph.input("b", right)]),
  ]);

const products: Readonly<Record<string, Build>> = {
  "a factor of the result": (graph) => [
    graph.node("Softmax", [
      graph.node("Mul", [graph.node("MatMul", [queries(graph), turned(graph, keys(graph))]), half(graph)]),
    ]),
  ],
  "a divisor of the result": (graph) => [
    graph.node("Softmax", [
      graph.node("Div", [graph.node("MatMul", [queries(graph), turned(graph, keys(graph))]), half(graph)]),
    ]),
  ],
  "a factor divided by the result": (graph) => [
    graph.node("Softmax", [
      graph.node("Div", [half(graph), graph.node("MatMul", [queries(graph), turned(graph, keys(graph))])]),
    ]),
  ],
  "factors of both operands": (graph) => [
    product(
      graph,
      graph.node("Mul", [queries(graph), half(graph)]),
      graph.node("Mul", [half(graph, 4), turned(graph, keys(graph))]),
    ),
  ],
  "a factor that something else reads": (graph) => {
    const scaled = graph.node("Mul", [queries(graph), half(graph)]);
    return [product(graph, scaled, turned(graph, keys(graph))), graph.node("Softmax", [scaled])];
  },
  "a factor that two products read": (graph) => {
    const scaled = graph.node("Mul", [queries(graph), half(graph)]);
    const other = turned(graph, graph.node("Softmax", [graph.input("other", sizes)]));
    return [product(graph, scaled, turned(graph, keys(graph))), product(graph, scaled, other)];
  },
  "a factor of each channel": (graph) => [
    product(
      graph,
      graph.node("Mul", [queries(graph), graph.weight([32], { values: new Array<number>(32).fill(2) })]),
      turned(graph, keys(graph)),
    ),
  ],
  "a factor that is the model's output": (graph) => {
    const scaled = graph.node("Mul", [graph.node("MatMul", [queries(graph), keys2(graph)]), half(graph)]);
    return [scaled, graph.node("Softmax", [scaled])];
  },
  "a factor beside a bias": (graph) => [
    graph.node("Softmax", [
      graph.node("Add", [
        graph.node("MatMul", [
          graph.node("Mul", [graph.node("Softmax", [graph.input("x", [64, 32])]), half(graph)]),
          graph.weight([32, 48], { values: new Array<number>(32 * 48).fill(1) }),
        ]),
        graph.weight([48], { values: new Array<number>(48).fill(1) }),
      ]),
    ]),
  ],
  "an exchange of other axes": (graph) => [
    product(
      graph,
      queries(graph),
      turned(graph, graph.node("Softmax", [graph.input("k", [2, 64, 4, 32])]), [0, 2, 3, 1]),
    ),
  ],
  "an exchange behind a view": (graph) => {
    const flat = graph.node("Softmax", [graph.input("k", [8, 64, 32])]);
    const shape = graph.weight([4], { dtype: "int64", values: [2, 4, 32, 64] });
    return [product(graph, queries(graph), graph.node("Reshape", [turned(graph, flat, [0, 2, 1]), shape]))];
  },
};

/** [2, 4, 32, 64], as it is. */
function keys2(graph: GraphBuilder): string {
  return graph.node("Softmax", [graph.input("k", [2, 4, 32, 64])]);
}

const sums: Readonly<Record<string, Build>> = {
  "before a norm": (graph) => [graph.node("Softmax", [norm(graph, sum(graph))])],
  "before a norm of images": (graph) => [
    graph.node("Softmax", [norm(graph, sum(graph, [1, 2, 64, 256], [1, 2, 64, 256]))]),
  ],
  "before a norm, of one batch and many": (graph) => [
    graph.node("Softmax", [norm(graph, sum(graph, residual, [1, 64, 256]))]),
  ],
  "that two norms read": (graph) => {
    const x = sum(graph);
    return [norm(graph, x), graph.node("Softmax", [x])];
  },
  "that the model gives out": (graph) => {
    const x = sum(graph);
    return [x, graph.node("Softmax", [norm(graph, x)])];
  },
  "before a norm that is written out": (graph) => {
    const x = sum(graph);
    const axes = { axes: [-1] };
    const centred = graph.node("Sub", [x, graph.node("ReduceMean", [x], axes)]);
    const two = graph.weight([], { values: [2] });
    const variance = graph.node("ReduceMean", [graph.node("Pow", [centred, two])], axes);
    const epsilon = graph.weight([], { values: [1e-5] });
    const root = graph.node("Sqrt", [graph.node("Add", [variance, epsilon])]);
    const scaled = graph.node("Mul", [graph.node("Div", [centred, root]), ones(graph)]);
    return [graph.node("Softmax", [graph.node("Add", [scaled, ones(graph)])])];
  },
};

function modelOf(build: Build): Uint8Array {
  return model({ name: "joined", opset: 17 }, (graph) => {
    for (const output of build(graph)) graph.output(output);
  });
}

describe.each(Object.entries({ ...products, ...sums }))("%s", (_, build) => {
  it("costs what the file that ONNX Runtime makes of it costs", async () => {
    const bytes = modelOf(build);
    const [own, theirs] = [price(bytes).timeline, price(await optimized(bytes)).timeline];
    expect(own.steps).toHaveLength(theirs.steps.length);
    // In which order a product reads an operand is a hundredth of its time at most.
    expect(own.microseconds / theirs.microseconds).toBeCloseTo(1, 1.7);
  });
});

const scores: Sizes = [4, 12, 49, 49];
const masks: readonly (readonly [string, Sizes, joins: boolean])[] = [
  ["one of each sequence", [4, 1, 1, 49], true],
  ["one of each head", [1, 12, 49, 49], true],
  ["one of all", [49, 49], true],
  ["as many as scores", scores, true],
  ["one of each image", [4, 1, 49, 49], false],
  ["one column", [4, 12, 49, 1], false],
];

describe.each(masks)("a mask before a softmax, %s", (_, mask, joins) => {
  it(joins ? "is added in its kernel" : "is a kernel", () => {
    const bytes = modelOf((graph) => {
      const left = graph.node("Relu", [graph.input("scores", scores)]);
      return [
        graph.node("Softmax", [graph.node("Add", [left, graph.node("Relu", [graph.input("mask", mask)])])]),
      ];
    });
    expect(price(bytes).timeline.steps).toHaveLength(joins ? 3 : 4);
  });
});

it("A mask over rows of more than 1024 elements is a kernel", () => {
  const bytes = modelOf((graph) => {
    const [left, right] = [graph.input("scores", [1, 4, 8, 2048]), graph.input("mask", [8, 2048])];
    return [graph.node("Softmax", [graph.node("Add", [left, right])])];
  });
  expect(price(bytes).timeline.steps).toHaveLength(2);
});
