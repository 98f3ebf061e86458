import { describe, expect, it } from "vitest";
import { type GraphBuilder, model } from "../../fixtures/builder.ts";
import { diffModels } from "../../src/fix/diff.ts";
import { modelFromBytes } from "../../src/onnx/open.ts";
import { renderFixText } from "../../src/report/fix-text.ts";

const options = { name: "diff", opset: 17 };

function modelOf(build: (graph: GraphBuilder) => void) {
  return modelFromBytes(model(options, build));
}

function splitInto(parts: number, prefix: string) {
  return modelOf((graph) => {
    const outputs = Array.from({ length: parts }, (_, at) => `${prefix}${at}`);
    graph.node("Split", [graph.input("x", [parts])], { axis: 0 }, { outputs, name: "split" });
    graph.output(`${prefix}0`);
  });
}

describe("a diff", () => {
  it("names inputs, outputs and attributes that changed, and no others", () => {
    const build = (alpha: number, input: string) =>
      modelOf((graph) => {
        graph.input("x", [2]);
        graph.input("z", [2]);
        graph.node("LeakyRelu", [input], { alpha: { float: alpha } }, { outputs: ["y"], name: "leaky" });
        graph.output("y");
      });
    const { nodes } = diffModels(build(0.5, "x"), build(0.25, "z"));
    expect(nodes).toEqual([
      { name: "leaky", op: "LeakyRelu", kind: "changed", details: ['input 0 "x" → "z"', "alpha 0.5 → 0.25"] },
    ]);
    expect(diffModels(build(0.5, "x"), build(0.5, "x")).nodes).toEqual([]);
  });

  it("has room for more changes of one node than a call has arguments, and is printed", () => {
    const parts = 150_000;
    const diff = diffModels(splitInto(parts, "a"), splitInto(parts, "b"));
    expect(diff.nodes[0]?.details.length).toBe(parts);
    const many = Array.from({ length: parts }, (_, at) => ({
      name: `w${at}`,
      before: null,
      after: "float32[1]",
    }));
    const text = renderFixText(
      {
        path: "model.onnx",
        destination: "model.onnx",
        changed: true,
        written: false,
        flags: ["--fix"],
        notes: [],
        diff: { ...diff, tensors: many },
        account: [],
        microseconds: { before: 2, after: 1 },
        proof: null,
        measurement: null,
        precision: "as-is",
        stored: { before: 2, after: 1 },
        bytes: 0,
        assumed: {},
        dataFiles: [],
        unreferenced: [],
      },
      { color: 0, diff: true, ranges: undefined },
    );
    expect(text.split("\n").filter((line) => line.startsWith("  + w")).length).toBe(10_000);
    expect(text).toContain("tensors: … and 140,000 more");
  }, 30_000);
});
