import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { halfToNumber } from "../../src/onnx/elements.ts";
import { encodeNumbers, MemoryBytes } from "../../src/passes/tensors.ts";
import {
  encodeFloats,
  type FloatType,
  readFloats,
  TransformedTensor,
} from "../../src/passes/transform-tensor.ts";

const types: readonly FloatType[] = ["float16", "bfloat16", "float32", "float64"];

function readAll(tensor: TransformedTensor): Uint8Array {
  const bytes = new Uint8Array(tensor.size);
  tensor.readInto(0, bytes);
  return bytes;
}

describe("transformed tensors", () => {
  it("reads every half as what it is", () => {
    const halves = Uint16Array.from({ length: 1 << 16 }, (_, bits) => bits);
    const values = readFloats(new MemoryBytes(new Uint8Array(halves.buffer)), "float16");
    expect([...values]).toEqual([...halves].map(halfToNumber));
  });

  it("gives halves back unchanged, NaN aside", () => {
    for (const type of ["float16", "bfloat16"] as const) {
      const halves = Uint16Array.from({ length: 1 << 16 }, (_, bits) => bits);
      const source = new MemoryBytes(new Uint8Array(halves.buffer));
      const again = new Uint16Array(readAll(new TransformedTensor(source, { from: type, to: type })).buffer);
      const values = readFloats(source, type);
      for (const [index, bits] of halves.entries())
        if (!Number.isNaN(values[index])) expect(again[index]).toBe(bits);
    }
  });

  it("rounds a double once: the half given is the nearest, ties to even", () => {
    const table = Uint16Array.from({ length: 0x7c00 }, (_, bits) => bits);
    const at = (bits: number) => halfToNumber(table[bits] ?? 0);
    fc.assert(
      fc.property(
        fc.nat({ max: 0x7bfe }),
        fc.constantFrom(-1, 0, 1),
        fc.integer({ min: 20, max: 52 }),
        fc.boolean(),
        (bits, side, shift, isNegative) => {
          const [low, high] = [at(bits), at(bits + 1)];
          const middle = (low + high) / 2;
          const sign = isNegative ? -1 : 1;
          const value = sign * (middle + side * middle * 2 ** -shift);
          const up = side === 0 ? bits % 2 === 1 : middle + side * middle * 2 ** -shift > middle;
          const tie = sign * value === middle;
          const wanted = tie ? (bits % 2 === 1 ? high : low) : up ? high : low;
          const [got] = readFloats(
            new MemoryBytes(encodeFloats(Float64Array.of(value), "float16")),
            "float16",
          );
          expect(got).toBe(sign * wanted);
        },
      ),
      { numRuns: 2000 },
    );
  });

  it.each([
    ["float16", 65519.99999, 65504],
    ["float16", 65520, Number.POSITIVE_INFINITY],
    ["float16", 1e300, Number.POSITIVE_INFINITY],
    ["float16", 2 ** -25, 0],
    ["float16", 2 ** -25 * (1 + 2 ** -40), 2 ** -24],
    ["bfloat16", 1 + 2 ** -8 + 2 ** -40, 1 + 2 ** -7],
    ["bfloat16", 1 + 2 ** -8, 1],
    ["bfloat16", -1e300, Number.NEGATIVE_INFINITY],
    ["float32", 1 + 2 ** -24 + 2 ** -50, 1 + 2 ** -23],
  ] as const)("%s of %d is %d", (type, value, wanted) => {
    const [got] = readFloats(new MemoryBytes(encodeFloats(Float64Array.of(value), type)), type);
    expect(got).toBe(wanted);
  });

  it("maps by the index of the element, over window borders", () => {
    const count = 150_001;
    const source = new MemoryBytes(encodeNumbers("float32", new Array<number>(count).fill(2)));
    const map = (values: Float64Array, first: number) => {
      for (let index = 0; index < values.length; index++)
        values[index] = (values[index] ?? 0) * (first + index);
    };
    const tensor = new TransformedTensor(source, { from: "float32", to: "float64", map });
    const values = new Float64Array(readAll(tensor).buffer);
    expect(values).toEqual(Float64Array.from({ length: count }, (_, index) => 2 * index));
  });

  it("gives any range as the same range of the whole", () => {
    const numbers = Array.from({ length: 100 }, (_, index) => (index - 50) / 7);
    fc.assert(
      fc.property(
        fc.constantFrom(...types),
        fc.constantFrom(...types),
        fc.nat(),
        fc.nat(),
        (from, to, a, b) => {
          const source = new MemoryBytes(encodeNumbers(from, numbers));
          const tensor = new TransformedTensor(source, { from, to });
          const whole = readAll(tensor);
          const start = a % (tensor.size + 1);
          const part = new Uint8Array(b % (tensor.size - start + 1));
          tensor.readInto(start, part);
          expect(part).toEqual(whole.subarray(start, start + part.length));
        },
      ),
    );
  });
});
