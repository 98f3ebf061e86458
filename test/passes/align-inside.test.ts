/** Slices and Pads inside a graph, around operators that need their operands' true size. */
import { describe, expect, it } from "vitest";
import { type GraphBuilder, model } from "../../fixtures/builder.ts";
import { writtenNorm } from "../../fixtures/layers.ts";
import { inferFacts } from "../../src/facts/infer.ts";
import { patched } from "../../src/fix/edits.ts";
import { type FixedModel, type FixSettings, runPasses } from "../../src/fix/pipeline.ts";
import { stacks } from "../../src/hardware/stacks.ts";
import type { Atom } from "../../src/ir/axis.ts";
import type { TensorRef } from "../../src/ir/model.ts";
import { modelFromBytes, type OpenModel } from "../../src/onnx/open.ts";
import { tensorBytes } from "../../src/onnx/tensor-bytes.ts";
import { align } from "../../src/passes/align/align.ts";
import { applyPadding } from "../../src/passes/align/apply.ts";
import { freeAtomsOf } from "../../src/passes/align/free-atoms.ts";
import { safeRelations } from "../../src/passes/align/safe-relations.ts";
import { FreshNames } from "../../src/passes/names.ts";
import { encodeNumbers } from "../../src/passes/tensors.ts";
import { priceModel, type Workload } from "../../src/workload/workload.ts";
import { normPatterns } from "../../src/workload/written-norm.ts";
import { settingsFor } from "../fix/models.ts";
import { bytesOfModel, type Feeds, floats, operators, run } from "./folding.ts";
import { expectClose, weight } from "./padding.ts";

const rows = 2048;
const width = 515;
const feed: Feeds = { x: floats([rows, width]) };

function graphOf(build: (graph: GraphBuilder, x: string) => readonly string[]): Uint8Array {
  return model({ name: "inside", opset: 17 }, (graph) => {
    for (const output of build(graph, graph.input("x", [rows, width]))) graph.output(output);
  });
}

type Normalize = (graph: GraphBuilder, x: string, seed: number) => string;

const layerNorm: Normalize = (graph, x, seed) =>
  graph.node("LayerNormalization", [x, weight(graph, [width], seed), weight(graph, [width], seed + 1)]);

const writtenOut =
  (kind: "layer" | "rms"): Normalize =>
  (graph, x, seed) =>
    writtenNorm(graph, x, width, kind, { name: `${x}_root`, parameter: () => weight(graph, [width], seed) });

/** A norm, two products with a Relu between, and what went in added. */
function block(graph: GraphBuilder, x: string, seed: number, normalize: Normalize): string {
  const normal = normalize(graph, x, seed);
  const up = graph.node("MatMul", [normal, weight(graph, [width, 1030], seed + 2)]);
  const down = graph.node("MatMul", [graph.node("Relu", [up]), weight(graph, [1030, width], seed + 3)]);
  return graph.node("Add", [x, down]);
}

function logits(graph: GraphBuilder, x: string): string {
  return graph.node("MatMul", [x, weight(graph, [width, 1027])]);
}

const onCudnn = settingsFor([align]);
/** Where each Slice and Pad is a kernel. */
const settings: FixSettings = { ...onCudnn, target: { ...onCudnn.target, stack: stacks["ort-cuda"] } };

function fixed(bytes: Uint8Array, asked: FixSettings = settings): FixedModel {
  return runPasses(modelFromBytes(bytes), asked);
}

async function expectSame(bytes: Uint8Array, { model: after }: FixedModel): Promise<void> {
  expectClose(await run(bytes, feed), await run(bytesOfModel(after), feed), 2e-5);
}

function timeOf(of: OpenModel): number {
  return priceModel(of, settings).timeline.microseconds;
}

function count(of: OpenModel, type: string): number {
  return operators(of).filter((each) => each === type).length;
}

function normsIn({ facts }: Workload): number {
  return normPatterns(facts.root).length;
}

describe.each([
  ["by operators", layerNorm],
  ["by layer norms written out", writtenOut("layer")],
  ["by RMS norms written out", writtenOut("rms")],
])("a residual stream that is normalized %s", (_, normalize) => {
  const bytes = graphOf((graph, x) => [
    [1, 11, 21].reduce((stream, seed) => block(graph, stream, seed, normalize), x),
  ]);

  it("is padded, and computes the same", async () => {
    const result = fixed(bytes);
    // Two of the normalizations read a Slice, the first the input as it is; one Slice and one Pad are at the model's ends.
    expect([count(result.model, "Slice"), count(result.model, "Pad")]).toEqual([3, 4]);
    await expectSame(bytes, result);
  });

  it("has norms that a stack joins as before", () => {
    const { model: after } = fixed(bytes);
    const [before, left] = [modelFromBytes(bytes), after].map((each) => normsIn(priceModel(each, settings)));
    expect(left).toBe(before);
  });

  it("saves what is said, Slices and Pads counted", () => {
    const { model: after, notes } = fixed(bytes);
    const promised = notes.reduce((total, { microseconds = 0 }) => total + microseconds, 0);
    expect(promised).toBeCloseTo(timeOf(modelFromBytes(bytes)) - timeOf(after), 0);
    expect(notes.map(({ message }) => message).join()).toContain(
      // Those at the model's ends, too: what the file has.
      "with 3 Slices and 4 Pads around what needs the true size",
    );
  });

  it("stays as it is where that is padded already", () => {
    const { model: after } = fixed(bytes);
    expect(runPasses(after, settings).changed).toBe(false);
  });

  it("keeps its width where nothing may be put inside", () => {
    const { model: after } = fixed(bytes, { ...settings, padsAtEnds: true });
    expect([count(after, "Slice"), count(after, "Pad")]).toEqual([0, 0]);
  });
});

/** What a hand would take of a stream: one size for all axes of a size, with Slices and Pads where they are needed. */
function byHand(before: OpenModel, targets: ReadonlyMap<number, number>): OpenModel {
  const { relations, fills } = safeRelations(inferFacts(before));
  const sizes = new Map<Atom, number>();
  for (const atom of freeAtomsOf(relations.scope.graph.values.values(), relations)) {
    const target = targets.get(atom.size);
    if (target !== undefined) sizes.set(atom, target);
  }
  const open = (tensor: TensorRef) => tensorBytes(before.source, before.files, tensor, encodeNumbers);
  const names = new FreshNames(before);
  return patched(before, applyPadding({ model: before, relations, sizes, fills, names, open }), "hand.data");
}

describe("sizes of a stream with Slices and Pads", () => {
  // Only sizes count: weights are in a file that is not there.
  const hidden = 3074;
  const stream = 770;
  const bytes = model({ name: "stream", opset: 17 }, (graph) => {
    let x = graph.input("x", [rows, stream]);
    for (let block = 0; block < 4; block++) {
      const parameters = [graph.weight([stream]), graph.weight([stream])];
      const up = graph.node("MatMul", [
        graph.node("LayerNormalization", [x, ...parameters]),
        graph.weight([stream, hidden]),
      ]);
      const down = graph.node("MatMul", [graph.node("Relu", [up]), graph.weight([hidden, stream])]);
      x = graph.node("Add", [x, down]);
    }
    graph.output(x);
  });
  const before = modelFromBytes(bytes);

  it.each([
    [776, 3080],
    [784, 3104],
    [832, 3136],
  ])("save nearly what %i and %i by hand do", (width, wide) => {
    const saved = timeOf(before) - timeOf(fixed(bytes).model);
    const sizes = new Map([
      [stream, width],
      [hidden, wide],
    ]);
    expect(saved).toBeGreaterThan(0.97 * (timeOf(before) - timeOf(byHand(before, sizes))));
  });
});

describe("logits that are compared", () => {
  it("are padded, and sliced once for all who compare them", async () => {
    const bytes = graphOf((graph, x) => {
      const wide = logits(graph, x);
      const best = graph.node("ArgMax", [wide], { axis: -1 }, { outputs: ["best"] });
      const place = graph.node("Cast", [best], { to: 1 }, { outputs: ["place"] });
      return [place, graph.node("LogSoftmax", [wide], { axis: -1 }, { outputs: ["log"] })];
    });
    const result = fixed(bytes);
    expect(count(result.model, "Slice")).toBe(1);
    expect(count(result.model, "Pad")).toBe(1);
    await expectSame(bytes, result);
  });

  it("are given out as they are compared, by one Slice", async () => {
    const bytes = graphOf((graph, x) => {
      const wide = graph.node("MatMul", [x, weight(graph, [width, 1027])], {}, { outputs: ["wide"] });
      return [wide, graph.node("Softmax", [wide], { axis: -1 }, { outputs: ["share"] })];
    });
    const result = fixed(bytes);
    expect(operators(result.model).filter((type) => type === "Slice")).toHaveLength(1);
    await expectSame(bytes, result);
  });

  it("keep their size where a Slice costs more than it saves", () => {
    const few = model({ name: "few", opset: 17 }, (graph) => {
      const x = graph.input("x", [4, 64]);
      const wide = graph.node("MatMul", [x, weight(graph, [64, 67])]);
      graph.node("ArgMax", [wide], { axis: -1 }, { outputs: ["best"] });
      graph.output("best", "int64");
    });
    expect(fixed(few).changed).toBe(false);
  });

  it("keep their size where they are compared in the file's own subgraph", () => {
    const bytes = model({ name: "inside", opset: 17 }, (graph) => {
      const wide = logits(graph, graph.input("x", [rows, width]));
      const branch = graph.inner("then");
      branch.node("Softmax", [wide], { axis: -1 }, { outputs: ["share"] });
      branch.output("share");
      const other = graph.inner("else");
      other.node("LogSoftmax", [wide], { axis: -1 }, { outputs: ["log"] });
      other.output("log");
      const isAsked = graph.input("asked", [], "bool");
      graph.node(
        "If",
        [isAsked],
        { then_branch: { graph: branch }, else_branch: { graph: other } },
        { outputs: ["y"] },
      );
      graph.output("y");
    });
    expect(count(fixed(bytes).model, "Slice")).toBe(0);
  });
});
