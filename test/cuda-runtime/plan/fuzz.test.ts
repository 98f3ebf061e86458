/** @file Models that ONNX forbids: a plan, or an error that names a node. Nothing else comes out. */
import { existsSync, readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { h200 } from "../../../cuda-runtime/ir/step.ts";
import { lowerings } from "../../../cuda-runtime/lower/index.ts";
import type { GraphBuilder } from "../../../fixtures/builder.ts";
import { model as build } from "../../../fixtures/builder.ts";
import { planSizes } from "../../../src/gpu/plan.ts";
import { InputError } from "../../../src/ir/errors.ts";
import { modelFromBytes } from "../../../src/onnx/open.ts";
import { Random } from "../../../src/verify/random.ts";
import { nodeTestArchive, unpackNodeTests } from "../../onnx/node-tests.ts";
import { mutated } from "./mutate.ts";

const own = (graph: (builder: GraphBuilder) => void) => build({ name: "m", opset: 18 }, graph);

/** One node each, of inputs that are all declared. */
function single(type: string, shapes: readonly (readonly number[])[], attributes = {}): Uint8Array {
  return own((graph) => {
    const inputs = shapes.map((shape, index) => graph.input(`x${index}`, [...shape]));
    graph.node(type, inputs, attributes, { outputs: ["y"] });
    graph.output("y");
  });
}

const seeds: readonly Uint8Array[] = [
  single("Add", [[2, 3], [3]]),
  single("Where", [[2], [2], [2]]),
  single("MatMul", [
    [2, 8],
    [8, 8],
  ]),
  single("Gemm", [[2, 8], [8, 8], [8]], { transB: 1 }),
  single("Conv", [[1, 3, 8, 8], [4, 3, 3, 3], [4]], {
    pads: [1, 1, 1, 1],
    strides: [2, 2],
    dilations: [1, 1],
    group: 1,
  }),
  single("MaxPool", [[1, 3, 8, 8]], { kernel_shape: [2, 2], strides: [2, 2] }),
  single("Softmax", [[2, 8]], { axis: -1 }),
  single("ReduceMean", [[2, 8]], { keepdims: 1 }),
  single("Transpose", [[2, 3, 4]], { perm: [2, 0, 1] }),
  single("Concat", [[2], [3]], { axis: 0 }),
  single("LayerNormalization", [[2, 8], [8], [8]], { axis: -1 }),
  single(
    "GatherElements",
    [
      [3, 3],
      [2, 3],
    ],
    { axis: 1 },
  ),
  single(
    "LSTM",
    [
      [3, 2, 4],
      [1, 32, 4],
      [1, 32, 8],
    ],
    { hidden_size: 8 },
  ),
  single(
    "Einsum",
    [
      [2, 3],
      [3, 4],
    ],
    { equation: "ij,jk->ik" },
  ),
  single("Tile", [[2, 2], [2]]),
  single("DepthToSpace", [[1, 8, 2, 2]], { blocksize: 2 }),
];

function outcome(bytes: Uint8Array, precision: "fp32" | "fp16" | "model"): unknown {
  try {
    using model = modelFromBytes(bytes);
    planSizes(model, {}, { precision, target: h200 }, { memoryBytes: undefined });
    return undefined;
  } catch (error) {
    return error;
  }
}

function expectNamed(models: readonly Uint8Array[], rounds: number, seed: string): void {
  const operators = Object.keys(lowerings);
  for (let round = 0; round < rounds; round++) {
    const random = new Random(`${seed} ${round}`);
    const bytes = mutated(
      models[random.integer(0, models.length - 1)] ?? new Uint8Array(),
      random,
      operators,
    );
    const error = outcome(bytes, (["fp32", "fp16", "model"] as const)[round % 3] ?? "fp32");
    const isNamed = error === undefined || error instanceof InputError;
    expect(isNamed, `${seed} ${round}: ${error instanceof Error ? error.stack : String(error)}`).toBe(true);
  }
}

describe("Mutated models", () => {
  it("of our own are planned or refused by name", () => {
    expectNamed(seeds, 2000, "own");
  });

  it.skipIf(nodeTestArchive === undefined)(
    "of ONNX's operator tests are planned or refused by name",
    () => {
      using tests = unpackNodeTests(nodeTestArchive ?? "");
      const models = tests.models.filter((file) => existsSync(file)).map((file) => readFileSync(file));
      expectNamed(
        models.filter(({ length }) => length < 20_000),
        1500,
        "node tests",
      );
    },
    60_000,
  );
});
