import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { compact } from "../../src/fix/compact.ts";
import { BufferSource, type ByteSource } from "../../src/wire/source.ts";
import { joinSegments, type Segment, segmentsLength } from "../../src/wire/splice.ts";

/** Of the sizes that pieces have: nothing, a few bytes, more than is copied together. */
const length = fc.oneof(fc.nat(3), fc.nat(200), fc.integer({ min: 65_530, max: 65_540 }), fc.nat(300_000));
const piece = fc.record({ isCopy: fc.boolean(), length, seed: fc.nat(255) });

function segmentOf({
  isCopy,
  length: size,
  seed,
}: {
  isCopy: boolean;
  length: number;
  seed: number;
}): Segment {
  const bytes = Uint8Array.from({ length: size + seed }, (_, at) => (at * 31 + seed) & 255);
  if (!isCopy) return { kind: "bytes", bytes };
  return { kind: "copy", source: new BufferSource("piece", bytes), offset: seed, length: size };
}

describe("compact", () => {
  it("keeps every byte, in order", () => {
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 12 }), (pieces) => {
        const segments = pieces.map(segmentOf);
        const compacted = compact(segments);
        expect(segmentsLength(compacted)).toBe(segmentsLength(segments));
        expect(joinSegments(compacted).equals(joinSegments(segments))).toBe(true);
      }),
      { numRuns: 60 },
    );
  });

  it("brings small pieces together, and reads each of them once", () => {
    const reads: number[] = [];
    const source: ByteSource = {
      name: "counted",
      size: 1000,
      readInto: (offset, target) => {
        reads.push(offset);
        target.fill(offset & 255);
      },
      close: () => {},
    };
    const segments = Array.from({ length: 100 }, (_, at) => ({
      kind: "copy" as const,
      source,
      offset: at * 10,
      length: 10,
    }));
    const [only, ...more] = compact(segments);
    expect(more).toEqual([]);
    expect(only?.kind).toBe("bytes");
    expect(reads).toEqual(segments.map(({ offset }) => offset));
  });

  it("leaves a large piece where it is", () => {
    const source: ByteSource = {
      name: "untouched",
      size: 2 ** 40,
      readInto: () => expect.unreachable("a large piece was read"),
      close: () => {},
    };
    const large = { kind: "copy", source, offset: 7, length: 2 ** 39 } as const;
    const small = { kind: "bytes", bytes: Uint8Array.of(1, 2) } as const;
    expect(compact([small, large, small])).toEqual([
      { kind: "bytes", bytes: Buffer.of(1, 2) },
      large,
      { kind: "bytes", bytes: Buffer.of(1, 2) },
    ]);
  });

  it("computes what has to be computed when it is asked for, and once", () => {
    let reads = 0;
    const source: ByteSource = {
      name: "computed",
      size: 20_000,
      isComputed: true,
      readInto: (offset, target) => {
        reads += 1;
        target.forEach((_, at) => {
          target[at] = (offset + at) & 255;
        });
      },
      close: () => {},
    };
    const compacted = compact([
      { kind: "bytes", bytes: Uint8Array.of(1) },
      { kind: "copy", source, offset: 3, length: 10_000 },
      { kind: "copy", source, offset: 0, length: 8 },
    ]);
    expect(reads).toBe(1);
    for (let round = 0; round < 2; round++)
      expect(joinSegments(compacted).subarray(0, 5)).toEqual(Buffer.of(1, 3, 4, 5, 6));
    expect(reads).toBe(2);
  });
});
