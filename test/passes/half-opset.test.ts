import { describe, expect, it } from "vitest";
import { type GraphBuilder, type ModelOptions, model } from "../../fixtures/builder.ts";
import { runPasses } from "../../src/fix/pipeline.ts";
import { modelFromBytes, type OpenModel } from "../../src/onnx/open.ts";
import { half } from "../../src/passes/half/half.ts";
import { raiseOpset } from "../../src/passes/half/raise-opset.ts";
import { newestMeaning } from "../../src/passes/opset/meaning.ts";
import { settingsFor } from "../fix/models.ts";
import { bytesOfModel, difference, floats, run } from "./folding.ts";
import { countOf } from "./halving.ts";
import { ints, weight } from "./padding.ts";

type Build = (graph: GraphBuilder, h: string) => string;

/** x [1,4,9,9] → Conv → what `build` says → y. */
function convolutionAnd(build: Build, more: Partial<ModelOptions> = {}): Uint8Array {
  return model({ name: "raised", opset: 17, ...more }, (graph) => {
    const h = graph.node("Conv", [graph.input("x", [1, 4, 9, 9]), weight(graph, [8, 4, 3, 3])]);
    graph.node("Identity", [build(graph, h)], {}, { outputs: ["y"] });
    graph.output("y");
  });
}

function raised(bytes: Uint8Array) {
  const options = { ...settingsFor().options, halfType: "bfloat16" } as const;
  const before = modelFromBytes(bytes);
  const once = runPasses(before, { ...settingsFor([raiseOpset]), options });
  const both = runPasses(before, { ...settingsFor([raiseOpset, half]), options });
  return { raised: once.model, halved: both.model, notes: both.notes };
}

function opsetOf(fixed: OpenModel): number | undefined {
  return fixed.opsets.get("");
}

describe("a model with convolutions below opset 22", () => {
  const cases: Readonly<Record<string, readonly [Build, opset?: number]>> = {
    "nothing else": [(_, h) => h, 13],
    "a pool": [(graph, h) => graph.node("MaxPool", [h], { kernel_shape: [2, 2], strides: [2, 2] }), 13],
    "a pool rounded up from inside": [
      (graph, h) => graph.node("MaxPool", [h], { kernel_shape: [3, 3], strides: [2, 2], ceil_mode: 1 }),
      13,
    ],
    "an average": [(graph, h) => graph.node("AveragePool", [h], { kernel_shape: [2, 2] }), 13],
    "a softmax": [(graph, h) => graph.node("Softmax", [h], { axis: 1 }), 13],
    "a normalization of channels": [
      (graph, h) => {
        const [a, b, c, d] = [1, 2, 3, 4].map(() => weight(graph, [8]));
        return graph.node("BatchNormalization", [h, a ?? "", b ?? "", c ?? "", graph.node("Abs", [d ?? ""])]);
      },
      13,
    ],
    "a sum over everything": [(graph, h) => graph.node("ReduceMean", [h]), 13],
    "a sum over axes in an input": [(graph, h) => graph.node("ReduceMean", [h, ints(graph, [2, 3])]), 18],
    "a sum over axes in an attribute": [(graph, h) => graph.node("ReduceMean", [h], { axes: [2, 3] }), 13],
    "as many parts as results": [
      (graph, h) => graph.nodes("Split", [h], { axis: 1 }, { outputs: 2 })[1] ?? "",
      13,
    ],
    "sizes of parts": [(graph, h) => graph.node("Split", [h, ints(graph, [8])], { axis: 1 }), 13],
  };

  it.each(Object.entries(cases))(
    "is raised, means the same, and is BF16: with %s",
    async (_, [build, opset]) => {
      const bytes = convolutionAnd(build, { opset: opset ?? 17 });
      const { raised: same, halved, notes } = raised(bytes);
      expect([opsetOf(same), opsetOf(halved)]).toEqual([newestMeaning, newestMeaning]);
      expect(notes[0]?.message).toMatch(/^opset \d+ → 22, .* BF16 Conv needs it$/);
      const feeds = { x: floats([1, 4, 9, 9]) };
      expect(difference(await run(bytes, feeds), await run(bytesOfModel(same), feeds))).toBeLessThan(1e-6);
      // Nothing but the input and the output is turned: the convolution is BF16.
      expect(countOf(halved.graph, "Cast")).toBe(2);
    },
  );

  it.each<[string, Build, number]>([
    [
      "a pool rounded up over padding",
      (graph, h) =>
        graph.node("MaxPool", [h], {
          kernel_shape: [3, 3],
          strides: [2, 2],
          pads: [1, 1, 1, 1],
          ceil_mode: 1,
        }),
      17,
    ],
    ["a softmax of the old kind", (graph, h) => graph.node("Softmax", [h], { axis: 1 }), 11],
  ])("is left as it is, and what forbids it named, with %s", (_, build, opset) => {
    const { raised: first, halved, notes } = raised(convolutionAnd(build, { opset }));
    expect([opsetOf(first), opsetOf(halved)]).toEqual([opset, opset]);
    expect(notes.every(({ kind }) => kind !== "changed")).toBe(true);
    expect(notes[0]?.message).toMatch(
      /BF16 Conv needs opset 22, and this model's opset \d+ cannot be raised: \w+ "[^"]+" is not known to mean the same in both; nothing is stored in BF16: .* use --precision fp16$/,
    );
  });

  it("keeps its convolutions in FP32 where other products need no newer opset", () => {
    const { halved, notes } = raised(
      convolutionAnd((graph, h) =>
        graph.node("MatMul", [graph.node("LpPool", [h], { kernel_shape: [3, 3] }), weight(graph, [5, 5])]),
      ),
    );
    expect(opsetOf(halved)).toBe(17);
    expect(notes.map(({ kind }) => kind)).toEqual(["blocked", "changed", "kept"]);
    expect(notes[0]?.message).toMatch(/LpPool ".*" is not known to mean the same/);
  });

  it("is left alone by FP16, and where the opset will do", () => {
    const bytes = convolutionAnd((_, h) => h);
    expect(runPasses(modelFromBytes(bytes), settingsFor([raiseOpset])).changed).toBe(false);
    expect(raised(convolutionAnd((_, h) => h, { opset: newestMeaning })).raised.opsets.get("")).toBe(
      newestMeaning,
    );
  });
});
