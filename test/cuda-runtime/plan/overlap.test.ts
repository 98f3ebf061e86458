/** @file Views that are said to be apart are: held to their elements, one by one. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type DeviceBuffer, sliced, stridesOf, type View } from "../../../cuda-runtime/ir/view.ts";
import { mayOverlap as mayOverlapAt, spotOf } from "../../../cuda-runtime/plan/overlap.ts";

const buffer: DeviceBuffer = { id: 0, kind: "temporary", bytes: 4096, name: "b" };

function viewOf(shape: readonly number[], strides: readonly number[], offset = 0): View {
  return { buffer, type: "float16", shape, strides, offset };
}

function mayOverlap(a: View, b: View): boolean {
  return mayOverlapAt(spotOf(a), spotOf(b));
}

/** Places of all elements. */
function elementsOf({ shape, strides, offset }: View): Set<number> {
  let places = [offset];
  for (const [axis, size] of shape.entries()) {
    const stride = strides[axis] ?? 0;
    places = places.flatMap((at) => Array.from({ length: size }, (_, index) => at + index * stride));
  }
  return new Set(places);
}

const views = fc
  .array(fc.record({ size: fc.nat(4), stride: fc.integer({ min: -12, max: 24 }) }), {
    minLength: 1,
    maxLength: 3,
  })
  .chain((axes) =>
    fc.integer({ min: 200, max: 260 }).map((offset) =>
      viewOf(
        axes.map(({ size }) => size),
        axes.map(({ stride }) => stride),
        offset,
      ),
    ),
  );

describe("Two views", () => {
  it("have no element in common where they are said to have none", () => {
    let apart = 0;
    fc.assert(
      fc.property(views, views, (a, b) => {
        const meets = [...elementsOf(a)].some((place) => elementsOf(b).has(place));
        if (!mayOverlap(a, b)) apart += 1;
        if (meets) expect(mayOverlap(a, b)).toBe(true);
      }),
      { numRuns: 2000 },
    );
    expect(apart).toBeGreaterThan(200);
  });

  it("are apart as the parts of a concatenation, along rows and along columns", () => {
    const nhwc = viewOf([2, 48, 7, 7], stridesOf([2, 48, 7, 7], [0, 2, 3, 1]));
    for (const [axis, cut] of [
      [0, 1],
      [1, 16],
      [2, 3],
    ] as const) {
      const size = nhwc.shape[axis] ?? 0;
      const [first, second] = [sliced(nhwc, axis, 0, cut), sliced(nhwc, axis, cut, size - cut)];
      expect(mayOverlap(first, second)).toBe(false);
      expect(mayOverlap(first, sliced(nhwc, axis, cut - 1, 2))).toBe(true);
      expect(mayOverlap(second, nhwc)).toBe(true);
    }
  });

  it("are apart in other buffers, and of nothing", () => {
    const other = { ...viewOf([4], [1]), buffer: { ...buffer, id: 1 } };
    expect(mayOverlap(viewOf([4], [1]), other)).toBe(false);
    expect(mayOverlap(viewOf([0, 4], [4, 1]), viewOf([4], [1]))).toBe(false);
  });
});
