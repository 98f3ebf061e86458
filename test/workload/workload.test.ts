import { describe, expect, it } from "vitest";
import { type GraphBuilder, model } from "../../fixtures/builder.ts";
import { ruleFixtures } from "../../fixtures/rules.ts";
import { createCostModel } from "../../src/cost/model.ts";
import { inferFacts } from "../../src/facts/infer.ts";
import { findGpu } from "../../src/hardware/gpus.ts";
import { findStack, type StackId } from "../../src/hardware/stacks.ts";
import type { Target } from "../../src/hardware/target.ts";
import { invariant } from "../../src/ir/errors.ts";
import { modelFromBytes } from "../../src/onnx/open.ts";
import type { Step } from "../../src/workload/timeline.ts";
import { priceFacts, priceModel, trafficOf, type Workload } from "../../src/workload/workload.ts";

const cost = createCostModel();

function targetOf(stackId: StackId): Target {
  const [gpu, stack] = [findGpu("h200"), findStack(stackId)];
  invariant(gpu !== undefined && stack !== undefined, "the H200 and its stacks have rows");
  return { gpu, stack, precision: "fp16" };
}

function price(bytes: Uint8Array, stack: StackId = "cudnn", dims?: ReadonlyMap<string, number>): Workload {
  return priceModel(modelFromBytes(bytes), { target: targetOf(stack), cost, dims });
}

const sum = (values: readonly number[]) => values.reduce((total, value) => total + value, 0);
const opsOf = (steps: readonly Step[]) => steps.map(({ nodes }) => nodes.map(({ opType }) => opType));

/** Every stack with every small model that rules flag or leave alone. */
const fixtures = Object.entries(ruleFixtures).flatMap(([code, { bad, good }]) => [
  [`${code}, bad`, bad] as const,
  [`${code}, good`, good] as const,
]);
const stacks = ["cudnn", "tensorrt", "ort-cuda", "tc-runtime"] as const;

describe.each(stacks)("a model's account on %s", (stack) => {
  it.each(fixtures)("adds up: %s", (_, make) => {
    const { timeline, products, unresolved } = price(make(), stack);
    const { steps, families, microseconds, low, high } = timeline;
    const near = (value: number) => expect(value).toBeCloseTo(microseconds, 9);
    near(sum(steps.map((step) => step.microseconds)));
    near(sum(Object.values(families)));
    for (const step of steps) {
      const { estimate, runs } = step;
      expect(step.microseconds).toBe(estimate.microseconds * runs);
      expect(estimate.low).toBeLessThanOrEqual(estimate.microseconds);
      expect(estimate.high).toBeGreaterThanOrEqual(estimate.microseconds);
    }
    expect(low).toBeLessThanOrEqual(microseconds);
    expect(high).toBeGreaterThanOrEqual(microseconds);
    // Each product is one step with its own time; a node is in one kernel, unless it is several products.
    const priced = steps.flatMap(({ product }) => product ?? []);
    expect(priced).toHaveLength(products.length);
    expect(priced.every((product) => products.includes(product))).toBe(true);
    for (const { product, microseconds: time } of steps)
      if (product !== undefined) expect(time).toBe(product.microseconds);
    for (const { node, scope } of unresolved) expect(timeline.stepOf(node, scope)?.product).toBeUndefined();
  });
});

const square = (graph: GraphBuilder, x: string, size: number) =>
  graph.node("MatMul", [x, graph.weight([size, size])]);

/** y = (x·W) · sigmoid(x·W). */
const swish = model({ name: "swish", opset: 17 }, (graph) => {
  const product = square(graph, graph.input("x", [64, 32]), 32);
  graph.node("Mul", [product, graph.node("Sigmoid", [product])], {}, { outputs: ["y"] });
  graph.output("y");
});

const loop = model({ name: "loop", opset: 17 }, (graph) => {
  const body = graph.inner("body");
  body.input("step", [], "int64");
  body.input("going", [], "bool");
  body.input("state", [64, 32]);
  body.node("Identity", ["going"], {}, { outputs: ["still"] });
  body.node("Relu", [square(body, "state", 32)], {}, { outputs: ["next"] });
  body.output("still", "bool", []);
  body.output("next", "float32", [64, 32]);
  const trips = graph.weight([], { dtype: "int64", values: [100] });
  const going = graph.weight([], { dtype: "bool", values: [1] });
  graph.node(
    "Loop",
    [trips, going, graph.input("x", [64, 32])],
    { body: { graph: body } },
    { outputs: ["y"] },
  );
  graph.output("y");
});

const batched = model({ name: "batched", opset: 17 }, (graph) => {
  graph.node("Relu", [square(graph, graph.input("x", ["batch", 32]), 32)], {}, { outputs: ["y"] });
  graph.output("y");
});

describe("kernels", () => {
  it("are chains of elementwise nodes, which read and write what is not theirs once", () => {
    const { timeline } = price(swish, "inductor");
    expect(opsOf(timeline.steps)).toEqual([["MatMul"], ["Sigmoid", "Mul"]]);
    const bytes = 64 * 32 * 4;
    expect(timeline.steps[1]?.work).toMatchObject({
      rows: 64,
      columns: 32,
      bytesRead: bytes,
      bytesWritten: bytes,
    });
  });

  const rowsOf = 768 * 4;
  it.each([
    {
      name: "Gather of a table",
      build: (g: GraphBuilder) => g.node("Gather", [g.weight([50_257, 768]), g.input("ids", [64], "int64")]),
      read: 64 * 8 + 64 * rowsOf,
      written: 64 * rowsOf,
    },
    {
      name: "Gather of more rows than there are",
      build: (g: GraphBuilder) => g.node("Gather", [g.weight([128, 768]), g.input("ids", [512], "int64")]),
      read: 512 * 8 + 128 * rowsOf,
      written: 512 * rowsOf,
    },
    {
      name: "GatherElements",
      build: (g: GraphBuilder) =>
        g.node("GatherElements", [g.input("x", [5000, 768]), g.input("ids", [64, 768], "int64")]),
      read: 64 * 768 * 8 + 64 * rowsOf,
      written: 64 * rowsOf,
    },
    {
      name: "GatherND",
      build: (g: GraphBuilder) =>
        g.node("GatherND", [g.input("x", [50, 100, 768]), g.input("ids", [64, 2], "int64")]),
      read: 64 * 2 * 8 + 64 * rowsOf,
      written: 64 * rowsOf,
    },
    {
      name: "Gather of what is read whole besides",
      build: (g: GraphBuilder) => {
        const x = g.input("x", [128, 768]);
        const rows = g.node("Gather", [x, g.input("ids", [128], "int64")]);
        return g.node("Add", [rows, x]);
      },
      read: 128 * 8 + 128 * rowsOf,
      written: 128 * rowsOf,
    },
  ])("read the rows that are asked for, not the table: $name", ({ build, read, written }) => {
    const bytes = model({ name: "rows", opset: 17 }, (graph) => {
      graph.node("Identity", [graph.node("Relu", [build(graph)])], {}, { outputs: ["y"] });
      graph.output("y");
    });
    const { steps } = price(bytes, "inductor").timeline;
    expect(steps).toHaveLength(1);
    expect(steps[0]?.work).toMatchObject({ bytesRead: read, bytesWritten: written });
  });

  it("are single nodes on a stack that fuses nothing, attention that is written out among them", () => {
    expect(opsOf(price(swish).timeline.steps)).toEqual([["MatMul"], ["Sigmoid"], ["Mul"]]);
    const written = ruleFixtures["TC401"]?.bad();
    invariant(written !== undefined, "TC401 has a fixture");
    const kernels = opsOf(price(written).timeline.steps).flat();
    expect(kernels).toEqual(["MatMul", "Mul", "Softmax", "MatMul"]);
    expect(opsOf(price(written, "tc-runtime").timeline.steps)).toHaveLength(1);
  });

  /** Exporters trace what does nothing at these sizes. */
  const idle = model({ name: "test" }, (graph) => {
    const x = graph.input("x", [1, 56, 56, 96]);
    const same = graph.node("Pad", [x, graph.weight([8], { dtype: "int64", values: Array(8).fill(0) })]);
    graph.output(graph.node("Transpose", [same], { perm: [0, 2, 1, 3] }));
  });

  it("of what gives out what it takes in are copies, without the arithmetic of a Pad", () => {
    const grown = model({ name: "test" }, (graph) => {
      const pads = graph.weight([8], { dtype: "int64", values: [0, 0, 0, 0, 0, 1, 0, 0] });
      const padded = graph.node("Pad", [graph.input("x", [1, 55, 55, 96]), pads]);
      graph.output(graph.node("Transpose", [padded], { perm: [0, 2, 1, 3] }));
    });
    for (const stack of ["cudnn", "ort-cuda"] as const) {
      const [copy, pad] = [idle, grown].map((bytes) => price(bytes, stack).timeline.steps[0]);
      expect(copy?.detail.variant).toBe("copy");
      expect(pad?.detail.variant).toBe("pad");
      expect(copy?.microseconds).toBeLessThan(0.6 * (pad?.microseconds ?? 0));
    }
  });

  it.each(["inductor", "tensorrt"] as const)(
    "are none for what does nothing on %s, which compiles",
    (stack) => {
      expect(opsOf(price(idle, stack).timeline.steps)).toEqual([["Transpose"]]);
    },
  );

  it("are none for what ONNX Runtime drops as it loads a file, but for outputs and what it keeps", () => {
    const bytes = model({ name: "test" }, (graph) => {
      const list = (values: readonly number[]) => graph.weight([values.length], { dtype: "int64", values });
      const x = graph.input("x", [2, 64, 96]);
      const expanded = graph.node("Expand", [graph.node("Cast", [x], { to: 1 }), list([1, 64, 96])]);
      const padded = graph.node("Pad", [expanded, list(Array(6).fill(0))]);
      const grown = graph.node("Expand", [
        graph.node("Cast", [graph.input("row", [1, 96])], { to: 10 }),
        list([2, 96]),
      ]);
      graph.output(graph.node("Transpose", [padded], { perm: [0, 2, 1] }));
      graph.output(grown);
      graph.output(graph.node("Cast", [expanded], { to: 1 }));
    });
    const run = ["Pad", "Cast", "Expand", "Transpose", "Cast"];
    for (const stack of ["ort-cuda", "ort-cuda-nhwc"] as const)
      expect(opsOf(price(bytes, stack).timeline.steps).flat().toSorted()).toEqual(run.toSorted());
    expect(opsOf(price(bytes).timeline.steps).flat()).toContain("Cast");
  });

  it("hold the chain behind a product where the stack fuses it", () => {
    expect(opsOf(price(batched).timeline.steps)).toEqual([["MatMul"], ["Relu"]]);
    const { steps, microseconds } = price(batched, "tensorrt").timeline;
    expect(opsOf(steps)).toEqual([["MatMul", "Relu"]]);
    expect(microseconds).toBe(steps[0]?.product?.microseconds);
  });

  describe("of norms", () => {
    const normed = model({ name: "test" }, (graph) => {
      const x = graph.input("x", [4, 96, 256], "float16");
      const sum = graph.node("Add", [x, graph.input("y", [4, 96, 256], "float16")]);
      const [scale, shift] = [graph.weight([256]), graph.weight([256])];
      const rows = graph.node("LayerNormalization", [sum, scale, shift], { axis: -1 });
      graph.output(graph.node("Mul", [rows, graph.input("z", [4, 96, 256], "float16")]));
    });
    /** As exporters write it, over the same rows. */
    const softmax = model({ name: "test" }, (graph) => {
      const x = graph.input("x", [4, 96, 256], "float16");
      const scaled = graph.node("Mul", [x, graph.weight([1])]);
      graph.output(graph.node("Softmax", [scaled], { axis: -1 }));
    });

    it.each([
      { name: "LayerNormalization", bytes: normed, ops: ["Add", "LayerNormalization", "Mul"], operands: 3 },
      { name: "Softmax", bytes: softmax, ops: ["Mul", "Softmax"], operands: 1 },
    ])("join the loops around them where loops are compiled: $name", ({ bytes, ops, operands }) => {
      const { steps } = price(bytes, "inductor").timeline;
      expect(opsOf(steps)).toEqual([ops]);
      const moved = 4 * 96 * 256 * 2;
      expect(steps[0]?.work).toMatchObject({
        pattern: "normalization",
        rows: 4 * 96,
        columns: 256,
        bytesRead: operands * moved,
        bytesWritten: moved,
      });
      expect(opsOf(price(bytes).timeline.steps)).toEqual(ops.map((op) => [op]));
    });
  });

  it("of a loop's body run as often as the loop", () => {
    const { timeline } = price(loop);
    const runs = timeline.steps.filter(({ scope }) => !scope.isMain).map((step) => step.runs);
    expect(runs).toEqual([100, 100]);
  });

  it("that only move memory are told for the main graph alone", () => {
    expect(opsOf(trafficOf(price(swish, "inductor")))).toEqual([["Sigmoid", "Mul"]]);
    expect(trafficOf(price(loop))).toEqual([]);
  });
});

describe("sizes", () => {
  it("are those that the user gives, else plausible ones", () => {
    const rows = (workload: Workload) => workload.products.map(({ sizes }) => sizes);
    expect(rows(price(batched))).toMatchObject([{ kind: "gemm", m: 1 }]);
    const given = price(batched, "cudnn", new Map([["batch", 48]]));
    expect(rows(given)).toMatchObject([{ kind: "gemm", m: 48 }]);
    expect(given.bindings.get("batch")).toBe(48);
  });

  it("of facts known before price a model as itself", () => {
    const opened = modelFromBytes(batched);
    const dims = new Map([["batch", 48]]);
    const settings = { target: targetOf("cudnn"), cost, dims };
    const known = priceFacts(inferFacts(opened, { dims }), settings);
    expect(known.timeline.microseconds).toBe(priceModel(opened, settings).timeline.microseconds);
  });
});
