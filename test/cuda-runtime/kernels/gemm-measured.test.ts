/** @file Products that were timed by several kernels: predictions are near, and of the kernels timed the best predicted is near the best. */
import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { emitProduct, type ProductEnd } from "../../../bench/gpu/operations.ts";
import type { Candidate } from "../../../cuda-runtime/cost/candidate.ts";
import type { Choice } from "../../../cuda-runtime/kernels/gemm/choose.ts";
import { sumsInTeam } from "../../../cuda-runtime/kernels/gemm/table.ts";
import { DraftOperands } from "../../../cuda-runtime/plan/draft-operands.ts";
import { machineNamed } from "../../../src/hardware/machine.ts";
import { groupBy } from "../../../src/ir/group.ts";
import { minOf } from "../../../src/ir/lists.ts";

interface Timed {
  readonly size: string;
  readonly kernel: string;
  readonly splits: number | null;
  readonly swapped: boolean;
  readonly us: number;
}

/** What a choice may lose to the best that was timed, and how far a prediction may be off (of logarithms). */
const [mostLost, mostOff] = [1.05, 0.16];
/** The same of kernels that were timed with another end of their tiles than they have now. */
const mostOffBefore = 0.25;

function timedIn<Row extends Timed>(name: string): readonly Row[] {
  const file = new URL(`../../../bench/measurements/${name}`, import.meta.url);
  const [, ...lines] = readFileSync(file, "utf8").trimEnd().split("\n");
  return lines.map((line) => JSON.parse(line) as Row);
}

function candidatesOf(size: string, gpu: string, end?: ProductEnd): readonly Candidate<Choice>[] {
  const [M = 0, N = 0, K = 0] = size.split("x").map(Number);
  const found: Candidate<Choice>[] = [];
  const accepts = (launch: Choice, microseconds: number): boolean => {
    found.push({ launch, microseconds });
    return true;
  };
  emitProduct(new DraftOperands(machineNamed(gpu)), { M, N, K }, "float16", accepts, end);
  return found;
}

function isTimed({ row, splits, isSwapped }: Choice, timed: Timed): boolean {
  if (timed.kernel === "no cluster") return !sumsInTeam(row);
  const isSplit = timed.splits === null || timed.splits === splits;
  return "tile" in row && row.tile === timed.kernel && isSwapped === timed.swapped && isSplit;
}

function predictedOf(candidates: readonly Candidate<Choice>[], timed: Timed): number {
  return minOf(
    candidates.filter(({ launch }) => isTimed(launch, timed)).map(({ microseconds }) => microseconds),
  );
}

describe("on an H100", () => {
  it.each([...groupBy(timedIn("h100-gemm-notes.jsonl"), ({ size }) => size)])("%s", (size, rows) => {
    const candidates = candidatesOf(size, "h100");
    const known = rows.map((timed) => ({ ...timed, predicted: predictedOf(candidates, timed) }));
    for (const { kernel, us, predicted } of known)
      expect(Math.abs(Math.log(predicted / us)), kernel).toBeLessThan(
        kernel.startsWith("s") ? mostOff : mostOffBefore,
      );
    const least = minOf(known.map(({ predicted }) => predicted));
    const taken = known.find(({ predicted }) => predicted === least);
    expect((taken?.us ?? 0) / minOf(known.map(({ us }) => us)), taken?.kernel).toBeLessThan(mostLost);
    // What nobody timed may be taken, where it is predicted to take no more than a twentieth less than the best that was.
    const best = minOf(candidates.map(({ microseconds }) => microseconds));
    if (rows.length > 1) expect(least / best).toBeLessThan(mostLost);
  });
});

describe("with a formula, with a residual, and with nothing, on an H100", () => {
  type Ended = Timed & { readonly end: ProductEnd };
  const judgedOf = (file: string) =>
    [...groupBy(timedIn<Ended>(file), ({ size, end }) => `${size} ${end}`)].map(([name, rows]) => {
      const [size = "", end] = name.split(" ");
      const candidates = candidatesOf(size, "h100", end as ProductEnd);
      const known = rows.map((timed) => ({ ...timed, predicted: predictedOf(candidates, timed) }));
      const best = minOf(known.map(({ us }) => us));
      const least = minOf(known.map(({ predicted }) => predicted));
      const taken = known.find(({ predicted }) => predicted === least);
      const near = known.filter(({ us }) => us < 1.15 * best);
      const off = near.map(({ us, predicted }) => Math.abs(Math.log(predicted / us)));
      return { name, taken: taken?.kernel, loss: (taken?.us ?? 0) / best, off };
    });
  const judged = judgedOf("h100-gemm-ends.jsonl");

  it("tiles of widths that differ in waves are taken where they are near the best", () => {
    const widths = judgedOf("h100-gemm-widths.jsonl");
    const mean = widths.reduce((total, { loss }) => total + loss, 0) / widths.length;
    expect(widths.length).toBe(18);
    expect(mean).toBeLessThan(1.02);
    expect(Math.max(...widths.map(({ loss }) => loss))).toBeLessThan(1.1);
    expect(widths.filter(({ taken }) => taken === "h128x224x64").length).toBeGreaterThan(8);
  });

  it("the kernel that is taken takes 4 % more than the best in the mean, and a seventh nine times of ten", () => {
    const mean = judged.reduce((total, { loss }) => total + loss, 0) / judged.length;
    expect(judged.length).toBeGreaterThan(90);
    expect(mean).toBeLessThan(1.045);
    expect(judged.filter(({ loss }) => loss > 1.15).length).toBeLessThan(judged.length / 10);
  });

  it("kernels near the best are predicted within 8 % in the median, and within a fifth nine times of ten", () => {
    const off = judged.flatMap((each) => each.off).toSorted((a, b) => a - b);
    expect(off[Math.floor(off.length / 2)]).toBeLessThan(0.08);
    expect(off[Math.floor(0.9 * off.length)]).toBeLessThan(0.2);
  });
});

describe("on an H200", () => {
  interface Row {
    readonly M: number;
    readonly N: number;
    readonly K: number;
    readonly us: number;
    readonly kernel: string;
  }

  it("what was timed is predicted, whatever would be taken now", () => {
    const file = new URL("../../../bench/results/gpu-gemm.json", import.meta.url);
    const { rows }: { readonly rows: readonly Row[] } = JSON.parse(readFileSync(file, "utf8"));
    const off = rows.flatMap(({ M, N, K, us, kernel }) => {
      if (N % 8 !== 0 || K % 8 !== 0 || !/, [hst]\d/.test(kernel)) return [];
      const [, tile = ""] = kernel.split(", ");
      const splits = Number(/split (\d+)/.exec(kernel)?.[1] ?? 1);
      const timed = { size: "", kernel: tile, splits, swapped: kernel.includes("swapped"), us };
      return [Math.abs(Math.log(predictedOf(candidatesOf([M, N, K].join("x"), "h200"), timed) / us))];
    });
    const sorted = off.toSorted((a, b) => a - b);
    expect(sorted.length).toBeGreaterThan(25);
    // Rates are of tiles whose ends took longer (staying-cost.ts).
    expect(sorted[Math.floor(sorted.length / 2)]).toBeLessThan(0.12);
    expect(sorted[Math.floor(0.9 * sorted.length)]).toBeLessThan(0.21);
  });
});
