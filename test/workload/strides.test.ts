/** Strides, against the addresses that they stand for. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { volume } from "../../src/ops/work.ts";
import { isPacked, packed, packedLike, reshapedStrides, type Strides } from "../../src/workload/strides.ts";

/** Of all elements, in the order of their indices. */
function addresses(sizes: readonly number[], strides: Strides): number[] {
  return sizes.reduce<number[]>(
    (found, size, axis) =>
      found.flatMap((at) => Array.from({ length: size }, (_, index) => at + index * (strides[axis] ?? 0))),
    [0],
  );
}

const shapes = fc.array(fc.integer({ min: 1, max: 4 }), { minLength: 1, maxLength: 4 });
/** A packed tensor, its axes in another order. */
const permuted = shapes.chain((sizes) =>
  fc.shuffledSubarray([...sizes.keys()], { minLength: sizes.length }).map((order) => {
    const strides = packed(sizes);
    return { sizes: order.map((axis) => sizes[axis] ?? 1), strides: order.map((axis) => strides[axis] ?? 1) };
  }),
);

describe("strides", () => {
  it("of another shape name the same addresses, where there are any", () => {
    fc.assert(
      fc.property(permuted, shapes, ({ sizes, strides }, other) => {
        const shape = [...other, volume(sizes)].filter((size) => size > 0);
        fc.pre(volume(shape) === volume(sizes));
        const found = reshapedStrides(sizes, strides, shape);
        if (found !== undefined) expect(addresses(shape, found)).toEqual(addresses(sizes, strides));
      }),
    );
  });

  it("of a flat view are there where elements lie at even distances, and nowhere else", () => {
    fc.assert(
      fc.property(permuted, ({ sizes, strides }) => {
        const all = addresses(sizes, strides);
        const step = (all[1] ?? 0) - (all[0] ?? 0);
        const isEven = all.every((address, index) => address === index * step);
        expect(reshapedStrides(sizes, strides, [volume(sizes)]) !== undefined).toBe(isEven);
      }),
    );
  });

  it("split an axis and join it again", () => {
    expect(reshapedStrides([197, 576], [576, 1], [197, 3, 3, 64])).toEqual([576, 192, 64, 1]);
    // Heads first: tokens and heads lie apart.
    expect(reshapedStrides([197, 3, 64], [64, 197 * 64, 1], [197, 192])).toBeUndefined();
    expect(reshapedStrides([1, 3, 197, 64], [9, 64, 576, 1], [3, 197, 64])).toEqual([64, 576, 1]);
  });

  it("without gaps keep the order that they had", () => {
    fc.assert(
      fc.property(permuted, ({ sizes, strides }) => {
        const dense = packedLike(sizes, strides);
        expect(addresses(sizes, dense)).toEqual(addresses(sizes, strides));
        expect(isPacked(sizes, packed(sizes))).toBe(true);
      }),
    );
  });
});
