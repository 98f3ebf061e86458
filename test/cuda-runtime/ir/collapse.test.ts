/** Collapsed axes walk over the same elements, in the first operand's memory order. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { collapseAxes } from "../../../cuda-runtime/ir/collapse.ts";
import { channelsLastOrder, stridesOf } from "../../../cuda-runtime/ir/view.ts";

/** Offsets of all operands for every position, as strings, sorted: what a walk visits. */
function visited(sizes: readonly number[], strides: readonly (readonly number[])[]): string[] {
  let offsets: number[][] = [strides.map(() => 0)];
  for (const [axis, size] of sizes.entries()) {
    offsets = offsets.flatMap((before) =>
      Array.from({ length: size }, (_, at) =>
        before.map((offset, operand) => offset + at * (strides[operand]?.[axis] ?? 0)),
      ),
    );
  }
  return offsets.map((each) => each.join()).sort();
}

const operand = (rank: number) =>
  fc.oneof(
    fc.array(fc.constantFrom(0, 1, 2, 3, 4, 6, 12, -1, -6), { minLength: rank, maxLength: rank }),
    fc.constant(undefined),
  );

const request = fc.integer({ min: 0, max: 5 }).chain((rank) =>
  fc.record({
    shape: fc.array(fc.constantFrom(1, 2, 3, 4), { minLength: rank, maxLength: rank }),
    operands: fc.array(operand(rank), { minLength: 1, maxLength: 3 }),
  }),
);

describe("collapseAxes", () => {
  it("visits the same elements", () => {
    fc.assert(
      fc.property(request, ({ shape, operands }) => {
        const strides = operands.map((given) => given ?? stridesOf(shape));
        const { sizes, strides: collapsed } = collapseAxes(shape, strides);
        expect(visited(sizes, collapsed)).toEqual(visited(shape, strides));
        expect(sizes).not.toContain(1);
      }),
    );
  });

  it("leaves no neighbours that could be merged, and orders by the first operand", () => {
    fc.assert(
      fc.property(request, ({ shape, operands }) => {
        const strides = operands.map((given) => given ?? stridesOf(shape));
        const { sizes, strides: collapsed } = collapseAxes(shape, strides);
        for (let axis = 1; axis < sizes.length; axis++) {
          const canMerge = collapsed.every((own) => own[axis - 1] === (own[axis] ?? 0) * (sizes[axis] ?? 1));
          expect(canMerge).toBe(false);
          expect(Math.abs(collapsed[0]?.[axis - 1] ?? 0)).toBeGreaterThanOrEqual(
            Math.abs(collapsed[0]?.[axis] ?? 0),
          );
        }
      }),
    );
  });

  it("makes one axis of packed operands in any common order", () => {
    const shape = [2, 8, 3, 5];
    const strides = stridesOf(shape, channelsLastOrder(4));
    expect(collapseAxes(shape, [strides, strides])).toEqual({ sizes: [240], strides: [[1], [1]] });
  });

  it("keeps a broadcast channel apart", () => {
    const shape = [2, 8, 3, 5];
    const bias = [0, 1, 0, 0];
    expect(collapseAxes(shape, [stridesOf(shape, channelsLastOrder(4)), bias])).toEqual({
      sizes: [30, 8],
      strides: [
        [8, 1],
        [0, 1],
      ],
    });
  });

  it("refuses more axes than kernels have", () => {
    const shape = new Array<number>(9).fill(2);
    const scattered = shape.map((_, axis) => 3 ** axis);
    expect(() => collapseAxes(shape, [stridesOf(shape), scattered])).toThrow("9 axes that do not merge");
  });
});
