/** @file The ways of normalizing groups and rows: each element is taken once, what a block keeps fits, entries are there. */
import { readFileSync } from "node:fs";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { h200, type Launch } from "../../../cuda-runtime/ir/step.ts";
import { bytesOfType, type FloatStorage } from "../../../cuda-runtime/ir/storage.ts";
import { permuted } from "../../../cuda-runtime/ir/view.ts";
import { emitGroupNorm } from "../../../cuda-runtime/kernels/norm/group.ts";
import { emitRowNorm } from "../../../cuda-runtime/kernels/norm/norm.ts";
import type { RowLaunch } from "../../../cuda-runtime/kernels/norm/rows.ts";
import { type SlabChoice, sidesOf, slabCandidates } from "../../../cuda-runtime/kernels/norm/slab-choices.ts";
import { emitSoftmax } from "../../../cuda-runtime/kernels/softmax/softmax.ts";
import { PlanDraft } from "../../../cuda-runtime/plan/buffers.ts";
import { PlanEmitter } from "../../../cuda-runtime/plan/emitter.ts";
import { expectAtOnce } from "../../../cuda-runtime/session/steps.ts";
import { machineNamed } from "../../../src/hardware/machine.ts";

function launchesOf(emit: (emitter: PlanEmitter) => void, target = h200): Launch[] {
  const draft = new PlanDraft();
  emit(new PlanEmitter(draft, target, false));
  return draft.finish().steps.flatMap(({ action }) => (action.kind === "launch" ? [action.launch] : []));
}

function source(name: string): string {
  return readFileSync(new URL(`../../../cuda-runtime/kernels/${name}`, import.meta.url), "utf8");
}

const floats = fc.constantFrom<FloatStorage>("float16", "float32");

/** Groups that meet in one of a slab's runs of eight channels, at most. */
function meetingIn(ofGroup: number, slabChannels: number): number {
  let most = 0;
  for (let first = 0; first < slabChannels; first += 8)
    most = Math.max(most, Math.floor((first + 7) / ofGroup) - Math.floor(first / ofGroup) + 1);
  return most;
}

/** As SlabPlace counts them: of every thread of a block, its positions and its column. */
function* placesOf({ threads, rows, chunk, slabChannels }: SlabChoice, positions: number, block: number) {
  const columns = slabChannels / 8;
  const count = Math.max(0, Math.min(chunk, positions - block * chunk));
  const each = Math.floor(count / rows);
  const more = count - each * rows;
  for (let thread = 0; thread < threads; thread++) {
    const row = Math.floor(thread / columns);
    const own = row < rows ? each + (row < more ? 1 : 0) : 0;
    for (let run = 0; run < own; run++)
      yield { thread, run, column: thread % columns, position: block * chunk + row + run * rows };
  }
}

describe("slabs of channels", () => {
  const extents = fc.record({
    ...{ samples: fc.integer({ min: 1, max: 3 }), groups: fc.integer({ min: 1, max: 40 }) },
    ...{
      ofGroup: fc.integer({ min: 1, max: 44 }),
      positions: fc.integer({ min: 1, max: 3000 }),
      type: floats,
    },
  });

  it("take each position and each run of channels once, in every way", () => {
    fc.assert(
      fc.property(extents, fc.nat(), ({ ofGroup, ...rest }, pick) => {
        const channels = rest.groups * ofGroup;
        const all = slabCandidates({ ...rest, channels, bytes: 1e6 }, h200);
        const choice = all[pick % Math.max(1, all.length)]?.launch;
        if (choice === undefined) return;
        const columns = choice.slabChannels / 8;
        const seen = new Uint8Array(rest.positions * columns);
        let slots = 0;
        for (let block = 0; block < choice.chunks; block++) {
          for (const { thread, run, column, position } of placesOf(choice, rest.positions, block)) {
            const at = position * columns + column;
            seen[at] = (seen[at] ?? 0) + 1;
            slots = Math.max(slots, run * choice.threads + thread + 1);
          }
        }
        expect(seen.every((count) => count === 1)).toBe(true);
        if (choice.way === "cluster" || choice.way === "grid")
          expect(slots * 8 * bytesOfType(rest.type)).toBeLessThanOrEqual(choice.sharedBytes);
      }),
      { numRuns: 300 },
    );
  });

  it("are blocks that a GPU may have", () => {
    fc.assert(
      fc.property(extents, ({ ofGroup, ...rest }) => {
        const channels = rest.groups * ofGroup;
        for (const { launch: choice } of slabCandidates({ ...rest, channels, bytes: 1e6 }, h200)) {
          const { slabChannels, threads, rows, sharedBytes } = choice;
          expect([slabChannels % 8, slabChannels % ofGroup, channels % slabChannels]).toEqual([0, 0, 0]);
          expect(slabChannels / ofGroup).toBeLessThanOrEqual(64);
          expect(meetingIn(ofGroup, slabChannels)).toBeLessThanOrEqual(sidesOf(ofGroup));
          expect(rows).toBeGreaterThan(0);
          expect(rows * (slabChannels / 8)).toBeLessThanOrEqual(threads);
          expect(threads % 32).toBe(0);
          expect(threads).toBeLessThanOrEqual(512);
          if (choice.way === "cluster") expect(choice.chunks).toBeLessThanOrEqual(16);
          if (choice.way === "grid") {
            // All of them wait for each other, one on a multiprocessor.
            const blocks = (channels / slabChannels) * rest.samples * choice.chunks;
            expect(blocks).toBeLessThanOrEqual(h200.multiprocessors);
            expect(choice.chunks).toBeGreaterThan(1);
          }
          if (choice.way === "cluster" || choice.way === "grid") {
            expect(meetingIn(ofGroup, slabChannels)).toBeLessThanOrEqual(4);
            // Sums of the sides, pivots and what stands for groups are static.
            expect(sharedBytes + 8 * sidesOf(ofGroup) * 512 + 20 * 64).toBeLessThanOrEqual(
              h200.sharedBytesPerBlock,
            );
          }
          if (choice.way === "whole") {
            expect(choice.chunks).toBe(1);
            expect(Math.ceil(choice.chunk / rows)).toBeLessThanOrEqual(rest.type === "float32" ? 2 : 4);
          }
        }
      }),
    );
  });

  const request = {
    ...{ scale: undefined, bias: undefined, isParameterPerGroup: false },
    ...{ epsilon: 1e-5, isSilu: true, groups: 32 },
  };
  const launchesFor = (target: typeof h200, positions: number, samples = 2) =>
    launchesOf((emitter) => {
      const memory = () => emitter.draft.allocate("input", "float16", [samples, positions, 320]);
      const [x, y] = [permuted(memory(), [0, 2, 1]), permuted(memory(), [0, 2, 1])];
      emitGroupNorm(emitter, { ...request, x, y });
    }, target);
  const entries = (...of: Parameters<typeof launchesFor>) =>
    launchesFor(...of).map(({ kernel }) => kernel.entry);
  const twice = ["groupslab_f16_s2_statistics", "groupslab_f16_apply"];

  it("are blocks that run at once where the GPU has overlapping launches, and a sample's channels fit their memory", () => {
    const [launch, ...more] = launchesFor(h200, 4096);
    expect(more).toEqual([]);
    expect(launch?.kernel.entry).toBe("groupslab_f16_s2_grid");
    expect(launch?.isAtOnce).toBe(true);
    expect(entries(machineNamed("a100-80gb"), 4096)).toEqual(twice);
    expect(entries(h200, 400_000)).toEqual(twice);
    expect(launchesFor(h200, 400_000).every(({ isAtOnce }) => isAtOnce === undefined)).toBe(true);
  });

  it("are clusters where samples are more than fit the GPU at once", () => {
    const [launch, ...more] = launchesFor(h200, 1024, 64);
    expect(more).toEqual([]);
    expect(launch?.kernel.entry).toBe("groupslab_f16_s2_cluster");
    expect(launch?.cluster).toEqual([launch?.grid[0], 1, 1]);
  });

  it("that wait for each other are refused by a GPU of fewer multiprocessors", () => {
    const [launch] = launchesFor(h200, 4096);
    if (launch === undefined) throw new Error("no launch");
    expect(() => expectAtOnce(launch, 132)).not.toThrow();
    expect(() => expectAtOnce(launch, 114)).toThrow("expected at most the 114 multiprocessors of this GPU");
    expect(() => expectAtOnce({ ...launch, isAtOnce: undefined }, 114)).not.toThrow();
  });

  it("meet no more of them than the counters are for", () => {
    const [, blocks] = /kMeetingBlocks = (\d+);/.exec(source("common/meeting.cuh")) ?? [];
    for (const { launch } of slabCandidates(
      { samples: 2, channels: 320, positions: 4096, groups: 32, type: "float16", bytes: 1e7 },
      { ...h200, multiprocessors: 400 },
    ))
      if (launch.way === "grid")
        expect((320 / launch.slabChannels) * 2 * launch.chunks).toBeLessThanOrEqual(Number(blocks));
  });
});

describe("softmax", () => {
  const launches = (
    type: FloatStorage,
    rows: number,
    cols: number,
    mode: "softmax" | "hardmax" = "softmax",
  ) => {
    const seen: RowLaunch[] = [];
    launchesOf((emitter) => {
      const memory = () => emitter.draft.allocate("input", type, [rows, cols]);
      const accepts = (launch: RowLaunch) => seen.push(launch) > 0;
      emitSoftmax(emitter, { x: memory(), y: memory(), axis: 1, mode }, accepts);
    });
    return seen;
  };

  it("of packed rows takes each element once, from whole runs that its shared memory holds", () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 70 }),
        fc.integer({ min: 1, max: 512 }),
        floats,
        (rows, cols, type) => {
          for (const { entry, grid, block } of launches(type, rows, cols)) {
            const [, lanes, each] = /_packed_lanes(\d+)x(\d+)$/.exec(entry)?.map(Number) ?? [];
            if (lanes === undefined || each === undefined) continue;
            const ofBlock = block[0] / lanes;
            expect(ofBlock % 8).toBe(0);
            expect(grid[0]).toBe(Math.ceil(rows / ofBlock));
            expect(lanes * each).toBeGreaterThanOrEqual(cols);
            const runs = Math.floor((ofBlock * cols) / 8);
            expect(runs).toBeLessThanOrEqual(Math.ceil(each / 8) * block[0]);
            expect(ofBlock * cols).toBeLessThanOrEqual(ofBlock * lanes * each);
          }
        },
      ),
    );
    const names = launches("float16", 100, 197).map(({ entry }) => entry);
    expect(names).toContain("softmax_f16_packed_lanes16x14");
    expect(launches("float16", 100, 197, "hardmax").some(({ entry }) => /packed|kept/.test(entry))).toBe(
      false,
    );
  });

  it("of long rows keeps all runs of a row in shared memory", () => {
    for (const type of ["float16", "float32"] as const) {
      for (const cols of [4104, 8193, 8200, 20_000, 36_864, 100_000]) {
        for (const { entry, block, sharedBytes } of launches(type, 7, cols)) {
          if (!entry.endsWith("_kept")) continue;
          const runs = Math.ceil(cols / 8 / block[0]);
          expect(sharedBytes).toBe(runs * block[0] * 8 * bytesOfType(type));
          expect(3 * (sharedBytes + 128 + h200.reservedSharedBytes)).toBeLessThanOrEqual(h200.sharedBytes);
        }
      }
    }
    const isKept = (cols: number) =>
      launches("float16", 512, cols).some(({ entry }) => entry.endsWith("_kept"));
    expect([4096, 4104, 12_288, 36_864, 36_872, 12_289].filter(isKept)).toEqual([4104, 12_288, 36_864]);
  });

  it("has an entry for every form", () => {
    const text = source("softmax/packed.cuh");
    const entries = [60, 120, 200, 250, 500].flatMap((cols) => launches("float16", 100, cols));
    for (const { entry, block } of entries) {
      const [, form, lanes, each] = /_packed_(lanes(\d+)x(\d+))$/.exec(entry) ?? [];
      if (form !== undefined) expect(text).toContain(`TYPE, ${form}, ${lanes}, ${each}, ${block[0]})`);
    }
  });
});

describe("rows of blocks that stay", () => {
  const launches = (type: FloatStorage, rows: number, cols: number) => {
    const seen: RowLaunch[] = [];
    launchesOf((emitter) => {
      const memory = () => emitter.draft.allocate("input", type, [rows, cols]);
      const rest = { scale: undefined, bias: undefined, isRms: false, epsilon: 1e-5 };
      emitRowNorm(emitter, { ...rest, x: memory(), y: memory() }, (launch) => seen.push(launch) > 0);
    });
    return seen.filter(({ entry }) => entry.includes("_stay"));
  };

  it("have threads for all columns, and no more rows to a block than there are", () => {
    for (const type of ["float16", "bfloat16"] as const) {
      for (const cols of [512, 1000, 1024, 2056, 4096, 5000, 8192, 12_288, 16_000, 16_384]) {
        for (const { entry, grid, block } of launches(type, 6000, cols)) {
          const runs = Number(/_stay(\d)$/.exec(entry)?.[1]);
          expect(8 * runs * block[0]).toBeGreaterThanOrEqual(cols);
          expect(block[0]).toBeLessThanOrEqual(512);
          expect(2 * grid[0]).toBeLessThanOrEqual(6000);
        }
      }
    }
    expect(launches("float16", 8192, 4096).map(({ grid }) => grid[0])).toEqual([528]);
    expect(launches("float16", 1024, 12_288)).toHaveLength(1);
    expect(launches("float16", 200, 4096)).toEqual([]);
    expect(launches("float16", 6000, 1024)).toEqual([]);
    expect(launches("float32", 8192, 4096)).toEqual([]);
  });
});
