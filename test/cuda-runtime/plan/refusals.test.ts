/** @file What a user is told where there is no plan: the file, the model's own node and operator, what was found, what is expected. */
import { describe, expect, it } from "vitest";
import { h200 } from "../../../cuda-runtime/ir/step.ts";
import { model as build, type GraphBuilder } from "../../../fixtures/builder.ts";
import { planSizes } from "../../../src/gpu/plan.ts";
import { InputError } from "../../../src/ir/errors.ts";
import { modelFromBytes } from "../../../src/onnx/open.ts";

function refusal(graph: (builder: GraphBuilder) => void): string {
  using model = modelFromBytes(build({ name: "m", opset: 18 }, graph));
  try {
    planSizes(model, {}, { precision: "fp16", target: h200 }, { memoryBytes: undefined });
  } catch (error) {
    if (error instanceof InputError && error.code === "gpu-unsupported") return error.message;
    throw error;
  }
  return "planned";
}

/** Axes of which no two neighbours can be merged once they are shuffled. */
const manyAxes = new Array<number>(18).fill(2);
const shuffled = manyAxes.map((_, axis) => (axis % 2 === 0 ? axis / 2 : 9 + (axis - 1) / 2));

describe("A plan that cannot be made names", () => {
  it("the file, the node and its operator, where no plan can hold one", () => {
    const found = refusal((graph) => {
      graph.node("Bernoulli", [graph.input("x", [8])], {}, { name: "drawn", outputs: ["y"] });
      graph.output("y");
    });
    expect(found).toBe(
      'model.onnx: node "drawn" (Bernoulli): draws random numbers: no two runs compute the same',
    );
  });

  it("the node that makes a value which the GPU does not store, and what it does store", () => {
    const found = refusal((graph) => {
      const y = graph.node("Cast", [graph.input("x", [8])], { to: 8 }, { name: "text", outputs: ["y"] });
      graph.output(y, "string");
    });
    expect(found).toMatch(
      /^model\.onnx: node "text" \(Cast\): its output "y" has string elements, expected float32, .* bool, /,
    );
  });

  it("the node whose kernel cannot take an operand, though another asked for the result", () => {
    const found = refusal((graph) => {
      const turned = graph.node(
        "Transpose",
        [graph.input("x", manyAxes)],
        { perm: shuffled },
        { name: "turn" },
      );
      const more = graph.node("Add", [turned, graph.input("z", manyAxes)], {}, { name: "sum" });
      graph.node(
        "MaxPool",
        [more],
        { kernel_shape: manyAxes.slice(2).map(() => 1) },
        { name: "pool", outputs: ["y"] },
      );
      graph.output("y");
    });
    expect(found).toMatch(
      /^model\.onnx: node "sum" \(Add\): an elementwise kernel .*; up to 8 are supported$/,
    );
  });
});
