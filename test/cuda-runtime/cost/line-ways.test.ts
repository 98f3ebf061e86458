/**
 * @file Products whose rows are off lines of the L2 cache, held to what Hopper's tiles and thin ones were measured to take: operands of every pitch,
 * results off 16 bytes (an H100, 2026-11-27, bench/gpu/gemm.ts --sweep --kind hopper|thin).
 */
import { describe, expect, it } from "vitest";
import { emitProduct } from "../../../bench/gpu/operations.ts";
import type { Choice } from "../../../cuda-runtime/kernels/gemm/choose.ts";
import { DraftOperands } from "../../../cuda-runtime/plan/draft-operands.ts";
import { machineNamed } from "../../../src/hardware/machine.ts";
import { groupBy } from "../../../src/ir/group.ts";
import { minOf } from "../../../src/ir/lists.ts";
import { meanOf, measuredRows } from "./measured-ways.ts";

interface MeasuredTile {
  readonly size: string;
  readonly pitches: readonly [x: number, w: number];
  readonly kernel: string;
  readonly packs: string;
  readonly us: number;
}

const h100 = machineNamed("h100");
const rows = measuredRows<MeasuredTile>("h100-gemm-lines.jsonl").filter(({ size }) => size !== undefined);
const measured = groupBy(rows, ({ size, pitches }) => `${size} ${pitches.join("/")}`);

/** Of the tile as it was timed: its way of packing, unsplit. */
function predicted({ size, pitches: [x, w], kernel, packs }: MeasuredTile): number {
  const [M = 0, N = 0, K = 0] = size.split("x").map(Number);
  let microseconds = Number.NaN;
  const accepts = ({ row, splits, isSwapped, packA, packB }: Choice, each: number): boolean => {
    const isStaying = (row.kind === "hopper" && row.team === "none") || row.kind === "thin";
    if (!isStaying || row.tile !== kernel || splits > 1 || isSwapped) return false;
    if (packA !== packs.includes("A") || packB !== packs.includes("B")) return false;
    microseconds = each;
    return true;
  };
  emitProduct(new DraftOperands(h100), { M, N, K }, "float16", accepts, "plain", { x, w });
  return microseconds;
}

function judged(tiles: readonly MeasuredTile[]) {
  const ways = tiles.map((tile) => ({ us: tile.us, predicted: predicted(tile) }));
  const least = minOf(ways.map((way) => way.predicted));
  const taken = ways.find((way) => way.predicted === least)?.us ?? Number.NaN;
  const best = minOf(ways.map(({ us }) => us));
  const near = ways.filter(({ us }) => us < 1.25 * best);
  return {
    loss: taken / best - 1,
    off: near.map((way) => Math.abs(Math.log(way.predicted / way.us))),
  };
}

describe("of products with rows off whole lines", () => {
  const all = [...measured.values()].map(judged);

  it("tiles within a quarter of the best are predicted within 12 % in the mean", () => {
    const off = all.flatMap((each) => each.off);
    expect(off.length).toBeGreaterThan(200);
    expect(meanOf(off)).toBeLessThan(0.12);
  });

  it("what is taken is 4 % behind the best in the mean", () => {
    expect(meanOf(all.map(({ loss }) => loss))).toBeLessThan(0.04);
  });

  it.each([
    [4104, 1.72],
    [4112, 1.21],
    [4128, 1.03],
  ])("4096x4096x%i takes as much more than 4,096 as was measured, within 15 %", (k, ratio) => {
    const of = (K: number) =>
      predicted({ size: `4096x4096x${K}`, pitches: [8, 8], kernel: "h128x256x64", packs: "", us: 0 });
    expect(Math.abs(Math.log(of(k) / of(4096) / ratio))).toBeLessThan(0.15);
  });
});
