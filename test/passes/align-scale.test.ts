/** Padding of models that are large in one direction: long, wide, or with an axis that no memory holds. */
import { describe, expect, it } from "vitest";
import { type GraphBuilder, model } from "../../fixtures/builder.ts";
import { createCostModel } from "../../src/cost/model.ts";
import { type FixSettings, runPasses } from "../../src/fix/pipeline.ts";
import { findGpu } from "../../src/hardware/gpus.ts";
import { stacks } from "../../src/hardware/stacks.ts";
import { modelFromBytes } from "../../src/onnx/open.ts";
import { align } from "../../src/passes/align/align.ts";
import { padEverything, weight } from "./padding.ts";

const gpu = findGpu("h200");
if (gpu === undefined) throw new Error("there is no H200");
const options = { name: "scale", opset: 17 };

/** Runs the pass; counts what it asks of the cost model. */
function aligned(build: (graph: GraphBuilder) => void) {
  const cost = createCostModel();
  let asked = 0;
  const counting: FixSettings["cost"] = {
    kinship: (target) => cost.kinship(target),
    savingOf: (before, after, target) => cost.savingOf(before, after, target),
    savingOfRuns: (before, after) => cost.savingOfRuns(before, after),
    estimate: (work, target, detail) => {
      asked++;
      return cost.estimate(work, target, detail);
    },
  };
  const settings: FixSettings = {
    target: { gpu: gpu ?? never(), stack: stacks.cudnn, precision: "fp16" },
    cost: counting,
    passes: [align],
    minSaving: 0,
    options: { halfType: "float16", halfIo: false, ranges: undefined, nhwcIo: false, nhwcForm: "portable" },
  };
  const fixed = runPasses(modelFromBytes(model(options, build)), settings);
  return { fixed, asked };
}

function never(): never {
  throw new Error("checked above");
}

/** Concat of everything before, Conv to 12 channels: DenseNet without its norms. */
function dense(layers: number) {
  return (graph: GraphBuilder) => {
    const before = [graph.input("x", [1, 12, 8, 8])];
    for (let layer = 0; layer < layers; layer++) {
      const all = graph.node("Concat", before, { axis: 1 });
      before.push(graph.node("Conv", [all, weight(graph, [12, 12 * before.length, 1, 1])]));
    }
    graph.node("Relu", [before.at(-1) ?? ""], {}, { outputs: ["y"] });
    graph.output("y");
  };
}

describe("large models", () => {
  it("have no frame of the stack for every node on an axis", () => {
    const bytes = model(options, (graph) => {
      let last = graph.node("MatMul", [graph.input("x", [4, 9]), weight(graph, [9, 13])]);
      for (let at = 0; at < 6000; at++) last = graph.node("Add", [last, weight(graph, [13])]);
      graph.node("MatMul", [last, weight(graph, [13, 5])], {}, { outputs: ["y"] });
      graph.output("y");
    });
    const { sizes } = padEverything(modelFromBytes(bytes));
    expect([...sizes.keys()].map(({ size }) => size)).toContain(13);
  });

  it("are priced layer by layer, not once more for every pair of layers that is concatenated", () => {
    const [few, more] = [aligned(dense(8)), aligned(dense(32))];
    // Layers that an atom goes through times atoms: the square. The cube would be 64 times.
    expect(more.asked / few.asked).toBeLessThan(4 ** 2.6);
  });

  it("take more operands than a call has arguments", () => {
    const bytes = model(options, (graph) => {
      const h = graph.node("MatMul", [graph.input("x", [4, 9]), weight(graph, [9, 13])]);
      const sum = graph.node("Sum", new Array<string>(130_000).fill(h));
      graph.node("MatMul", [sum, weight(graph, [13, 5])], {}, { outputs: ["y"] });
      graph.output("y");
    });
    const { sizes } = padEverything(modelFromBytes(bytes));
    expect([...sizes.keys()].map(({ size }) => size)).toContain(13);
  });

  it.each([1e9, 2 ** 33, 2 ** 40])("keep an axis of %d as a number", (size) => {
    const bytes = model(options, (graph) => {
      const x = graph.input("x", [size, 13]);
      const h = graph.node("MatMul", [x, weight(graph, [13, 11])]);
      graph.node("Transpose", [h], { perm: [1, 0] }, { outputs: ["y"] });
      graph.output("y");
    });
    const { sizes } = padEverything(modelFromBytes(bytes));
    expect([...sizes].map(([atom, padded]) => [atom.size, padded - atom.size > 0])).toContainEqual([
      size,
      true,
    ]);
  });

  it("never list the indices of an axis that only its declaration justifies", () => {
    const { fixed } = aligned((graph) => {
      const rows = graph.input("x", [2 ** 30 * 13]);
      const apart = graph.node("Reshape", [
        rows,
        graph.weight([2], { dtype: "int64", values: [2 ** 30, 13] }),
      ]);
      graph.node("MatMul", [apart, weight(graph, [13, 5])], {}, { outputs: ["y"] });
      graph.output("y");
    });
    expect(fixed.changed).toBe(false);
  });
});
