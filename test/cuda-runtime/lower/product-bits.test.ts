/** @file MatMulNBits with few rows: its launch run by its meaning, beside ONNX Runtime on the CPU. */
import { InferenceSession, Tensor } from "onnxruntime-node";
import { describe, expect, test } from "vitest";
import type { View } from "../../../cuda-runtime/ir/view.ts";
import { bitsLowerings } from "../../../cuda-runtime/lower/product-bits.ts";
import { model } from "../../../fixtures/builder.ts";
import { Random } from "../../../src/verify/random.ts";
import { attributesOf, Machine, nodeOf } from "./movement-machine.ts";
import { runNBits } from "./nbits-machine.ts";
import { ProductContext, runProduct } from "./product-machine.ts";

interface Case {
  readonly m: number;
  readonly n: number;
  readonly k: number;
  readonly block: number;
  readonly zeros?: boolean;
  readonly bias?: boolean;
}

function drawn(each: Case) {
  const { m, n, k, block, zeros, bias } = each;
  const random = new Random(JSON.stringify(each));
  const blocks = Math.ceil(k / block);
  const bytes = (count: number) => Uint8Array.from({ length: count }, () => random.integer(0, 255));
  // Eighths: exact in halves.
  const floats = (count: number) => Float32Array.from({ length: count }, () => random.integer(-16, 16) / 8);
  return {
    a: floats(m * k),
    codes: bytes((n * blocks * block) / 2),
    scales: floats(n * blocks),
    zeros: zeros === true ? bytes(n * Math.ceil(blocks / 2)) : undefined,
    bias: bias === true ? floats(n) : undefined,
  };
}

async function byOnnxRuntime(each: Case): Promise<number[]> {
  const { m, n, k, block } = each;
  const { a, codes, scales, zeros, bias } = drawn(each);
  const blocks = Math.ceil(k / block);
  const values = (array: ArrayLike<number>) => Array.from(array);
  const bytes = model(
    { name: "bits", opset: 21, irVersion: 10, domains: { "com.microsoft": 1 } },
    (graph) => {
      const inputs = [
        graph.input("a", [1, m, k]),
        graph.weight([n, blocks, block / 2], { dtype: "uint8", values: values(codes) }),
        graph.weight([n * blocks], { values: values(scales) }),
        zeros ? graph.weight([zeros.length], { dtype: "uint8", values: values(zeros) }) : "",
        "",
        bias ? graph.weight([n], { values: values(bias) }) : "",
      ];
      const options = { domain: "com.microsoft", outputs: ["y"] };
      graph.nodes("MatMulNBits", inputs, { K: k, N: n, bits: 4, block_size: block }, options);
      graph.output("y");
    },
  );
  const session = await InferenceSession.create(bytes, { logSeverityLevel: 4 });
  const { y } = await session.run({ a: new Tensor("float32", a, [1, m, k]) });
  return Array.from(y?.data as Float32Array);
}

function byLaunches(each: Case): { values: number[]; entries: string[] } {
  const { m, n, k, block } = each;
  const { a, codes, scales, zeros, bias } = drawn(each);
  const blocks = Math.ceil(k / block);
  const entries: string[] = [];
  const machine: Machine = new Machine({
    run: (launch, memory) => {
      entries.push(launch.kernel.entry);
      if (launch.kernel.entry.startsWith("nbits4_")) runNBits(launch, machine);
      else runProduct(launch, memory);
    },
  });
  const inputs = [
    machine.tensor("float16", [1, m, k], a),
    machine.tensor("uint8", [n, blocks, block / 2], codes),
    machine.tensor("float16", [n * blocks], scales),
    zeros && machine.tensor("uint8", [zeros.length], zeros),
    undefined,
    bias && machine.tensor("float16", [n], bias),
  ];
  class BitsContext extends ProductContext {
    /** As a plan has weights. */
    override isConstant(view?: View): boolean {
      return view?.buffer !== inputs[0]?.buffer;
    }
  }
  const context = new BitsContext(machine, {
    opset: 1,
    attributes: attributesOf({ K: k, N: n, bits: 4, block_size: block }),
    inputs,
    outputs: [{ type: "float32", shape: [1, m, n] }],
    node: nodeOf("MatMulNBits"),
  });
  bitsLowerings["com.microsoft::MatMulNBits"]?.(context);
  const [result] = context.results;
  return { values: Array.from(result === undefined ? [] : machine.read(result)), entries };
}

const cases: readonly Case[] = [
  { m: 1, n: 24, k: 64, block: 32 },
  { m: 1, n: 24, k: 96, block: 32, zeros: true },
  { m: 3, n: 17, k: 128, block: 128, zeros: true, bias: true },
  { m: 8, n: 16, k: 72, block: 32 },
  { m: 30, n: 16, k: 64, block: 64, bias: true },
];

describe("MatMulNBits with few rows", () => {
  test.each(cases)("is what ONNX Runtime gives: %j", async (each) => {
    const { values, entries } = byLaunches(each);
    expect(entries.filter((entry) => entry.startsWith("nbits4_"))).toHaveLength(1);
    const expected = await byOnnxRuntime(each);
    expect(values.length).toBe(expected.length);
    const worst = values.reduce(
      (most, value, at) => Math.max(most, Math.abs(value - (expected[at] ?? 0))),
      0,
    );
    expect(worst).toBeLessThan(2e-3);
  });

  test("more rows, odd widths of k and blocks of 16 take expanded weights", () => {
    for (const each of [
      { m: 33, n: 16, k: 64, block: 32 },
      { m: 1, n: 16, k: 44, block: 32 },
      { m: 1, n: 16, k: 64, block: 16 },
    ])
      expect(byLaunches(each).entries.some((entry) => entry.startsWith("nbits4_"))).toBe(false);
  });
});
