/** Every mode of the fix, in every opset: what is written is defined there, is on the list, and runs. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type GraphBuilder, model } from "../../fixtures/builder.ts";
import { type FixSettings, runPasses } from "../../src/fix/pipeline.ts";
import { modelFromBytes, type OpenModel, openModel } from "../../src/onnx/open.ts";
import { emittedOperators } from "../../src/ops/emitted.ts";
import { align } from "../../src/passes/align/align.ts";
import { channelsLast } from "../../src/passes/channels-last/channels-last.ts";
import { fold } from "../../src/passes/fold/fold.ts";
import { half } from "../../src/passes/half/half.ts";
import type { PassOptions } from "../../src/passes/pass.ts";
import { settingsFor } from "../fix/models.ts";
import { eachModel, zooModel, zooNames } from "../zoo.ts";
import { bytesOfModel, difference, floats, noise, run } from "./folding.ts";
import { padEverything, weight } from "./padding.ts";
import { networkOf, networks } from "./random-network.ts";
import { emittedNodes, schemaProblems } from "./schemas.ts";

/** One of each run of opsets that have the same versions of the operators that are written. */
const opsets = [7, 9, 10, 12, 13, 18, 22, 26];
const few = [7, 13, 22];

function norm(graph: GraphBuilder, x: string, channels: number): string {
  const vector = (seed: number) =>
    graph.weight([channels], { values: noise(channels, seed).map((value) => value * value + 0.5) });
  return graph.node("BatchNormalization", [x, ...[1, 2, 3, 4].map(vector)]);
}

/** Two convolutions around what every opset has in one form; [2,5,8,8] and [4,10] go in, images and rows come out. */
function network(opset: number): Uint8Array {
  return model({ name: "modes", opset }, (graph) => {
    const x = graph.input("x", [2, 5, 8, 8]);
    const u = graph.input("u", [4, 10]);
    const first = graph.node("Conv", [x, weight(graph, [67, 5, 3, 3])], { pads: [1, 1, 1, 1] });
    const relu = graph.node("Relu", [norm(graph, first, 67)]);
    const pool = graph.node("MaxPool", [relu], { kernel_shape: [2, 2], strides: [2, 2] });
    const both = graph.node("Concat", [pool, graph.node("Sigmoid", [pool])], { axis: 1 });
    const image = graph.node("Conv", [both, weight(graph, [13, 134, 1, 1])]);
    graph.node("Transpose", [image], { perm: [0, 2, 3, 1] }, { outputs: ["image"] });
    const flat = graph.node("Flatten", [graph.node("GlobalAveragePool", [image])]);
    graph.node("Gemm", [flat, weight(graph, [13, 7]), weight(graph, [7])], {}, { outputs: ["rows"] });
    const dense = norm(graph, graph.node("MatMul", [u, weight(graph, [10, 67])]), 67);
    const sum = graph.node("Mul", [dense, graph.weight([67], { values: noise(67, 5) })]);
    const shape = graph.node("Shape", [u]);
    const batch = graph.node("Gather", [shape, graph.weight([1], { dtype: "int64", values: [0] })]);
    const rest = graph.weight([1], { dtype: "int64", values: [-1] });
    const target = graph.node("Concat", [batch, rest], { axis: 0 });
    graph.node("Reshape", [graph.node("Tanh", [sum]), target], {}, { outputs: ["dense"] });
    for (const name of ["image", "rows", "dense"]) graph.output(name);
  });
}

const feeds = { x: floats([2, 5, 8, 8]), u: floats([4, 10]) };

interface Mode {
  readonly passes: FixSettings["passes"];
  readonly options?: Partial<PassOptions>;
  readonly tolerance: number;
  /** Whether inputs and outputs are what they were, so that results can be compared. */
  readonly sameEdges: boolean;
}

const modes: Readonly<Record<string, Mode>> = {
  safe: { passes: [fold, align], tolerance: 1e-4, sameEdges: true },
  fp16: { passes: [fold, align, half], tolerance: 3e-2, sameEdges: true },
  "fp16 with its inputs": {
    passes: [fold, align, half],
    options: { halfIo: true },
    tolerance: 0,
    sameEdges: false,
  },
  bf16: { passes: [fold, align, half], options: { halfType: "bfloat16" }, tolerance: 0, sameEdges: false },
  nhwc: { passes: [fold, align, channelsLast], tolerance: 1e-4, sameEdges: true },
  "nhwc with its inputs": {
    passes: [fold, align, channelsLast],
    options: { nhwcIo: true },
    tolerance: 0,
    sameEdges: false,
  },
};

/** Operators that were written, by any mode. */
const seen = new Set<string>();

function fix(bytes: Uint8Array, { passes, options }: Mode) {
  const before = modelFromBytes(bytes);
  const base = settingsFor(passes);
  const { model: after } = runPasses(before, { ...base, options: { ...base.options, ...options } });
  record(before, after);
  return after;
}

function record(before: OpenModel, after: OpenModel): void {
  expect(schemaProblems(before, after)).toEqual([]);
  for (const { domain, opType } of emittedNodes(before, after)) if (domain === "") seen.add(opType);
}

describe.each(Object.entries(modes))("The mode %s", (name, mode) => {
  it.each(mode.sameEdges ? opsets : few.filter((opset) => name !== "bf16" || opset >= 13))(
    "writes what opset %i has",
    async (opset) => {
      const bytes = network(opset);
      const after = fix(bytes, mode);
      if (!mode.sameEdges) return;
      const [expected, actual] = [await run(bytes, feeds), await run(bytesOfModel(after), feeds)];
      expect(difference(expected, actual)).toBeLessThan(mode.tolerance);
    },
  );
});

it("Drawn networks are padded and moved with operators that are on the list", () => {
  fc.assert(
    fc.property(networks, fc.constantFrom(...Object.values(modes)), (plan, mode) => {
      const { bytes } = networkOf(plan);
      fix(bytes, mode);
      const before = modelFromBytes(bytes);
      record(before, padEverything(before).after);
    }),
    { numRuns: 15, seed: 20261122 },
  );
});

/** Of each kind of network one; all of them with TC_LINT_ALL_ZOO. */
const some = ["mobilenet_v2", "llama"];
const { TC_LINT_ALL_ZOO: isWholeZoo } = process.env;
const zooModels = isWholeZoo === undefined ? some : zooNames;

describe("The zoo, which has no weights to pad", () => {
  eachModel(zooModels)("%s is moved with operators that are on the list", (name) => {
    using before = openModel(zooModel(name));
    for (const passes of [
      [fold, half],
      [fold, channelsLast],
    ])
      record(before, runPasses(before, settingsFor(passes)).model);
  });
});

it("The checks above see what is written", () => {
  // The others are written for shapes and constants that have tests of their own.
  expect([...seen]).toEqual(expect.arrayContaining(["Add", "Cast", "Identity", "Pad", "Slice", "Transpose"]));
  expect([...seen].filter((type) => !emittedOperators.has(type))).toEqual([]);
});
