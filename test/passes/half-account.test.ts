import { describe, expect, it } from "vitest";
import { type GraphBuilder, model } from "../../fixtures/builder.ts";
import { runPasses } from "../../src/fix/pipeline.ts";
import { asStored } from "../../src/fix/prices.ts";
import { modelFromBytes } from "../../src/onnx/open.ts";
import { half } from "../../src/passes/half/half.ts";
import { priceModel } from "../../src/workload/workload.ts";
import { settingsFor } from "../fix/models.ts";
import { countOf, weight } from "./halving.ts";

/** The half pass within the pipeline: with prices. */
function halve(bytes: Uint8Array, halfOnlyWhereFaster: boolean) {
  const settings = settingsFor([half]);
  const options = { ...settings.options, halfOnlyWhereFaster };
  const before = modelFromBytes(bytes);
  const fixed = runPasses(before, { ...settings, options });
  const again = runPasses(fixed.model, { ...settings, options });
  expect(again.changed).toBe(false);
  const time = (at: typeof before) => priceModel(at, asStored(settings)).timeline.microseconds;
  return { ...fixed, saved: time(before) - time(fixed.model) };
}

const square = (graph: GraphBuilder, value: string, size: number, seed: number) =>
  graph.node("MatMul", [value, weight(graph, [size, size], seed)], {}, { name: `product${size}_${seed}` });

const small = model({ name: "small", opset: 17 }, (graph) => {
  graph.node("Relu", [square(graph, graph.input("x", [4, 8]), 8, 1)], {}, { outputs: ["y"] });
  graph.output("y");
});

/** Two parts that have nothing to do with each other. */
const mixed = model({ name: "mixed", opset: 17 }, (graph) => {
  let value = graph.input("x", [512, 512]);
  for (const seed of [1, 2, 3]) value = square(graph, value, 512, seed);
  graph.node("Relu", [value], {}, { outputs: ["y"] });
  graph.node("Relu", [square(graph, graph.input("u", [4, 8]), 8, 1)], {}, { outputs: ["v"] });
  graph.output("y");
  graph.output("v");
});

const loop = model({ name: "loop", opset: 17 }, (graph) => {
  const body = graph.inner("body");
  body.input("step", [], "int64");
  body.input("going", [], "bool");
  body.input("state", [4, 8]);
  body.node("Identity", ["going"], {}, { outputs: ["still"] });
  const product = body.node("MatMul", ["state", weight(body, [8, 8])]);
  body.node("Relu", [product], {}, { outputs: ["next"] });
  body.output("still", "bool", []);
  body.output("next", "float32", [4, 8]);
  const trips = graph.weight([], { dtype: "int64", values: [100] });
  const going = graph.weight([], { dtype: "bool", values: [1] });
  graph.node("Loop", [trips, going, graph.input("x", [4, 8])], { body: { graph: body } }, { outputs: ["y"] });
  graph.output("y");
});

describe("what half precision is predicted to take", () => {
  it("is not more than before, unless half is asked for by name", () => {
    const left = halve(small, true);
    expect(left.changed).toBe(false);
    expect(left.notes).toContainEqual(
      expect.objectContaining({ kind: "blocked", message: expect.stringMatching(/^left FP32: Casts/) }),
    );
    const asked = halve(small, false);
    expect(asked.changed).toBe(true);
    expect(asked.notes[0]?.microseconds).toBeLessThan(0);
  });

  it.each([true, false])("counts each part by itself (only where faster: %s)", (onlyWhereFaster) => {
    const { model: after, notes, saved } = halve(mixed, onlyWhereFaster);
    expect(notes[0]).toMatchObject({ kind: "changed", microseconds: saved });
    expect(saved).toBeGreaterThan(0);
    const weights = [...after.graph.values.values()].flatMap(({ initializer }) => initializer?.dtype ?? []);
    expect(weights.sort()).toEqual(["float16", "float16", "float16", "float32"]);
    expect(notes.filter(({ kind }) => kind === "kept").map(({ message }) => message)).toEqual([
      '"product8_1" stays FP32: Casts would take more than half precision saves here',
    ]);
  });

  it.each([true, false])("has no Casts in a loop that gains nothing (only where faster: %s)", (only) => {
    const { model: after, changed, notes } = halve(loop, only);
    expect(changed).toBe(false);
    expect(countOf(after.graph, "Cast")).toBe(0);
    expect(notes.some(({ kind }) => kind === "blocked")).toBe(true);
  });
});
