/** @file What has to be known while planning, and is not: why, by its true cause. */
import { describe, expect, it } from "vitest";
import { PlanError } from "../../../cuda-runtime/ir/step.ts";
import { planModel } from "../../../cuda-runtime/plan/build.ts";
import { model } from "../../../fixtures/builder.ts";
import { modelFromBytes } from "../../../src/onnx/open.ts";
import { weightsOf } from "../../gpu/node-tests-data.ts";

/** x [count, 2] in `count` parts, of which two are added; its sizes are `stored`, computed from stored ones, or given. */
function split(count: number, sizes: "stored" | "computed" | "given") {
  const bytes = model({ name: "parts" }, (graph) => {
    const x = graph.input("x", [count, 2]);
    const ones = { dtype: "int64", name: "sizes", values: new Array<number>(count).fill(1) } as const;
    const stored = sizes === "given" ? graph.input("given", [count], "int64") : graph.weight([count], ones);
    const read = sizes === "computed" ? graph.node("Neg", [graph.node("Neg", [stored])]) : stored;
    const parts = graph.nodes("Split", [x, read], { axis: 0 }, { name: "split", outputs: count });
    graph.nodes("Add", [parts[0] ?? "", parts[count - 1] ?? ""], {}, { outputs: ["y"] });
    graph.output("y");
  });
  using open = modelFromBytes(bytes);
  return planModel({ model: open, precision: "fp32", weights: weightsOf(open) });
}

describe("an operand that a plan is made by", () => {
  it.each(["stored", "computed"] as const)("of too many elements is said to be long: %s", (sizes) => {
    const long = /has to be known while planning, and has 4,097 elements: at most 4,096 can be$/;
    expect(() => split(4097, sizes)).toThrow(PlanError);
    expect(() => split(4097, sizes)).toThrow(long);
  });

  it("of as many as are known makes one", () => {
    expect(split(4096, "stored").steps.length).toBeGreaterThan(0);
  });

  it.each([7, 4097])("that is an input of %i elements depends on data", (count) => {
    expect(() => split(count, "given")).toThrow(
      /input 1 \("given"\) has to be known while planning, and depends on data/,
    );
  });
});
