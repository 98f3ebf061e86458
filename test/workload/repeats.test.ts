/** Heads that several queries share: TorchScript's exporter repeats them by Tile, dynamo's by Expand. */
import { expect, it } from "vitest";
import { type GraphBuilder, model } from "../../fixtures/builder.ts";
import { createCostModel } from "../../src/cost/model.ts";
import { findGpu } from "../../src/hardware/gpus.ts";
import { type StackId, stackIds, stacks } from "../../src/hardware/stacks.ts";
import { invariant } from "../../src/ir/errors.ts";
import { modelFromBytes } from "../../src/onnx/open.ts";
import { priceModel } from "../../src/workload/workload.ts";

const cost = createCostModel();

const ints = (graph: GraphBuilder, values: readonly number[]) =>
  graph.weight([values.length], { dtype: "int64", values: [...values] });

type Repeat = (graph: GraphBuilder, heads: string) => string;

const byTile: Repeat = (graph, heads) => graph.node("Tile", [heads, ints(graph, [1, 1, 3, 1, 1])]);
const byExpand: Repeat = (graph, heads) => graph.node("Expand", [heads, ints(graph, [1, 2, 3, 64, 48])]);

/** Weights of 6 heads times values of 2, repeated behind a sum, a Transpose, or nothing. */
function pricedBy(repeat: Repeat, before: "Neg" | "Transpose" | "nothing", stack: StackId) {
  const bytes = model({ name: "grouped", opset: 17 }, (graph) => {
    const weights = graph.input("weights", [1, 6, 64, 64]);
    const given = graph.input("values", before === "Transpose" ? [1, 64, 2, 48] : [1, 2, 64, 48]);
    const attributes = before === "Transpose" ? { perm: [0, 2, 1, 3] } : {};
    const values = before === "nothing" ? given : graph.node(before, [given], attributes);
    const apart = graph.node("Reshape", [values, ints(graph, [1, 2, 1, 64, 48])]);
    const shared = graph.node("Reshape", [repeat(graph, apart), ints(graph, [1, 6, 64, 48])]);
    graph.output(graph.node("MatMul", [weights, shared]));
  });
  using opened = modelFromBytes(bytes);
  const gpu = findGpu("h200");
  invariant(gpu !== undefined, "the H200 has a row");
  return priceModel(opened, { target: { gpu, stack: stacks[stack], precision: "fp16" }, cost }).timeline;
}

// On cudnn PyTorch's repeat is a copy of its own, where an expansion is brought in order by another kernel.
const cases = stackIds
  .filter((stack) => stack !== "cudnn")
  .flatMap((stack) => (["Neg", "Transpose", "nothing"] as const).map((before) => [before, stack] as const));

it.each(cases)("behind %s either takes as long on %s", (before, stack) => {
  const [tiled, expanded] = [byTile, byExpand].map((repeat) => pricedBy(repeat, before, stack));
  expect(tiled?.kernels).toBe(expanded?.kernels);
  expect(tiled?.microseconds).toBeCloseTo(expanded?.microseconds ?? Number.NaN, 9);
});
