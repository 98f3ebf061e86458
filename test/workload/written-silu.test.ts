/** SiLU is one kernel on ONNX Runtime where it joins it, and else two: ONNX Runtime itself says which. */
import { afterAll, describe, expect, it } from "vitest";
import { type GraphBuilder, model } from "../../fixtures/builder.ts";
import { createCostModel } from "../../src/cost/model.ts";
import { findGpu } from "../../src/hardware/gpus.ts";
import { stacks } from "../../src/hardware/stacks.ts";
import { invariant } from "../../src/ir/errors.ts";
import { modelFromBytes } from "../../src/onnx/open.ts";
import { priceModel } from "../../src/workload/workload.ts";
import { temporaryFolder } from "../cli/models.ts";
import { optimizedByOrt } from "./ort-optimized.ts";

const folder = temporaryFolder();
afterAll(() => folder[Symbol.dispose]());
const cost = createCostModel();

type Build = (graph: GraphBuilder, x: string) => string;

const factor = (graph: GraphBuilder) => graph.weight([1], { values: [1.702] });
const cases: Readonly<Record<string, Build>> = {
  "x·σ(x)": (graph, x) => graph.node("Mul", [x, graph.node("Sigmoid", [x])]),
  "σ(x)·x": (graph, x) => graph.node("Mul", [graph.node("Sigmoid", [x]), x]),
  "x·σ(αx)": (graph, x) =>
    graph.node("Mul", [x, graph.node("Sigmoid", [graph.node("Mul", [x, factor(graph)])])]),
  "y·σ(x)": (graph, x) => graph.node("Mul", [graph.node("Relu", [x]), graph.node("Sigmoid", [x])]),
  "σ(x) read twice": (graph, x) => {
    const gate = graph.node("Sigmoid", [x]);
    return graph.node("Add", [graph.node("Mul", [x, gate]), gate]);
  },
  "σ(x)+x": (graph, x) => graph.node("Add", [x, graph.node("Sigmoid", [x])]),
};

function modelOf(build: Build): Uint8Array {
  return model({ name: "silu", opset: 17 }, (graph) =>
    graph.output(
      graph.node("LogSoftmax", [build(graph, graph.node("LogSoftmax", [graph.input("x", [64, 1024])]))]),
    ),
  );
}

async function runBy(bytes: Uint8Array): Promise<number> {
  using opened = modelFromBytes(await optimizedByOrt(bytes, folder, { level: "extended" }));
  return opened.graph.nodes.length;
}

describe.each(Object.entries(cases))("%s", (_, build) => {
  it.each(["ort-cuda", "ort-cuda-nhwc"] as const)(
    "is as many kernels on %s as nodes that run",
    async (id) => {
      const gpu = findGpu("h200");
      invariant(gpu !== undefined, "the H200 has a row");
      const bytes = modelOf(build);
      using opened = modelFromBytes(bytes);
      const target = { gpu, stack: stacks[id], precision: "fp16" } as const;
      expect(priceModel(opened, { target, cost }).timeline.steps).toHaveLength(await runBy(bytes));
    },
  );
});
