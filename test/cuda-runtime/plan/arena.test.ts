import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { bufferAlignment, type Lifetime, placeBuffers } from "../../../cuda-runtime/plan/arena.ts";

const lifetimes = fc
  .array(fc.record({ bytes: fc.integer({ min: 0, max: 5000 }), first: fc.nat(20), length: fc.nat(6) }), {
    maxLength: 40,
  })
  .map((rows) =>
    rows.map(
      ({ bytes, first, length }, id): Lifetime => ({
        buffer: { id, kind: "temporary", bytes, name: `b${id}` },
        first,
        last: first + length,
      }),
    ),
  );

const overlaps = (a: Lifetime, b: Lifetime) => a.first <= b.last && b.first <= a.last;

describe("The arena", () => {
  it("gives no two buffers that live at once the same bytes", () => {
    fc.assert(
      fc.property(lifetimes, (all) => {
        const { offsets, bytes } = placeBuffers(all);
        for (const one of all) {
          const start = offsets.get(one.buffer);
          if (start === undefined) throw new Error("a buffer has no place");
          expect(start % bufferAlignment).toBe(0);
          expect(start + one.buffer.bytes).toBeLessThanOrEqual(bytes);
          for (const other of all) {
            const at = offsets.get(other.buffer) ?? Number.NaN;
            if (other === one || !overlaps(one, other)) continue;
            expect(start + one.buffer.bytes <= at || at + other.buffer.bytes <= start).toBe(true);
            expect(start).not.toBe(at);
          }
        }
      }),
    );
  });

  it("places the same buffers the same way, in whatever order they are named", () => {
    fc.assert(
      fc.property(lifetimes, (all) => {
        const forward = placeBuffers(all);
        const backward = placeBuffers([...all].reverse());
        expect(backward.bytes).toBe(forward.bytes);
        for (const { buffer } of all) expect(backward.offsets.get(buffer)).toBe(forward.offsets.get(buffer));
      }),
    );
  });

  it("takes no more than the most that lives at once, for a chain", () => {
    const chain = Array.from(
      { length: 10 },
      (_, id): Lifetime => ({
        buffer: { id, kind: "temporary", bytes: 1024, name: `b${id}` },
        first: id,
        last: id + 1,
      }),
    );
    expect(placeBuffers(chain).bytes).toBe(2 * 1024);
  });
});
