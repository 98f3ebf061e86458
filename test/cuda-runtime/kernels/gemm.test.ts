/** @file Products of matrices: what is chosen, how it is normalised, and that parameters are where kernels read them. */

import { readFileSync } from "node:fs";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { plainEpilogue } from "../../../cuda-runtime/ir/epilogue.ts";
import { h200 } from "../../../cuda-runtime/ir/step.ts";
import type { FloatStorage } from "../../../cuda-runtime/ir/storage.ts";
import {
  elementCount,
  expanded,
  permuted,
  sliced,
  stridesOf,
  type View,
} from "../../../cuda-runtime/ir/view.ts";
import { type ChooseOptions, chooseGemm } from "../../../cuda-runtime/kernels/gemm/choose.ts";
import { gemmEntries } from "../../../cuda-runtime/kernels/gemm/entries.ts";
import { emitGemm } from "../../../cuda-runtime/kernels/gemm/gemm.ts";
import { problemOf } from "../../../cuda-runtime/kernels/gemm/problem.ts";
import { gemmTable, kernelOf, sharedBytesOf } from "../../../cuda-runtime/kernels/gemm/table.ts";
import { machineNamed } from "../../../src/hardware/machine.ts";
import { attributesOf, Machine, nodeOf } from "../lower/movement-machine.ts";
import { ProductContext, runProduct } from "../lower/product-machine.ts";

const kernels = new URL("../../../cuda-runtime/kernels/", import.meta.url);

function sourceOf(file: string): string {
  return readFileSync(new URL(file, kernels), "utf8");
}

function view(shape: readonly number[], type: FloatStorage = "float16", order?: readonly number[]): View {
  const buffer = { id: 0, kind: "input", bytes: 0, name: "" } as const;
  return { buffer, type, shape, strides: stridesOf(shape, order), offset: 0 };
}

describe("entries", () => {
  test("are there for what every row is launched as", () => {
    const types = ["float16", "bfloat16", "float32"] as const;
    for (const row of gemmTable) {
      for (const type of types) {
        if (row.kind === "hopper" && type === "float32") continue;
        if (row.kind === "tensor" && (row.arithmetic === "tf32") !== (type === "float32")) continue;
        for (const layout of row.kind === "tensor" ? row.layouts : [undefined]) {
          const { family, entry } = kernelOf(row, type, layout);
          expect(sourceOf(`${family}/entries.generated.cuh`)).toContain(`(${entry}, `);
        }
      }
    }
  });

  test("have names of their own", () => {
    for (const [family, lines] of gemmEntries()) {
      const names = lines.map((line) => /^\w+\((\w+),/.exec(line)?.[1]);
      expect([family, new Set(names).size]).toEqual([family, lines.length]);
    }
  });
});

function optionsOf(type: FloatStorage, more: Partial<ChooseOptions> = {}): ChooseOptions {
  return { type, tf32: false, target: h200, isConstant: () => false, ...more };
}

function linear(m: number, n: number, k: number, type: FloatStorage = "float16") {
  return problemOf({
    a: view([m, k], type),
    b: permuted(view([n, k], type), [1, 0]),
    to: view([m, n], type),
  });
}

const turing = machineNamed("t4");
const targets = [turing, ...["a100", "rtx3090", "h200", "rtx5090"].map(machineNamed)];

describe("choice", () => {
  test("large products take large tiles, small ones small tiles, single rows none", () => {
    const rowOf = (m: number, n: number, k: number) =>
      chooseGemm(linear(m, n, k), optionsOf("float16")).launch.row;
    expect(rowOf(8192, 8192, 8192)).toMatchObject({ kind: "hopper", together: true });
    expect(rowOf(128, 768, 768)).toMatchObject({ kind: "hopper", m: 64 });
    expect(rowOf(1, 4096, 4096)).toMatchObject({ kind: "skinny", along: "k", load: "wide", rows: 1 });
    expect(rowOf(524_288, 1, 30)).toMatchObject({ kind: "skinny", along: "short", load: "pair", rows: 1 });
    expect(rowOf(4096, 1, 4096)).toMatchObject({ kind: "skinny", along: "k", rows: 1 });
  });

  test("deep products of few tiles are split", () => {
    expect(chooseGemm(linear(128, 128, 16_384), optionsOf("float16")).launch.splits).toBeGreaterThan(4);
    expect(chooseGemm(linear(4096, 4096, 512), optionsOf("float16")).launch.splits).toBe(1);
  });

  test("FP32 without TF32 stays on CUDA cores, and so do halves that the GPU cannot multiply", () => {
    const kinds = (type: FloatStorage, more: Partial<ChooseOptions>) =>
      chooseGemm(linear(512, 512, 512, type), optionsOf(type, more)).launch.row;
    expect(kinds("float32", {})).toMatchObject({ kind: "simt" });
    expect(kinds("float32", { tf32: true })).toMatchObject({ kind: "tensor", arithmetic: "tf32" });
    expect(kinds("bfloat16", { target: turing })).toMatchObject({ kind: "simt" });
    expect(kinds("float16", { target: turing })).toMatchObject({ kind: "tensor" });
  });

  test("misaligned constants are packed; activations where that pays", () => {
    const choose = (m: number, n: number, k: number, isConstant: boolean) =>
      chooseGemm(linear(m, n, k), optionsOf("float16", { isConstant: () => isConstant })).launch;
    expect(choose(1024, 1024, 1023, true)).toMatchObject({
      packA: true,
      packB: true,
      aGrain: 16,
      bGrain: 16,
    });
    expect(choose(4096, 4096, 4095, false)).toMatchObject({ packA: true, packB: true });
    expect(choose(33, 65, 127, false)).toMatchObject({ packA: false, packB: false, row: { odd: true } });
  });

  test("every target takes every product", () => {
    const size = fc.integer({ min: 1, max: 600 });
    const order = fc.constantFrom(undefined, [1, 0]);
    fc.assert(
      fc.property(
        size,
        size,
        size,
        order,
        order,
        fc.constantFrom<FloatStorage>("float16", "bfloat16", "float32"),
        fc.boolean(),
        fc.constantFrom(...targets),
        (m, n, k, orderA, orderB, type, tf32, target) => {
          const problem = problemOf({
            a: view([m, k], type, orderA),
            b: view([k, n], type, orderB),
            to: view([m, n], type),
          });
          const { launch, microseconds } = chooseGemm(problem, optionsOf(type, { tf32, target }));
          const { row } = launch;
          expect(microseconds).toBeGreaterThan(0);
          if (row.kind !== "tensor" && row.kind !== "hopper") return;
          expect(sharedBytesOf(row)).toBeLessThanOrEqual(target.sharedBytesPerBlock);
          const { half, bf16, tf32: hasTf32, wgmma } = target.features;
          const hasType = { float16: half, bfloat16: bf16, float32: hasTf32 }[type];
          expect(row.kind === "hopper" ? wgmma : hasType).toBe(true);
        },
      ),
      { numRuns: 200 },
    );
  });
});

describe("normalisation", () => {
  test("a shared right side makes batch axes rows", () => {
    const problem = problemOf({ a: view([4, 8, 16, 32]), b: view([1, 1, 32, 24]), to: view([4, 8, 16, 24]) });
    expect(problem).toMatchObject({ m: 512, n: 24, k: 32, batch: [] });
  });

  test("heads that lie between rows stay a batch axis, examples and heads become one", () => {
    const q = permuted(view([2, 50, 8, 64]), [0, 2, 1, 3]);
    const scores = problemOf({ a: q, b: permuted(q, [0, 1, 3, 2]), to: view([2, 8, 50, 50]) });
    expect(scores).toMatchObject({ m: 50, n: 50, k: 64, batch: [2, 8] });
    const plain = view([2, 8, 50, 64]);
    const packed = problemOf({ a: plain, b: permuted(plain, [0, 1, 3, 2]), to: view([2, 8, 50, 50]) });
    expect(packed).toMatchObject({ m: 50, batch: [16] });
  });

  test("a bias along m keeps rows apart", () => {
    const bias = view([16], "float32");
    const request = { a: view([4, 16, 32]), b: view([1, 32, 24]), to: view([4, 16, 24]) };
    const epilogue = { ...plainEpilogue, bias };
    expect(problemOf({ ...request, epilogue, channels: "m" })).toMatchObject({ m: 16, batch: [4] });
    expect(problemOf({ ...request, epilogue, channels: "n" })).toMatchObject({ m: 64, batch: [] });
  });
});

function contextOf(machine: Machine): ProductContext {
  return new ProductContext(machine, {
    opset: 21,
    attributes: attributesOf({}),
    inputs: [],
    outputs: [],
    node: nodeOf("MatMul"),
  });
}

describe("launches compute the product", () => {
  const size = fc.oneof(fc.integer({ min: 1, max: 7 }), fc.constantFrom(8, 16));
  const batches = fc.constantFrom(
    [[], []],
    [[3], [3]],
    [[3], [1]],
    [[1], [3]],
    [
      [2, 1],
      [1, 3],
    ],
    [
      [2, 1, 2, 1],
      [1, 2, 1, 2],
    ],
  );

  test("whatever the sizes, orders and batch axes", () => {
    fc.assert(
      fc.property(
        size,
        size,
        fc.integer({ min: 1, max: 300 }),
        batches,
        fc.nat(31),
        (m, n, k, [x, y], bits) => {
          const machine = new Machine({ run: runProduct });
          const [batchA = [], batchB = []] = [x, y];
          const batch = batchA.map((each, axis) => Math.max(each, batchB[axis] ?? 1));
          const turned = (rank: number) => {
            const axes = Array.from({ length: rank }, (_, axis) => axis);
            return [...axes.slice(0, -2), rank - 1, rank - 2];
          };
          const tensor = (shape: readonly number[], isTurned: boolean) =>
            machine.tensor(
              "float16",
              shape,
              Float64Array.from({ length: elementCount(shape) }, (_, index) => ((index * 7) % 11) - 5),
              isTurned ? turned(shape.length) : undefined,
            );
          const forward = tensor([...batchA, m, k], (bits & 1) !== 0);
          const axis = forward.shape.length - 2;
          const backward = sliced(forward, axis, m - 1, m, -1);
          const repeated = expanded(sliced(forward, axis, 0, 1), forward.shape);
          const a = (bits & 8) === 0 ? forward : (bits & 16) === 0 ? backward : repeated;
          const b = tensor([...batchB, k, n], (bits & 2) !== 0);
          const shape = [...batch, m, n];
          const to = machine.allocate("float32", shape, (bits & 4) !== 0 ? turned(shape.length) : undefined);
          emitGemm(contextOf(machine), { a, b, to });
          expect(Array.from(machine.read(to))).toEqual(expected(machine, a, b, shape));
        },
      ),
      { numRuns: 80 },
    );
  });
});

/** By definition, of small whole numbers: exact. */
function expected(machine: Machine, a: View, b: View, shape: readonly number[]): number[] {
  const strides = stridesOf(shape);
  const [valuesA, valuesB] = [machine.read(a), machine.read(b)];
  const k = a.shape.at(-1) ?? 1;
  const place = ({ shape: own }: View, position: readonly number[]) =>
    position.reduce((at, index, axis) => at * (own[axis] ?? 1) + (own[axis] === 1 ? 0 : index), 0);
  return Array.from({ length: elementCount(shape) }, (_, index) => {
    const position = shape.map((size, axis) => Math.floor(index / (strides[axis] ?? 1)) % size);
    const [batch, m, n] = [position.slice(0, -2), position.at(-2) ?? 0, position.at(-1) ?? 0];
    let sum = 0;
    for (let q = 0; q < k; q++) {
      sum +=
        (valuesA[place(a, [...batch, m, q])] ?? Number.NaN) *
        (valuesB[place(b, [...batch, q, n])] ?? Number.NaN);
    }
    return sum;
  });
}
