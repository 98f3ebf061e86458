/** @file Products of uint8 by int8 as ONNX Runtime adds them up on any CPU: with the int8 operand given as uint8. */
import { InferenceSession, Tensor } from "onnxruntime-node";
import { describe, expect, test } from "vitest";
import { modelFromBytes } from "../../src/onnx/open.ts";
import { patchedInMemory } from "../../src/onnx/patched-in-memory.ts";
import { shiftCodes } from "../../src/verify/exact-sums/shifted.ts";
import { type Optimization, openSession } from "../../src/verify/ort.ts";
import { numbersOf, tensorOf } from "../../src/verify/tensor.ts";
import { floats, info, node, type types } from "../onnx/build.ts";
import {
  arrays,
  bytesOf,
  cases,
  dequantized,
  drawn,
  image,
  k,
  levels,
  m,
  n,
  small,
  stored,
  wire,
  x,
  y,
} from "./code-models.ts";

/** As exact sums are made of it, whatever this CPU is. */
function shifted(bytes: Uint8Array): Uint8Array {
  using model = modelFromBytes(bytes);
  const { patch, unknown } = shiftCodes(model);
  expect(unknown).toEqual([]);
  expect(patch.isEmpty).toBe(false);
  return patchedInMemory(model, patch).bytes;
}

/** By ONNX Runtime alone, which openSession comes before. */
async function outputOf(bytes: Uint8Array, x: Tensor, optimization: Optimization) {
  const session = await InferenceSession.create(bytes, {
    graphOptimizationLevel: optimization,
    logSeverityLevel: 4,
  });
  const results = await session.run({ x });
  await session.release();
  return Array.from(results["y"]?.data as ArrayLike<number>, Number);
}

describe.each(Object.entries(cases))("%s", (_, { graph, type, dims }) => {
  const bytes = bytesOf(graph);
  const count = dims.reduce((product, size) => product * size, 1);
  const [low, high] = type === "int8" ? [-60, 60] : [0, 255];
  const numbers = drawn(count, low, high, 3);
  const x =
    type === undefined
      ? new Tensor("float32", Float32Array.from(numbers), dims)
      : new Tensor(type, arrays[type].from(numbers), dims);

  test.each(levels)("gives the same numbers from codes of uint8, optimizations %s", async (optimization) => {
    const expected = await outputOf(bytes, x, optimization);
    expect(expected.length).toBeGreaterThan(0);
    expect(await outputOf(shifted(bytes), x, optimization)).toEqual(expected);
  });
});

describe("the largest codes", () => {
  const w = new Array<number>(k * n).fill(127);
  const ones = [floats("s", [], [1]), stored("xz", "uint8", [], [0]), stored("wz", "int8", [], [0])];
  const sum = k * 255 * 127;
  // The sum is 200 units.
  const unit = [floats("ys", [], [sum / 200]), stored("yz", "uint8", [], [0])];
  const matrices = [...ones, ...unit, stored("w", "int8", [k, n], w)];
  const windows = [...ones, ...unit, stored("w", "int8", [n, k, 1, 1], w)];
  const graphs: Readonly<Record<string, readonly [types.IGraphProto, number[], number]>> = {
    MatMulInteger: [
      {
        ...{ input: x("uint8"), output: y("int32"), initializer: matrices },
        node: [node("MatMulInteger", ["x", "w"], ["y"])],
      },
      [m, k],
      sum,
    ],
    QLinearMatMul: [
      {
        ...{ input: x("uint8"), output: y("uint8"), initializer: matrices },
        node: [node("QLinearMatMul", ["x", "s", "xz", "w", "s", "wz", "ys", "yz"], ["y"])],
      },
      [m, k],
      200,
    ],
    QLinearConv: [
      {
        ...{ input: image("uint8"), output: y("uint8"), initializer: windows },
        node: [node("QLinearConv", ["x", "s", "xz", "w", "s", "wz", "ys", "yz"], ["y"])],
      },
      [1, k, 3, 3],
      200,
    ],
    "MatMul of dequantized codes": [
      {
        ...{ input: x("uint8"), output: y("uint8"), initializer: matrices },
        node: [
          ...dequantized,
          node("MatMul", ["xf", "wf"], ["c"]),
          node("QuantizeLinear", ["c", "ys", "yz"], ["y"]),
        ],
      },
      [m, k],
      200,
    ],
  };

  test.each(Object.keys(graphs).flatMap((name) => levels.map((level) => [name, level] as const)))(
    "of %s add up exactly on this CPU, optimizations %s",
    async (name, optimization) => {
      const [graph, dims, expected] = graphs[name] ?? [{}, [], 0];
      const model = { path: "m.onnx", bytes: bytesOf(graph), folder: "." };
      await using session = await openSession(model, { optimization, threads: 1 });
      const count = dims.reduce((product, size) => product * size, 1);
      const inputs = new Map([["x", tensorOf("uint8", dims, new Uint8Array(count).fill(255))]]);
      const found = (await session.run(inputs)).get("y");
      expect(found).toBeDefined();
      expect([...new Set(found && Array.from(numbersOf(found)))]).toEqual([expected]);
      expect(session.notices).toEqual([]);
    },
  );
});

/** Fusions on x86 make the activation uint8, 255 here. */
test.each(levels)(
  "int8 between QuantizeLinear and DequantizeLinear adds up exactly, %s",
  async (optimization) => {
    const w = new Array<number>(k * n).fill(127);
    const graph = {
      input: [info("x", [m, k])],
      output: [info("y", [])],
      initializer: [
        ...[floats("s", [], [1]), floats("ys", [], [(k * 127 * 127) / 100])],
        ...[stored("z", "int8", [], [0]), stored("w", "int8", [k, n], w)],
      ],
      node: [
        node("QuantizeLinear", ["x", "s", "z"], ["xq"]),
        node("DequantizeLinear", ["xq", "s", "z"], ["xf"]),
        node("DequantizeLinear", ["w", "s", "z"], ["wf"]),
        node("MatMul", ["xf", "wf"], ["c"]),
        node("QuantizeLinear", ["c", "ys", "z"], ["yq"]),
        node("DequantizeLinear", ["yq", "s", "z"], ["y"]),
      ],
    };
    const model = { path: "m.onnx", bytes: bytesOf(graph), folder: "." };
    await using session = await openSession(model, { optimization, threads: 1 });
    const inputs = new Map([["x", tensorOf("float32", [m, k], new Array<number>(m * k).fill(127))]]);
    const found = (await session.run(inputs)).get("y");
    expect([...new Set(found && Array.from(numbersOf(found)))]).toEqual([100]);
  },
);

describe("codes whose types are not known", () => {
  test("are left, and named", () => {
    const graph = {
      ...{ input: [info("x", [m, k], wire.uint8)], output: y("int32"), initializer: [] },
      node: [
        node("Mystery", ["x"], ["w"], { domain: "of.nobody" }),
        node("MatMulInteger", ["x", "w"], ["y"], { name: "product" }),
      ],
    };
    using model = modelFromBytes(bytesOf(graph));
    const { patch, unknown } = shiftCodes(model);
    expect([patch.isEmpty, unknown]).toEqual([true, ["product"]]);
  });
});

test("codes of one type are left as they are", () => {
  const graph = {
    ...{ input: x("int8"), output: y("int32"), initializer: [stored("w", "int8", [k, n], small(k * n))] },
    node: [node("MatMulInteger", ["x", "w"], ["y"])],
  };
  using model = modelFromBytes(bytesOf(graph));
  expect(shiftCodes(model).patch.isEmpty).toBe(true);
});
