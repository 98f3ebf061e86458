import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { budgets, halfAllowance, isWithin, relativeAllowance } from "../../src/verify/budget.ts";
import { compareTensors, trueLanes } from "../../src/verify/compare.ts";
import { convert, type Tensor, tensorOf, transpose } from "../../src/verify/tensor.ts";

function floats(...numbers: number[]): Tensor {
  return tensorOf("float32", [numbers.length], numbers);
}

const anyFloat = fc.float({ noDefaultInfinity: false, noNaN: false });

describe("comparison of floats", () => {
  it("finds nothing between a tensor and itself, whatever it holds", () => {
    fc.assert(
      fc.property(fc.array(anyFloat), (numbers) => {
        const difference = compareTensors(floats(...numbers), floats(...numbers));
        expect(difference).toMatchObject({ mismatches: 0, maximumError: 0, worst: undefined });
        expect(isWithin(difference, relativeAllowance(1e-5, difference))).toBe(true);
      }),
    );
  });

  it("counts every element that is not a number in one of the two", () => {
    const special = fc.constantFrom(Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY);
    fc.assert(
      fc.property(fc.array(fc.tuple(fc.oneof(anyFloat, special), fc.oneof(anyFloat, special))), (pairs) => {
        const [a, b] = [pairs.map(([x]) => x), pairs.map(([, y]) => y)];
        const isSpecial = (value: number) => !Number.isFinite(value);
        const wrong = pairs.filter(([x, y]) => (isSpecial(x) || isSpecial(y)) && !Object.is(x, y)).length;
        expect(compareTensors(floats(...a), floats(...b)).mismatches).toBe(wrong);
      }),
    );
  });

  it("fails on NaN, and on an infinity of the other sign", () => {
    for (const [expected, actual] of [
      [1, Number.NaN],
      [Number.NaN, 1],
      [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY],
      [3e38, Number.POSITIVE_INFINITY],
    ] as const) {
      const difference = compareTensors(floats(0, expected), floats(0, actual));
      expect(isWithin(difference, relativeAllowance(1, difference))).toBe(false);
      expect(difference.worst).toMatchObject({ index: [1] });
    }
  });

  it("names the worst element by its index", () => {
    const a = tensorOf("float32", [2, 3, 4], new Float32Array(24));
    const numbers = new Float32Array(24);
    numbers[17] = -2;
    numbers[3] = 1;
    const { worst, maximumError, meanError } = compareTensors(a, tensorOf("float32", [2, 3, 4], numbers));
    expect(worst).toEqual({ index: [1, 1, 1], expected: "0", actual: "-2" });
    expect([maximumError, meanError]).toEqual([2, 3 / 24]);
  });

  it("compares halves with floats as numbers", () => {
    const difference = compareTensors(floats(1, 2, 3), tensorOf("float16", [3], [1, 2, 3.5]));
    expect(difference).toMatchObject({ mismatches: 0, maximumError: 0.5 });
    expect(difference.signalToNoiseDecibels).toBeCloseTo(10 * Math.log10(14 / 0.25), 10);
  });
});

describe("budgets", () => {
  it("of padding are a share of the largest output", () => {
    const near = compareTensors(floats(100, 1), floats(100, 1.0009));
    const far = compareTensors(floats(100, 1), floats(100, 1.0011));
    expect(isWithin(near, relativeAllowance(budgets.padding.tolerance, near))).toBe(true);
    expect(isWithin(far, relativeAllowance(budgets.padding.tolerance, far))).toBe(false);
  });

  it("grow with the original's own sensitivity, to a thousandth of the output", () => {
    const difference = compareTensors(floats(1), floats(1.0005));
    expect(relativeAllowance(1e-5, difference, 1e-4).maximumError).toBeCloseTo(4e-4, 12);
    expect(relativeAllowance(1e-5, difference, 1).maximumError).toBe(1e-3);
  });

  it("of half precision follow the error of rounding", () => {
    const original = floats(1, -1);
    const rounded = compareTensors(original, floats(1.01, -1));
    const within = compareTensors(original, floats(1.05, -1.05));
    const beyond = compareTensors(original, floats(1.05, -1.3));
    const allowed = (difference: typeof within) => halfAllowance(budgets.float16, difference, rounded);
    expect(isWithin(within, allowed(within))).toBe(true);
    expect(isWithin(beyond, allowed(beyond))).toBe(false);
  });
});

describe("integers and strings", () => {
  it("are the same or not", () => {
    const a = { dtype: "int64", dims: [2], data: BigInt64Array.of(1n, 2n ** 62n) } as const;
    const b = { ...a, data: BigInt64Array.of(1n, 2n ** 62n + 1n) };
    expect(compareTensors(a, b)).toMatchObject({
      mismatches: 1,
      worst: { index: [1], expected: "4611686018427387904", actual: "4611686018427387905" },
    });
    const words = { dtype: "string", dims: [2], data: ["a", "b"] } as const;
    expect(compareTensors(words, { ...words, data: ["a", "c"] })).toMatchObject({ mismatches: 1 });
  });
});

describe("tensors", () => {
  it("keep their true lanes", () => {
    const padded = tensorOf("float32", [2, 4], [1, 2, 0, 3, 4, 5, 0, 6]);
    expect(trueLanes(padded, [undefined, [0, 1, 3]])).toEqual(
      tensorOf("float32", [2, 3], [1, 2, 3, 4, 5, 6]),
    );
    expect(trueLanes(padded, [undefined, [0, 4]])).toBeUndefined();
    expect(trueLanes(padded, [undefined])).toBeUndefined();
  });

  it("are transposed there and back", () => {
    const anyDims = fc.array(fc.integer({ min: 1, max: 4 }), { minLength: 1, maxLength: 4 });
    fc.assert(
      fc.property(
        anyDims.chain((dims) =>
          fc.tuple(fc.constant(dims), fc.shuffledSubarray([...dims.keys()], { minLength: dims.length })),
        ),
        ([dims, permutation]) => {
          const count = dims.reduce((total, dim) => total * dim, 1);
          const tensor = tensorOf(
            "int32",
            dims,
            Array.from({ length: count }, (_, i) => i),
          );
          const there = transpose(tensor, permutation);
          expect(there.dims).toEqual(permutation.map((axis) => dims[axis]));
          const back = dims.map((_, axis) => permutation.indexOf(axis));
          expect(transpose(there, back)).toEqual(tensor);
        },
      ),
    );
    const matrix = tensorOf("int32", [2, 3], [1, 2, 3, 4, 5, 6]);
    expect(transpose(matrix, [1, 0])).toEqual(tensorOf("int32", [3, 2], [1, 4, 2, 5, 3, 6]));
  });

  it("are converted within one kind only", () => {
    expect(convert(tensorOf("float64", [1], [0.1]), "float16", "x").data).toEqual(Uint16Array.of(0x2e66));
    expect(convert(tensorOf("int32", [1], [-1]), "int64", "x").data).toEqual(BigInt64Array.of(-1n));
    expect(() => convert(tensorOf("float32", [1], [1]), "int64", 'input "x"')).toThrow(
      'input "x": is float32, expected int64',
    );
  });
});
