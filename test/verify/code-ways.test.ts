/** @file What is rounded to codes, read a little higher or lower: by arithmetic of its own, beside ONNX Runtime. */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { inferFacts } from "../../src/facts/infer.ts";
import { dtypeOf } from "../../src/lint/graph.ts";
import { modelFromBytes } from "../../src/onnx/open.ts";
import { patchedInMemory } from "../../src/onnx/patched-in-memory.ts";
import { codeStep, codeWays, moveCodes } from "../../src/verify/code-ways.ts";
import { tensorOf } from "../../src/verify/tensor.ts";
import { floats, info, modelBytes, node } from "../onnx/build.ts";
import { stored } from "./code-models.ts";

const wire = { float32: 1, int32: 6, float16: 10, bfloat16: 16 } as const;

interface Quantized {
  readonly type: keyof typeof wire;
  /** Dimensions of the scale, all ones. */
  readonly scaleDims: readonly (0 | 1)[];
  readonly scale: number;
  readonly zero: number;
  readonly count: number;
}

/** x [1, count] → QuantizeLinear → y. Opset 23 is the first in which x and its scale may differ in type. */
function quantized({ type, scaleDims, scale, zero, count }: Quantized, opset = 23): Uint8Array {
  return modelBytes(
    {
      input: [info("x", [1, count], wire[type])],
      output: [info("y", [1, count], 2)],
      initializer: [floats("s", [...scaleDims], [scale]), stored("z", "uint8", [...scaleDims], [zero])],
      node: [node("QuantizeLinear", ["x", "s", "z"], ["y"], { name: "quantize" })],
    },
    { irVersion: 10, opsetImport: [{ domain: "", version: opset }] },
  );
}

const drawnGraphs = fc.record({
  type: fc.constantFrom(...(Object.keys(wire) as (keyof typeof wire)[])),
  scaleDims: fc.constantFrom([] as const, [1] as const),
  scale: fc.float({ min: Math.fround(0.01), max: 4, noNaN: true }),
  zero: fc.integer({ min: 0, max: 255 }),
  count: fc.integer({ min: 1, max: 8 }),
});

/** To the nearest, halves to the even one. */
function rounded(value: number): number {
  const low = Math.floor(value);
  const part = value - low;
  if (part !== 0.5) return part < 0.5 ? low : low + 1;
  return low % 2 === 0 ? low : low + 1;
}

describe("numbers that are rounded to codes, moved", () => {
  test("are read in the type that they have: what is no float32 stays where it is", () => {
    fc.assert(
      fc.property(drawnGraphs, fc.constantFrom(codeStep, -codeStep), (drawn, codes) => {
        using model = modelFromBytes(quantized(drawn));
        const { bytes } = patchedInMemory(model, moveCodes(model, codes, inferFacts(model).root));
        using moved = modelFromBytes(bytes);
        const { root } = inferFacts(moved);
        for (const { opType, inputs } of moved.graph.nodes)
          if (opType === "Add" || opType === "Mul")
            expect(new Set(inputs.map((value) => dtypeOf(value, root))).size).toBe(1);
        expect(moved.graph.nodes.length).toBe(drawn.type === "float32" ? 3 : 1);
      }),
    );
  });

  test("become the code of a number so much of one higher, and of one so much lower", async () => {
    const distances = fc.array(fc.integer({ min: -300, max: 300 }), { minLength: 1, maxLength: 8 });
    await fc.assert(
      fc.asyncProperty(drawnGraphs, distances, fc.constantFrom(13, 21), async (drawn, at, opset) => {
        const scale = Math.fround(drawn.scale);
        // Halves of codes: every other one lies between two.
        const x = at.map((each) => Math.fround((each / 2) * scale));
        const bytes = quantized({ ...drawn, scale, type: "float32", count: x.length }, opset);
        using model = modelFromBytes(bytes);
        const runnable = { path: "codes.onnx", bytes, folder: "." };
        const inputs = new Map([["x", tensorOf("float32", [1, x.length], x)]]);
        const ways = await codeWays(model, runnable, inputs, { optimization: "basic", threads: 1 });
        for (const [way, codes] of [
          [2, codeStep],
          [3, -codeStep],
        ] as const) {
          const step = Math.fround(scale * codes);
          const expected = x.map((each) => {
            const code = rounded(Math.fround(Math.fround(each + step) / scale)) + drawn.zero;
            return Math.min(255, Math.max(0, code));
          });
          expect(Array.from(ways[way]?.get("y")?.data ?? [], Number)).toEqual(expected);
        }
      }),
      { numRuns: 50 },
    );
  });

  test("between two codes become either", async () => {
    const x = Array.from({ length: 8 }, (_, at) => at + 0.5);
    const drawn = { type: "float32", scaleDims: [], scale: 1, zero: 0, count: x.length } as const;
    const bytes = quantized({ ...drawn, scaleDims: [] }, 21);
    using model = modelFromBytes(bytes);
    const inputs = new Map([["x", tensorOf("float32", [1, x.length], x)]]);
    const ways = await codeWays(model, { path: "codes.onnx", bytes, folder: "." }, inputs, {
      ...{ optimization: "basic", threads: 1 },
    });
    const codesOf = (way: number) => Array.from(ways[way]?.get("y")?.data ?? [], Number);
    expect(codesOf(2)).toEqual(x.map(Math.ceil));
    expect(codesOf(3)).toEqual(x.map(Math.floor));
  });
});
