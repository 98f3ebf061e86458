/** @file Depthwise kernels whose tiles come by TMA: what they take, how they are cut, and that they fit a multiprocessor. */
import { readFileSync } from "node:fs";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { plainEpilogue } from "../../../cuda-runtime/ir/epilogue.ts";
import { h200 } from "../../../cuda-runtime/ir/step.ts";
import { permuted } from "../../../cuda-runtime/ir/view.ts";
import { depthwiseCandidates } from "../../../cuda-runtime/kernels/depthwise/choose.ts";
import { emitDepthwise } from "../../../cuda-runtime/kernels/depthwise/depthwise.ts";
import type { DepthwiseChoice, DepthwiseProblem } from "../../../cuda-runtime/kernels/depthwise/problem.ts";
import { ringCandidates, ringRows } from "../../../cuda-runtime/kernels/depthwise/ring.ts";
import { PlanDraft } from "../../../cuda-runtime/plan/buffers.ts";
import { PlanEmitter } from "../../../cuda-runtime/plan/emitter.ts";
import { machineNamed } from "../../../src/hardware/machine.ts";

const problem: DepthwiseProblem = {
  ...{ type: "float16", channels: 144, filters: 144, batch: 4, size: [1, 30, 45] },
  ...{ kernel: [1, 3, 3], stride: [1, 1, 1], dilation: [1, 1, 1], activation: "relu" },
  ...{ alignment: 16, width: 8, isPlain: true, isWalkable: true, bytes: 1e6 },
};

function ringsOf(changes: Partial<DepthwiseProblem> = {}, target = h200): DepthwiseChoice[] {
  return ringCandidates({ ...problem, ...changes }, target).map(({ launch }) => launch);
}

const problems = fc
  .record({
    ...{ groups: fc.integer({ min: 1, max: 40 }), batch: fc.integer({ min: 1, max: 40 }) },
    ...{ high: fc.integer({ min: 1, max: 130 }), wide: fc.integer({ min: 1, max: 130 }) },
    ...{ taps: fc.constantFrom(3, 5, 7), stride: fc.constantFrom(1, 2) },
  })
  .map(({ groups, high, wide, taps, stride, batch }) => ({
    ...{ channels: 8 * groups, filters: 8 * groups, batch, size: [1, high, wide] as const },
    ...{ kernel: [1, taps, taps] as const, stride: [1, stride, stride] as const },
  }));

describe("rings of depthwise tiles", () => {
  it("are those of the source", () => {
    const source = readFileSync(
      new URL("../../../cuda-runtime/kernels/depthwise-hopper/depthwise-hopper.cu", import.meta.url),
      "utf8",
    );
    const entries = [...source.matchAll(/^ {2}RING\(NAME, E, ([\d, ]+?)\)/gm)].map(([, numbers]) => numbers);
    expect(entries).toEqual(
      ringRows.map(({ taps, stride, high, registers }) => [taps, stride, high, registers].join(", ")),
    );
  });

  it("are for Hopper, whole runs of 8 channels of one type, and square windows", () => {
    expect(ringsOf().length).toBeGreaterThan(0);
    const refused: Partial<DepthwiseProblem>[] = [
      { type: "float32" },
      { isPlain: false },
      { isWalkable: false },
      { size: [2, 30, 45] },
      { channels: 44, filters: 44 },
      { kernel: [1, 9, 9] },
      { stride: [1, 3, 3] },
      { dilation: [1, 2, 2] },
      { alignment: 8 },
    ];
    for (const changes of refused) expect(ringsOf(changes)).toEqual([]);
    expect(ringsOf({}, machineNamed("a100"))).toEqual([]);
  });

  it("take no image that repeats itself or runs backwards, which TMA does not go through", () => {
    const families = (strides: readonly number[], offset = 0) => {
      const draft = new PlanDraft();
      const image = draft.allocate("input", "float16", [2, 30, 45, 144]);
      const emitter = new PlanEmitter(draft, h200, false);
      const request = {
        x: permuted({ ...image, strides, offset }, [0, 3, 1, 2]),
        to: permuted(draft.allocate("output", "float16", [2, 30, 45, 144]), [0, 3, 1, 2]),
        ...{ w: draft.allocate("input", "float16", [144, 1, 3, 3]), groups: 144 },
        ...{ strides: [1, 1], dilations: [1, 1], pads: [1, 1], epilogue: plainEpilogue },
      };
      const one = [1, 1, 1] as const;
      emitDepthwise(emitter, request, { kernel: [1, 3, 3], stride: one, dilation: one, pad: [0, 1, 1] });
      return draft
        .finish()
        .steps.flatMap(({ action }) => (action.kind === "launch" ? [action.launch.kernel] : []))
        .flatMap((kernel) => (kernel.kind === "built" ? [kernel.family] : []));
    };
    const [row, plane] = [45 * 144, 30 * 45 * 144];
    expect(families([plane, row, 144, 1])).toContain("depthwise-hopper");
    expect(families([0, row, 144, 1])).not.toContain("depthwise-hopper");
    expect(families([plane, -row, 144, 1], 29 * row)).not.toContain("depthwise-hopper");
  });

  it("make all channels and all positions, in blocks that a multiprocessor has room for", () => {
    fc.assert(
      fc.property(problems, (changes) => {
        for (const { vector, diagonal, sharedBytes, wide, high } of ringsOf(changes)) {
          const { blocks = 0, stage = 0, ring } = diagonal ?? {};
          if (ring === undefined) throw new Error("no ring");
          const pieces = Math.ceil(changes.channels / vector);
          const tiles = changes.batch * Math.ceil(changes.size[1] / high) * Math.ceil(changes.size[2] / wide);
          expect(blocks % pieces).toBe(0);
          // A block that had nothing to do would wait for no tile; one of fewer stages than two would wait for each.
          expect(blocks / pieces).toBeLessThanOrEqual(tiles);
          expect(ring.stages).toBeGreaterThanOrEqual(Math.min(2, Math.ceil(tiles / (blocks / pieces))));
          expect(sharedBytes).toBeLessThanOrEqual(h200.sharedBytesPerBlock);
          expect(sharedBytes).toBeGreaterThanOrEqual(ring.stages * stage + 16 * ring.stages);
        }
      }),
      { numRuns: 60 },
    );
  });

  it("hold what every tap sees, from where a swizzle begins", () => {
    fc.assert(
      fc.property(problems, (changes) => {
        const [, taps] = changes.kernel;
        const [, stride] = changes.stride;
        for (const { diagonal, wide, high, vector, sharedBytes } of ringsOf(changes)) {
          const { stage = 0, ring } = diagonal ?? {};
          if (ring === undefined) throw new Error("no ring");
          const { across, down, rowBytes, oddBytes, shift, mask } = ring;
          // Columns that the tile's outputs see, of one parity where the stride is 2, and a place for each result.
          expect(across).toBeGreaterThanOrEqual(
            Math.min(wide, changes.size[2]) + Math.ceil((taps - 1) / stride),
          );
          expect(across).toBeGreaterThanOrEqual(wide);
          expect(down).toBe((high - 1) * stride + taps);
          expect(Math.max(across * stride, down)).toBeLessThanOrEqual(256);
          expect(rowBytes).toBe(across * vector * 2);
          expect([rowBytes % (8 * vector * 2), oddBytes % 1024, stage % 1024]).toEqual([0, 0, 0]);
          expect([mask + 1, 8 >> shift]).toEqual([vector / 8, vector / 8]);
          // What the last column of a unit sees behind the last row is within the block's memory.
          const last = (ring.stages - 1) * stage + (stride - 1) * oddBytes + (down - 1) * rowBytes;
          const seen = (wide - 1 + Math.floor((taps - 1) / stride)) * vector * 2 + vector * 2;
          expect(last + seen).toBeLessThanOrEqual(sharedBytes);
        }
      }),
      { numRuns: 60 },
    );
  });

  it("are taken where they are the fastest, and forms that are copied are not asked for beside them", () => {
    const all = depthwiseCandidates(problem, h200).map(({ launch }) => launch);
    expect(all.some(({ diagonal }) => diagonal?.ring !== undefined)).toBe(true);
    expect(all.filter(({ diagonal }) => diagonal !== undefined && diagonal.ring === undefined)).toEqual([]);
    const a100 = depthwiseCandidates({ ...problem, kernel: [1, 7, 7] }, machineNamed("a100"));
    expect(a100.some(({ launch }) => launch.diagonal !== undefined)).toBe(true);
  });
});
