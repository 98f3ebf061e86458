import { describe, expect, it } from "vitest";
import { h200 } from "../../../cuda-runtime/ir/step.ts";
import {
  emitLadderConv,
  isChannelsLast,
  type LadderConvRung,
} from "../../../cuda-runtime/kernels/ladder/conv.ts";
import { PlanDraft } from "../../../cuda-runtime/plan/buffers.ts";
import { PlanEmitter } from "../../../cuda-runtime/plan/emitter.ts";
import { convElement } from "../../../src/gpu/ladder/conv.ts";

function launchOf(rung: LadderConvRung, channels: number, filters: number, width = 24) {
  const draft = new PlanDraft();
  const emitter = new PlanEmitter(draft, h200, false);
  const shape = (first: number, depth: number, height: number, across: number) =>
    isChannelsLast(rung) ? [first, height, across, depth] : [first, depth, height, across];
  const x = draft.allocate("input", "float16", shape(2, channels, 20, width));
  const w = draft.allocate("input", "float16", shape(filters, channels, 3, 3));
  const y = draft.allocate("output", "float16", shape(2, filters, 20, width));
  emitLadderConv(emitter, { x, w, y }, rung);
  const [step] = draft.finish().steps;
  if (step?.action.kind !== "launch") throw new Error("no launch");
  return step.action.launch;
}

describe("a ladder's convolutions", () => {
  it("cover every pixel and every filter", () => {
    expect(launchOf("direct", 8, 16).grid).toEqual([2, 16, 2]);
    // Ten rows of 24 pixels are a block.
    expect(launchOf("shared", 8, 16).grid).toEqual([2, 16, 2]);
    expect(launchOf("outputs", 8, 16).grid).toEqual([2, 2, 2]);
    expect(launchOf("last", 16, 16).grid).toEqual([2, 2, 2]);
    expect(launchOf("tensor", 64, 128).grid).toEqual([15, 2, 1]);
  });

  it("refuse sizes that they would compute wrongly", () => {
    expect(() => launchOf("shared", 12, 16)).toThrow("12 channels, no multiple of 8");
    expect(() => launchOf("outputs", 8, 12)).toThrow("12 filters, no multiple of 8");
    expect(() => launchOf("vectors", 8, 8, 20)).toThrow("20 pixels of a row, no multiple of 8");
    expect(() => launchOf("shared", 8, 8, 257)).toThrow("rows of 257 pixels");
    expect(launchOf("direct", 3, 5, 300).grid).toEqual([24, 5, 2]);
  });

  it("are checked against the same element in both layouts", () => {
    const size = { batch: 2, channels: 3, filters: 4, side: 5 };
    const value = (n: number, c: number, pixel: number) => Math.sin(n * 7 + c * 3 + pixel);
    const pixels = size.side * size.side;
    const first = {
      at: (i: number) => value(Math.floor(i / pixels / 3), Math.floor(i / pixels) % 3, i % pixels),
    };
    const last = { at: (i: number) => value(Math.floor(i / 3 / pixels), i % 3, Math.floor(i / 3) % pixels) };
    const w = { at: (i: number) => Math.cos(i) };
    const inFirst = convElement(size, false, first, w);
    const inLast = convElement(size, true, last, w);
    for (let n = 0; n < 2; n++)
      for (let k = 0; k < 4; k++)
        for (let pixel = 0; pixel < pixels; pixel++)
          expect(inLast((n * pixels + pixel) * 4 + k)).toBeCloseTo(inFirst((n * 4 + k) * pixels + pixel), 12);
    // A corner: four taps are there.
    let sum = 0;
    for (const [tap, pixel] of [
      [4, 0],
      [5, 1],
      [7, 5],
      [8, 6],
    ] as const)
      for (let c = 0; c < 3; c++) sum += value(0, c, pixel) * Math.cos(c * 9 + tap);
    expect(inFirst(0)).toBeCloseTo(sum, 12);
  });
});
