/** @file A launch's blocks are spread: no multiprocessor has room for more than its share, and none has less than what is asked for. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { spreadBytes } from "../../../cuda-runtime/session/spread.ts";
import { machineNamed } from "../../../src/hardware/machine.ts";

const hopper = machineNamed("h200");

/** Blocks of so much shared memory that a multiprocessor holds at once. */
function held(dynamicBytes: number, staticBytes: number): number {
  const each = Math.ceil((dynamicBytes + staticBytes) / 128) * 128 + hopper.reservedSharedBytes;
  return Math.floor(hopper.sharedBytes / each);
}

const launches = fc.record({
  grid: fc.tuple(fc.integer({ min: 1, max: 300 }), fc.integer({ min: 1, max: 3 }), fc.constant(1)),
  sharedBytes: fc.integer({ min: 0, max: 180_000 }),
});

describe("shared memory that a launch asks for", () => {
  it("leaves room for a multiprocessor's share of small grids, and no more", () => {
    fc.assert(
      fc.property(launches, fc.integer({ min: 0, max: 40_000 }), ({ grid, sharedBytes }, staticBytes) => {
        const bytes = spreadBytes({ grid, sharedBytes }, staticBytes, hopper);
        const each = Math.ceil((grid[0] * grid[1]) / hopper.multiprocessors);
        expect(bytes).toBeGreaterThanOrEqual(sharedBytes);
        if (each > 4) expect(bytes).toBe(sharedBytes);
        else expect(held(bytes, staticBytes)).toBe(Math.min(each, held(sharedBytes, staticBytes)));
      }),
    );
  });

  it("leaves room for a block of 112 KB beside one, and for none that is spread the same way", () => {
    const bytes = spreadBytes({ grid: [132, 1, 1], sharedBytes: 0 }, 0, hopper);
    const beside = (other: number) => bytes + other + 2 * hopper.reservedSharedBytes;
    expect(beside(112 * 1024)).toBeLessThanOrEqual(hopper.sharedBytes);
    expect(beside(bytes)).toBeGreaterThan(hopper.sharedBytes);
  });

  it("leaves clusters the room that they find: of eight 120 of 132 multiprocessors", () => {
    const launch = { grid: [128, 1, 1], sharedBytes: 90_000 } as const;
    expect(held(spreadBytes({ ...launch, cluster: [2, 1, 1] }, 0, hopper), 0)).toBe(1);
    expect(held(spreadBytes({ ...launch, cluster: [4, 1, 1] }, 0, hopper), 0)).toBe(2);
    expect(held(spreadBytes({ ...launch, cluster: [8, 1, 1] }, 0, hopper), 0)).toBe(2);
    const fewer = { grid: [112, 1, 1], sharedBytes: 90_000, cluster: [8, 1, 1] } as const;
    expect(held(spreadBytes(fewer, 0, hopper), 0)).toBe(1);
  });

  it("is what a kernel needs where launches do not overlap, and for grids of nothing", () => {
    const before = machineNamed("a100");
    expect(spreadBytes({ grid: [8, 1, 1], sharedBytes: 1000 }, 0, before)).toBe(1000);
    expect(spreadBytes({ grid: [0, 1, 1], sharedBytes: 1000 }, 0, hopper)).toBe(1000);
  });
});
