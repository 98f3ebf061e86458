/** What ONNX Runtime leaves apart where sizes are free, held to the file that its optimizer writes of one graph with a free batch and with a fixed one. */
import { afterAll, describe, expect, it } from "vitest";
import { type GraphBuilder, model, type Sizes } from "../../fixtures/builder.ts";
import { lint } from "../../src/api/lint.ts";
import { createCostModel } from "../../src/cost/model.ts";
import { findGpu } from "../../src/hardware/gpus.ts";
import { type StackId, stacks } from "../../src/hardware/stacks.ts";
import { invariant } from "../../src/ir/errors.ts";
import { modelFromBytes } from "../../src/onnx/open.ts";
import { priceModel } from "../../src/workload/workload.ts";
import { leftApart } from "../../src/workload/written-free.ts";
import { temporaryFolder } from "../cli/models.ts";
import { optimizedByOrt } from "./ort-optimized.ts";

const folder = temporaryFolder();
afterAll(() => folder[Symbol.dispose]());
const cost = createCostModel();

function price(
  bytes: Uint8Array,
  { stack = "ort-cuda", dims }: { stack?: StackId; dims?: Map<string, number> } = {},
) {
  const gpu = findGpu("h200");
  invariant(gpu !== undefined, "the H200 has a row");
  const target = { gpu, stack: stacks[stack], precision: "as-is" } as const;
  return priceModel(modelFromBytes(bytes), { target, cost, dims });
}

type Batch = number | string;
type Build = (graph: GraphBuilder, batch: Batch) => string;

const ones = (graph: GraphBuilder, ...sizes: readonly number[]) =>
  graph.weight([...sizes], { values: new Array<number>(sizes.reduce((all, size) => all * size, 1)).fill(1) });
const layer = (graph: GraphBuilder, x: string) =>
  graph.node("Add", [graph.node("MatMul", [x, ones(graph, 64, 64)]), ones(graph, 64)]);
const rows = (graph: GraphBuilder, sizes: Sizes) => graph.node("Relu", [graph.input("x", sizes)]);
const number = (graph: GraphBuilder, value: number) => graph.weight([], { values: [value] });

function gelu(graph: GraphBuilder, x: string): string {
  const erf = graph.node("Erf", [graph.node("Div", [x, number(graph, Math.SQRT2)])]);
  const gate = graph.node("Mul", [x, graph.node("Add", [erf, number(graph, 1)])]);
  return graph.node("Mul", [gate, number(graph, 0.5)]);
}

/** The width of a head, as TorchScript reads it from a shape. */
function factorOf(graph: GraphBuilder, x: string): string {
  const at = (value: number) => graph.weight([1], { dtype: "int64", values: [value] });
  const width = graph.node("Slice", [graph.node("Shape", [x]), at(3), at(4)]);
  return graph.node("Sqrt", [graph.node("Cast", [width], { to: 1 })]);
}

const builds: Readonly<Record<string, Build>> = {
  "biases behind products of three axes": (graph, batch) =>
    layer(graph, graph.node("Relu", [layer(graph, rows(graph, [batch, 32, 64]))])),
  "a bias behind a product of two axes": (graph, batch) => layer(graph, rows(graph, [batch, 64])),
  "a bias that a GELU takes in": (graph, batch) => gelu(graph, layer(graph, rows(graph, [batch, 32, 64]))),
  "a factor that is read from a shape": (graph, batch) => {
    const q = graph.node("Relu", [graph.input("q", [batch, 4, 32, 64])]);
    const k = graph.node("Relu", [graph.input("k", [batch, 4, 64, 32])]);
    return graph.node("Softmax", [graph.node("MatMul", [graph.node("Mul", [q, factorOf(graph, q)]), k])]);
  },
};

const modelOf = (build: Build, batch: Batch) =>
  model({ name: "free", opset: 17 }, (graph) => graph.output(build(graph, batch)));

/** Sums and factors in the file that ONNX Runtime makes of one. */
async function arithmeticOf(bytes: Uint8Array): Promise<number> {
  const without = ["ConvActivationFusion", "GemmActivationFusion"];
  const optimized = await optimizedByOrt(bytes, folder, { level: "extended", without });
  const { graph } = modelFromBytes(optimized);
  return graph.nodes.filter(({ opType }) => opType === "Add" || opType === "Mul").length;
}

describe.each(Object.entries(builds))("%s", (_, build) => {
  it("are left apart as often as in ONNX Runtime's own file", async () => {
    const [free, fixed] = [modelOf(build, "batch"), modelOf(build, 2)];
    const apart = leftApart(price(free));
    expect(apart).toHaveLength((await arithmeticOf(free)) - (await arithmeticOf(fixed)));
    expect(leftApart(price(fixed))).toEqual([]);
  });
});

const ofThreeAxes = modelOf(
  (graph, batch) => layer(graph, layer(graph, rows(graph, [batch, 32, 64]))),
  "batch",
);

it("is of symbols that nobody bound, and of ONNX Runtime alone", () => {
  expect(leftApart(price(ofThreeAxes))).toHaveLength(2);
  expect(leftApart(price(ofThreeAxes, { dims: new Map([["batch", 2]]) }))).toEqual([]);
  for (const stack of ["inductor", "cudnn", "tensorrt"] as const)
    expect(leftApart(price(ofThreeAxes, { stack }))).toEqual([]);
});

it("is a note beside the account, with what the kernels take", async () => {
  const file = folder.write("free.onnx", ofThreeAxes);
  const told = async (dims?: Record<string, number>) =>
    (await lint(file, { ...(dims && { dims }) })).notices.find(({ code }) => code === "free-sizes")?.message;
  expect(await told()).toMatch(/^left free, batch costs ONNX Runtime 2 kernels more \([\d.]+ µs\)/);
  expect(await told({ batch: 2 })).toBeUndefined();
});
