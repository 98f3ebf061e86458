/** @file Resampling: every form that is launched is an entry, and blocks and accesses suit the rows. */
import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { h200, type Launch } from "../../../cuda-runtime/ir/step.ts";
import type { FloatStorage } from "../../../cuda-runtime/ir/storage.ts";
import { resampleStruct } from "../../../cuda-runtime/kernels/resample/params.table.ts";
import {
  emitResample,
  plainWeight,
  type ResampleTuning,
} from "../../../cuda-runtime/kernels/resample/resample.ts";
import { PlanDraft } from "../../../cuda-runtime/plan/buffers.ts";
import { PlanEmitter } from "../../../cuda-runtime/plan/emitter.ts";

interface Shape {
  readonly batch: number;
  readonly source: number;
  readonly target: number;
  readonly features: number;
}

function launchOf(type: FloatStorage, shape: Shape, tuning?: ResampleTuning): Launch | undefined {
  const { batch, source, target, features } = shape;
  const draft = new PlanDraft();
  const given = (own: FloatStorage, sizes: readonly number[]) => draft.allocate("input", own, sizes);
  emitResample(
    new PlanEmitter(draft, h200, false),
    {
      x: given(type, [batch, source, features]),
      y: draft.allocate("output", type, [batch, target, features]),
      times: given("float32", [batch, source]),
      targets: given("float32", [batch, target]),
      isInclusive: true,
      low: { shift: -1, least: 0, most: source - 2 },
      high: { shift: 0, least: 1, most: source - 1 },
      weight: plainWeight,
      blend: "oneProduct",
    },
    tuning,
  );
  const [step] = draft.finish().steps;
  return step?.action.kind === "launch" ? step.action.launch : undefined;
}

const source = (family: string) =>
  readFileSync(new URL(`../../../cuda-runtime/kernels/${family}/${family}.cu`, import.meta.url), "utf8");
const types = ["float32", "float16", "bfloat16"] as const;

describe("resampling", () => {
  it("launches entries that there are, with accesses as wide as rows allow", () => {
    const widths = { 1024: "w8", 24: "w8", 6: "w2", 7: "w1" };
    for (const type of types) {
      for (const [features, width] of Object.entries(widths)) {
        const launch = launchOf(type, { batch: 2, source: 9, target: 5, features: Number(features) });
        const entry = launch?.kernel.entry ?? "";
        expect(source("resample")).toContain(`RESAMPLE(${entry}, `);
        expect(entry).toMatch(new RegExp(`_${type === "float32" ? width.replace("8", "4") : width}$`));
        expect(launch?.params.bytes.length).toBe(resampleStruct.bytes);
      }
      const bulk = launchOf(type, { batch: 2, source: 9, target: 5, features: 64 }, { isBulk: true });
      expect(source("resample-bulk")).toContain(`RESAMPLE_BULK(${bulk?.kernel.entry}, `);
      const deep = launchOf(type, { batch: 2, source: 9, target: 5, features: 64 }, { isDeep: true });
      expect(source("resample")).toContain(`RESAMPLE_DEEP(${deep?.kernel.entry}, `);
      const many = launchOf(type, { batch: 32, source: 500, target: 250, features: 256 });
      expect(source("resample")).toContain(`RESAMPLE_BY_WARPS(${many?.kernel.entry}, `);
      expect(many?.grid).toEqual([1024, 1, 1]);
    }
  });

  it("has no more blocks than stay on the GPU, and cuts long rows where there are few", () => {
    const most = 4 * h200.multiprocessors;
    const many = launchOf("bfloat16", { batch: 64, source: 4096, target: 1024, features: 1024 });
    expect(many?.grid).toEqual([most, 1, 1]);
    const one = launchOf("float32", { batch: 1, source: 8, target: 1, features: 1 << 20 });
    const [blocks = 0, slices = 0] = one?.grid ?? [];
    expect(blocks).toBe(1);
    expect(slices).toBeGreaterThan(h200.multiprocessors);
    expect(launchOf("float32", { batch: 1, source: 8, target: 3, features: 4 })?.grid).toEqual([1, 1, 1]);
  });

  it("counts the rows that are asked for, not all of them", () => {
    const few = launchOf("float32", { batch: 1, source: 1000, target: 10, features: 64 });
    expect(few?.movedBytes).toBe((20 + 10) * 64 * 4 + 4 * 1010);
  });

  it("of nothing launches nothing", () => {
    expect(launchOf("float32", { batch: 2, source: 8, target: 0, features: 4 })).toBeUndefined();
  });
});
