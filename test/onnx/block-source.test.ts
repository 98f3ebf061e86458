import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { BlockSource, smallBlockBytes } from "../../src/onnx/block-source.ts";
import { BufferSource, type ByteSource, readRange } from "../../src/wire/source.ts";

const megabyte = 1 << 20;
const bytes = Uint8Array.from({ length: 20 * megabyte + 17 }, (_, at) => (at * 2_654_435_761) >>> 24);

/** Counts what is read of the source behind. */
function counted(): { readonly source: ByteSource; readonly reads: number[] } {
  const reads: number[] = [];
  const behind = new BufferSource("behind", bytes);
  const readInto = (offset: number, target: Uint8Array) => {
    reads.push(target.length);
    behind.readInto(offset, target);
  };
  return { source: { name: "behind", size: behind.size, readInto, close: () => {} }, reads };
}

describe("BlockSource", () => {
  it.each([undefined, smallBlockBytes])(
    "reads what its source holds, wherever and however much, after many blocks too (of %s bytes)",
    (size) => {
      const source = new BlockSource(counted().source, size);
      const range = fc.record({
        offset: fc.nat(bytes.length),
        length: fc.oneof(fc.nat(300), fc.nat(200_000)),
      });
      fc.assert(
        fc.property(fc.array(range, { minLength: 20, maxLength: 60 }), (ranges) => {
          for (const { offset, length } of ranges) {
            const size = Math.min(length, bytes.length - offset);
            const expected = Buffer.from(bytes.buffer, offset, size);
            expect(readRange(source, offset, size).equals(expected)).toBe(true);
          }
        }),
        { numRuns: 40 },
      );
    },
  );

  it("reads a block once for everything in it", () => {
    const { source, reads } = counted();
    const blocks = new BlockSource(source);
    for (let offset = 0; offset < 65_000; offset += 100) readRange(blocks, offset, 50);
    expect(reads).toEqual([65_536]);
  });

  it.each([65_536, smallBlockBytes])("keeps a bounded number of blocks of %i bytes", (size) => {
    const { source, reads } = counted();
    const blocks = new BlockSource(source, size);
    for (let offset = 0; offset < bytes.length - 1; offset += size) readRange(blocks, offset, 1);
    const once = reads.length;
    readRange(blocks, 0, 1);
    expect(reads.length).toBe(once + 1);
  });

  it.each([
    [bytes.length - 5, 10],
    [bytes.length, 1],
  ])("refuses %i + %i", (offset, length) => {
    const blocks = new BlockSource(counted().source);
    expect(() => blocks.readInto(offset, new Uint8Array(length))).toThrow();
  });
});
