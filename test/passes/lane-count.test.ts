import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { halfBits } from "../../src/ir/half.ts";
import { halfToNumber } from "../../src/onnx/elements.ts";
import { LaneCount } from "../../src/passes/half/lanes-lost.ts";

/** Lanes of plain numbers, of tiny ones, and of both: what ends a count early lies anywhere. */
const size = fc.oneof(
  fc.constantFrom(0, 2 ** -25, 2 ** -14, 1),
  fc.double({ min: 0, max: 1e-6, noNaN: true }),
  fc.double({ min: 0, max: 1, noNaN: true }),
);
const tensor = fc
  .tuple(fc.integer({ min: 1, max: 5 }), fc.integer({ min: 1, max: 5 }), fc.integer({ min: 1, max: 6 }))
  .chain(([lanes, before, inner]) =>
    fc.record({
      dims: fc.constant([before, lanes, inner]),
      elements: fc
        .array(size, { minLength: lanes * before * inner, maxLength: lanes * before * inner })
        .map((numbers) => Float32Array.from(numbers)),
      cut: fc.nat(),
    }),
  );

/** As it is defined: the energy of what is lost over that of the lane. */
function vanishingIn([before = 1, lanes = 1, inner = 1]: readonly number[], elements: Float32Array): number {
  const largest = elements.reduce((most, each) => Math.max(most, each), 0);
  let count = 0;
  for (let lane = 0; lane < lanes; lane++) {
    let [energy, lost] = [0, 0];
    for (let outer = 0; outer < before; outer++)
      for (let at = 0; at < inner; at++) {
        const each = elements[(outer * lanes + lane) * inner + at] ?? 0;
        energy += each * each;
        if (each < 2 ** -14) lost += (each - halfToNumber(halfBits(each))) ** 2;
      }
    if (lost > 2 ** -16 * energy && energy > (2 ** -48 * largest) ** 2) count += 1;
  }
  return count;
}

describe("lanes that half does not hold", () => {
  it("are counted as if every element had been looked at, whatever windows these come in", () => {
    fc.assert(
      fc.property(tensor, ({ dims, elements, cut }) => {
        const lanes = new LaneCount(dims, 1);
        const at = cut % (elements.length + 1);
        lanes.add(elements.subarray(0, at));
        lanes.add(elements.subarray(at));
        const largest = elements.reduce((most, each) => Math.max(most, each), 0);
        expect(lanes.vanishing(largest)).toBe(vanishingIn(dims, elements));
      }),
      { numRuns: 400 },
    );
  });
});
