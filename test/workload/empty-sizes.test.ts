/** Sizes of 0: a cache may be empty; a run that computes no output is nothing to price. */
import { describe, expect, it } from "vitest";
import { type GraphBuilder, model } from "../../fixtures/builder.ts";
import { createCostModel } from "../../src/cost/model.ts";
import { findGpu } from "../../src/hardware/gpus.ts";
import { findStack, type StackId } from "../../src/hardware/stacks.ts";
import { invariant } from "../../src/ir/errors.ts";
import { modelFromBytes } from "../../src/onnx/open.ts";
import { flopsOf } from "../../src/ops/work.ts";
import { priceModel, type Workload, type WorkloadSettings } from "../../src/workload/workload.ts";
import { lint } from "../rules/lint.ts";

const cost = createCostModel();

function price(
  bytes: Uint8Array,
  stackId: StackId,
  sizes: Pick<WorkloadSettings, "dims" | "shapes">,
): Workload {
  const [gpu, stack] = [findGpu("h200"), findStack(stackId)];
  invariant(gpu !== undefined && stack !== undefined, "the H200 and its stacks have rows");
  return priceModel(modelFromBytes(bytes), { target: { gpu, stack, precision: "fp16" }, cost, ...sizes });
}

const dims = (sizes: Record<string, number>) => ({ dims: new Map(Object.entries(sizes)) });

/** One token against a cache, which is scaled before the new key joins it. */
const decoder = model({ name: "decoder", opset: 17 }, (graph: GraphBuilder) => {
  const x = graph.input("x", ["batch", 4, 1, 16]);
  const past = graph.node("Mul", [graph.input("past", ["batch", 4, "past", 16]), graph.scalar(2)]);
  const squared = graph.node("MatMul", [past, graph.weight([16, 16])]);
  const keys = graph.node("Concat", [squared, x], { axis: 2 }, { outputs: ["present"] });
  const turned = graph.node("Transpose", [keys], { perm: [0, 1, 3, 2] });
  graph.node("MatMul", [x, turned], {}, { outputs: ["y"] });
  graph.output("y", "float32");
  graph.output("present", "float32");
});

const stacks = ["cudnn", "ort-cuda", "tensorrt", "inductor"] as const;

describe.each(stacks)("on %s", (stack) => {
  it("an empty past is priced, and what runs on it alone is no kernel", () => {
    const at = (past: number) => price(decoder, stack, dims({ batch: 1, past }));
    const [none, some] = [at(0), at(1)];
    for (const { work } of none.timeline.steps) expect(flopsOf(work)).toBeGreaterThan(0);
    expect(none.products.map(({ node }) => node.outputs[0]?.name)).toEqual(["y"]);
    expect(some.products).toHaveLength(2);
    expect(none.timeline.microseconds).toBeLessThan(some.timeline.microseconds);
    expect(none.timeline.microseconds).toBeGreaterThan(0);
  });
});

it.each([
  ["a symbol", dims({ batch: 0, past: 128 }), 'batch=0: output "y" [0,4,1,129] is empty'],
  ["a shape", { shapes: new Map([["x", [0, 4, 1, 16]]]) }, 'batch=0, input "x" [0,4,1,16]: output "y"'],
])("nothing at all is refused by name: %s", (_, sizes, text) => {
  const settle = () => price(decoder, "ort-cuda", sizes);
  expect(settle).toThrow(text);
  expect(settle).toThrow(/expected 1 or more/);
});

it("an output that the file itself makes empty is nobody's mistake", () => {
  const bytes = model({ name: "empty", opset: 17 }, (graph) => {
    graph.node("MatMul", [graph.input("x", ["batch", 8]), graph.weight([8, 8])], {}, { outputs: ["y"] });
    graph.node("Relu", [graph.input("nothing", [0, 4])], {}, { outputs: ["z"] });
    graph.output("y");
    graph.output("z");
  });
  expect(price(bytes, "ort-cuda", dims({ batch: 2 })).products).toHaveLength(1);
});

describe("a file that computes nothing is no clean one", () => {
  const linted = (bytes: Uint8Array) => () => lint(modelFromBytes(bytes));

  it("whose outputs are empty by its own sizes", () => {
    const zero = model({ name: "zero", opset: 17 }, (graph: GraphBuilder) => {
      graph.output(graph.node("MatMul", [graph.input("x", [0, 64]), graph.weight([64, 64])]), "float32");
    });
    expect(linted(zero)).toThrow(/output ".*" \[0,64\] is empty by the sizes in the file/);
  });

  it("that has no node", () => {
    const none = model({ name: "none", opset: 17 }, (graph: GraphBuilder) => {
      graph.output(graph.input("x", [1, 64]), "float32");
    });
    expect(linted(none)).toThrow("the graph has no node, so there is nothing to price");
  });

  it("but one with an output beside an empty one is priced", () => {
    const beside = model({ name: "beside", opset: 17 }, (graph: GraphBuilder) => {
      const x = graph.input("x", [8, 64]);
      graph.output(graph.node("Relu", [graph.input("past", [0, 64])]), "float32");
      graph.output(graph.node("MatMul", [x, graph.weight([64, 64])]), "float32");
    });
    expect(linted(beside)().predicted.microseconds).toBeGreaterThan(0);
  });
});
