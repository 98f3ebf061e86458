/** Slices and Pads inside that gain in half and not as stored: the file that keeps its types is padded without them. */
import { describe, expect, it } from "vitest";
import { type GraphBuilder, model } from "../../fixtures/builder.ts";
import { decideSafe } from "../../src/fix/decide.ts";
import { decideStored, type HalfByName } from "../../src/fix/decide-stored.ts";
import type { FixSettings } from "../../src/fix/pipeline.ts";
import { stacks } from "../../src/hardware/stacks.ts";
import { modelFromBytes } from "../../src/onnx/open.ts";
import { operators } from "../passes/folding.ts";
import { settingsFor } from "./models.ts";

const plain = settingsFor();
/** Its matrix products of FP32 run without Tensor Cores: what is padded there only grows. */
const settings: FixSettings = {
  ...plain,
  target: { ...plain.target, stack: stacks.inductor },
  onlyWhereFaster: true,
  minSaving: 0.005,
};

const half: HalfByName = { isStorable: () => true, gainsBelow: () => true };

/** x [197,770] → LayerNormalization, two products and an addition, again and again. */
function stream(graph: GraphBuilder): string {
  let stream = graph.input("x", [197, 770]);
  for (let block = 0; block < 2; block++) {
    const normal = graph.node("LayerNormalization", [stream, graph.weight([770]), graph.weight([770])]);
    const wide = graph.node("Relu", [graph.node("MatMul", [normal, graph.weight([770, 3078])])]);
    stream = graph.node("Add", [stream, graph.node("MatMul", [wide, graph.weight([3078, 770])])]);
  }
  return stream;
}

/** Convolutions of 67 channels, which run on Tensor Cores in either type. */
function image(graph: GraphBuilder): string {
  let image = graph.input("image", [4, 67, 28, 28]);
  for (let layer = 0; layer < 2; layer++)
    image = graph.node("Conv", [image, graph.weight([67, 67, 3, 3])], { pads: [1, 1, 1, 1] });
  return image;
}

describe("padding with Slices and Pads inside that gains in half alone", () => {
  const original = modelFromBytes(
    model({ name: "both", opset: 17 }, (graph) => {
      graph.output(stream(graph));
      graph.output(image(graph));
    }),
  );
  const { inTarget, asStored } = decideStored(original, decideSafe(original, settings), settings, half);
  const added = (of: typeof inTarget) => operators(of.fixed.model).length - operators(original).length;

  it("is made in half", () => {
    expect(inTarget.fixed.regions.some(({ addsInside }) => addsInside)).toBe(true);
    expect(added(inTarget)).toBeGreaterThan(4);
  });

  it("leaves what gains as stored without", () => {
    expect(asStored.fixed.changed).toBe(true);
    expect(asStored.fixed.regions.some(({ addsInside }) => addsInside)).toBe(false);
    // At the image and what is made of it.
    expect(added(asStored)).toBe(2);
  });

  it("is declined as stored, with what it would save", () => {
    expect(asStored.declined).toMatch(
      /^in the types that it stores the repaired model(?: \(\d+ layers change together\))? is predicted to be slower: \d/,
    );
    expect(asStored.addsInside).toBe(true);
    expect(asStored.foregone).toBeGreaterThan(asStored.change.saves.microseconds);
  });
});
