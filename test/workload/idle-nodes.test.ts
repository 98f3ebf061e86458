/** Nodes that change nothing, on ONNX Runtime: what it drops as it loads a file is no kernel, and what it runs is one. */
import { afterAll, expect, it } from "vitest";
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

const ints = (graph: GraphBuilder, ...values: number[]) =>
  graph.weight([values.length], { dtype: "int64", values });
const number = (graph: GraphBuilder, value: number, rank = 0) =>
  graph.weight(new Array<number>(rank).fill(1), { values: [value] });
const toTheEnd = 2 ** 63;

type Build = (graph: GraphBuilder, x: string) => string;

const slice =
  (start: number, end: number, step: number): Build =>
  (graph, x) =>
    graph.node("Slice", [x, ints(graph, start), ints(graph, end), ints(graph, 1), ints(graph, step)]);
const withNumber =
  (type: string, value: number, rank?: number): Build =>
  (graph, x) =>
    graph.node(type, [x, number(graph, value, rank)]);
const ofNumber =
  (type: string, value: number): Build =>
  (graph, x) =>
    graph.node(type, [number(graph, value), x]);

const forms: readonly (readonly [string, Build])[] = [
  ["a Slice of the whole to the end of what there may be", slice(0, toTheEnd, 1)],
  ["a Slice to the size", slice(0, 8, 1)],
  ["a Slice of every second", slice(0, toTheEnd, 2)],
  ["a Slice from the second", slice(1, toTheEnd, 1)],
  ["a Pad by nothing", (graph, x) => graph.node("Pad", [x, ints(graph, 0, 0, 0, 0, 0, 0)])],
  ["a Tile of once", (graph, x) => graph.node("Tile", [x, ints(graph, 1, 1, 1)])],
  ["an Expand to the shape", (graph, x) => graph.node("Expand", [x, ints(graph, 2, 8, 8)])],
  ["a Cast to the type", (graph, x) => graph.node("Cast", [x], { to: 1 })],
  ["a Concat of one", (graph, x) => graph.node("Concat", [x], { axis: 1 })],
  ["x + 0", withNumber("Add", 0)],
  ["0 + x", ofNumber("Add", 0)],
  ["x + 1", withNumber("Add", 1)],
  ["x + 0 of more axes", withNumber("Add", 0, 4)],
  ["x − 0", withNumber("Sub", 0)],
  ["0 − x", ofNumber("Sub", 0)],
  ["x · 1", withNumber("Mul", 1, 3)],
  ["1 · x", ofNumber("Mul", 1)],
  ["x / 1", withNumber("Div", 1)],
  ["1 / x", ofNumber("Div", 1)],
];

async function runBy(bytes: Uint8Array): Promise<number> {
  using opened = modelFromBytes(await optimizedByOrt(bytes, folder, { level: "basic" }));
  return opened.graph.nodes.length;
}

it.each(forms)("%s", async (_, build) => {
  const bytes = model({ name: "idle", opset: 17 }, (graph) => {
    const x = graph.node("Neg", [graph.input("x", [2, 8, 8])]);
    graph.output(graph.node("Abs", [build(graph, x)]));
  });
  const gpu = findGpu("h200");
  invariant(gpu !== undefined, "the H200 has a row");
  using opened = modelFromBytes(bytes);
  const target = { gpu, stack: stacks["ort-cuda"], precision: "fp16" } as const;
  const { timeline } = priceModel(opened, { target, cost: createCostModel() });
  expect(timeline.kernels).toBe(await runBy(bytes));
});
