import { describe, expect, it } from "vitest";
import { type FixSettings, runPasses } from "../../src/fix/pipeline.ts";
import { stacks } from "../../src/hardware/stacks.ts";
import type { OpenModel } from "../../src/onnx/open.ts";
import { modelFromBytes } from "../../src/onnx/open.ts";
import { align } from "../../src/passes/align/align.ts";
import { priceModel } from "../../src/workload/workload.ts";
import { convolutions, settingsFor } from "../fix/models.ts";
import { floats, info, modelBytes, node, type types } from "../onnx/build.ts";
import { noise } from "./folding.ts";

const vocabulary = 4097;

/** x [4096,256] → logits [4096, vocabulary], an output of the model. */
function head(): types.IGraphProto {
  return {
    node: [node("MatMul", ["x", "w"], ["logits"], { name: "head" })],
    input: [info("x", [4096, 256])],
    output: [info("logits", [4096, vocabulary])],
    initializer: [floats("w", [256, vocabulary], new Array<number>(256 * vocabulary).fill(1))],
  };
}

/** x [2,32,28,28] → Conv to 67 → Relu → MaxPool → Conv to 129 → mean over positions → y. */
function network(): types.IGraphProto {
  const ints = (name: string, values: number[]) => ({ name, type: 7, ints: values });
  const pads = ints("pads", [1, 1, 1, 1]);
  const pooling = [ints("kernel_shape", [2, 2]), ints("strides", [2, 2])];
  return {
    node: [
      node("Conv", ["x", "w1"], ["a"], { attribute: [pads] }),
      node("Relu", ["a"], ["b"]),
      node("MaxPool", ["b"], ["c"], { attribute: pooling }),
      node("Conv", ["c", "w2"], ["d"], { attribute: [pads] }),
      node("Sigmoid", ["d"], ["e"]),
      node("Mul", ["d", "e"], ["f"]),
      node("Conv", ["f", "w3"], ["y"], { attribute: [pads] }),
    ],
    input: [info("x", [2, 32, 28, 28])],
    output: [info("y", [2, 32, 14, 14])],
    initializer: [
      floats("w1", [67, 32, 3, 3], noise(67 * 32 * 9, 1)),
      floats("w2", [129, 67, 3, 3], noise(129 * 67 * 9, 2)),
      floats("w3", [32, 129, 3, 3], noise(32 * 129 * 9, 3)),
    ],
  };
}

/** x [2,64,56,56] → Conv to 129 → GroupNormalization of a channel each → Mish → Conv → y. */
function functions(): types.IGraphProto {
  const pads = { name: "pads", type: 7, ints: [1, 1, 1, 1] };
  const groups = { name: "num_groups", type: 2, i: 129 };
  return {
    node: [
      node("Conv", ["x", "w1"], ["a"], { attribute: [pads] }),
      node("GroupNormalization", ["a", "scale", "bias"], ["b"], { attribute: [groups] }),
      node("Mish", ["b"], ["c"]),
      node("Conv", ["c", "w2"], ["y"], { attribute: [pads] }),
    ],
    input: [info("x", [2, 64, 56, 56])],
    output: [info("y", [2, 64, 56, 56])],
    initializer: [
      floats("w1", [129, 64, 3, 3], noise(129 * 64 * 9, 6)),
      floats("scale", [129], noise(129, 7)),
      floats("bias", [129], noise(129, 8)),
      floats("w2", [64, 129, 3, 3], noise(64 * 129 * 9, 9)),
    ],
  };
}

/** ids [tokens] → rows of a table, and the table turned as a head behind them: logits [tokens, rows]. */
function tied(rows: number, tokens: number): types.IGraphProto {
  const perm = { name: "perm", type: 7, ints: [1, 0] };
  return {
    node: [
      node("Gather", ["table", "ids"], ["rows"]),
      node("Transpose", ["table"], ["turned"], { attribute: [perm] }),
      node("MatMul", ["rows", "turned"], ["logits"], { name: "head" }),
      node("Relu", ["logits"], ["r"]),
      node("MatMul", ["r", "out"], ["y"]),
    ],
    input: [info("ids", [tokens], 7)],
    output: [info("y", [tokens, 64])],
    initializer: [
      floats("table", [rows, 64], noise(rows * 64, 4)),
      floats("out", [rows, 64], noise(rows * 64, 5)),
    ],
  };
}

function timeOf(model: OpenModel, settings: FixSettings): number {
  return priceModel(model, settings).timeline.microseconds;
}

describe("the saving that padding is chosen for", () => {
  it.each([
    ["a network", network()],
    ["convolutions around a normalization", convolutions()],
    ["a head whose result is sliced", head()],
    ["a tied table whose positions are counted", tied(8191, 512)],
  ])("is what the padded model takes less: %s", (_, graph) => {
    const settings = settingsFor([align]);
    const before = modelFromBytes(modelBytes(graph));
    const { model, changed, notes } = runPasses(before, settings);
    expect(changed).toBe(true);
    const promised = notes.reduce((total, { microseconds = 0 }) => total + microseconds, 0);
    expect(promised).toBeGreaterThan(0);
    expect(promised).toBeCloseTo(timeOf(before, settings) - timeOf(model, settings), 6);
  });

  it("is so of operators that run as their functions, kernel by kernel", () => {
    const own = settingsFor([align]);
    const settings = { ...own, target: { ...own.target, stack: stacks["ort-cuda"] } };
    const rest = { opsetImport: [{ domain: "", version: 21 }], irVersion: 10 };
    const before = modelFromBytes(modelBytes(functions(), rest));
    const { model, changed, notes } = runPasses(before, settings);
    expect(changed).toBe(true);
    const promised = notes.reduce((total, { microseconds = 0 }) => total + microseconds, 0);
    expect(promised).toBeCloseTo(timeOf(before, settings) - timeOf(model, settings), 6);
  });

  it("counts the Mod of positions: a small table is not worth one", () => {
    const settings = settingsFor([align]);
    const before = modelFromBytes(modelBytes(tied(251, 16)));
    const { model } = runPasses(before, settings);
    expect(timeOf(model, settings)).toBeLessThanOrEqual(timeOf(before, settings));
  });

  it("counts the Slice at an output", () => {
    const settings = settingsFor([align]);
    const { model } = runPasses(modelFromBytes(modelBytes(head())), settings);
    expect(model.graph.nodes.map(({ opType }) => opType)).toEqual(["MatMul", "Slice"]);
    const { timeline } = priceModel(model, settings);
    const slice = timeline.steps.find(({ nodes }) => nodes[0]?.opType === "Slice");
    expect(slice?.microseconds).toBeGreaterThan(1);
  });
});
