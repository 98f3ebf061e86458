/** @file Floats of 8 and 4 bits as expressions: every code, and numbers between any two codes, against the formats' own definition. */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { load } from "../../../cuda-runtime/ir/expr-build.ts";
import { evaluateExpr } from "../../../cuda-runtime/ir/expr-evaluate.ts";
import { decoded, encoded } from "../../../cuda-runtime/ir/small-float-expr.ts";
import type { StorageType } from "../../../cuda-runtime/ir/storage.ts";
import type { View } from "../../../cuda-runtime/ir/view.ts";
import {
  exponentValue,
  type SmallFloatType,
  smallFloats,
  smallFloatValue,
} from "../../../src/ir/small-float.ts";

const types = Object.keys(smallFloats) as SmallFloatType[];

function leaf(type: StorageType) {
  const view: View = {
    buffer: { id: 0, kind: "input", bytes: 8, name: "x" },
    type,
    shape: [],
    strides: [],
    offset: 0,
  };
  return load(view);
}

function decode(type: SmallFloatType | "float8e8m0", code: number): number {
  return evaluateExpr(decoded(type, leaf(type)), ({ kind }) => (kind === "load" ? code : undefined));
}

function encode(type: SmallFloatType | "float8e8m0", value: number, saturates: boolean): number {
  // NaN of a load means "unknown" to the evaluation, and is what an unknown load gives.
  return evaluateExpr(encoded(type, leaf("float32"), saturates), ({ kind }) =>
    kind === "load" ? value : undefined,
  );
}

describe.each(types)("%s", (type) => {
  const { magnitudeBits, largest, nan, isUnsignedZero } = smallFloats[type];
  const codes = Array.from({ length: 2 << magnitudeBits }, (_, code) => code);
  const numbers = Array.from({ length: largest + 1 }, (_, code) => smallFloatValue(type, code));

  test("gives the number of every code", () => {
    for (const code of codes) expect(decode(type, code), `${code}`).toEqual(smallFloatValue(type, code));
  });

  test("takes every number back to its code", () => {
    for (const code of codes) {
      const value = smallFloatValue(type, code);
      if (!Number.isFinite(value)) continue;
      expect(encode(type, value, true), `${value}`).toBe(isUnsignedZero && Object.is(value, -0) ? 0 : code);
    }
  });

  test("rounds to the nearest code, ties to the even one", () => {
    for (const [code, low] of numbers.entries()) {
      const high = numbers[code + 1];
      if (high === undefined) break;
      const middle = (low + high) / 2;
      expect(encode(type, middle, true), `${middle}`).toBe(code % 2 === 0 ? code : code + 1);
      const [below, above] = [middle * (1 - 2 ** -23), middle * (1 + 2 ** -22)].map(Math.fround);
      expect(encode(type, below ?? 0, true)).toBe(code);
      expect(encode(type, above ?? 0, true)).toBe(code + 1);
    }
  });

  test("saturates, or overflows, beyond its largest number", () => {
    const most = numbers[largest] ?? 0;
    const step = most - (numbers[largest - 1] ?? 0);
    for (const value of [most + step, 1e30, Infinity]) {
      expect(encode(type, value, true)).toBe(largest);
      expect(encode(type, value, false)).toBe(smallFloats[type].overflow);
    }
    // Nearer to the largest number than to what would come next.
    expect(encode(type, most + step / 4, false)).toBe(largest);
    if (nan !== undefined) expect(encode(type, Number.NaN, false) & 0x7f).toBe(nan & 0x7f);
  });

  test("rounds any number to one that is nearest", () => {
    fc.assert(
      fc.property(fc.float({ noNaN: true, noDefaultInfinity: true }), (value) => {
        const found = smallFloatValue(type, encode(type, value, true));
        const error = Math.min(...numbers.map((number) => Math.abs(number - Math.abs(value))));
        expect(Math.abs(found - value)).toBeCloseTo(error, 12);
      }),
    );
  });
});

test("scales of blocks are powers of two, rounded up", () => {
  for (let code = 0; code < 255; code++) {
    expect(decode("float8e8m0", code)).toBe(exponentValue(code));
    expect(encode("float8e8m0", exponentValue(code), true)).toBe(code);
  }
  expect(encode("float8e8m0", 1.01, true)).toBe(128);
  expect(decode("float8e8m0", 255)).toBeNaN();
});
