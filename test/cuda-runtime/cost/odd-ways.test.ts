/**
 * @file Convolutions of channels and filters off 8, held to what every tile that TMA feeds was measured to take, with the copy that they need (an H100,
 * 2026-11-27, bench/gpu/conv.ts --sweep --family conv-tma).
 */
import { describe, expect, it } from "vitest";
import { emitLayer } from "../../../bench/gpu/operations.ts";
import { aloneMicroseconds } from "../../../cuda-runtime/cost/predict.ts";
import type { Action } from "../../../cuda-runtime/ir/step.ts";
import { DraftOperands } from "../../../cuda-runtime/plan/draft-operands.ts";
import { machineNamed } from "../../../src/hardware/machine.ts";
import { groupBy } from "../../../src/ir/group.ts";
import { minOf } from "../../../src/ir/lists.ts";
import { meanOf, measuredRows } from "./measured-ways.ts";

interface MeasuredTile {
  readonly size: string;
  readonly kernel: string;
  readonly us: number;
}

const h100 = machineNamed("h100");
const rows = measuredRows<MeasuredTile>("h100-conv-odd.jsonl").filter(({ size }) => size !== undefined);
const measured = groupBy(rows, ({ size }) => size);

/** Of all launches; what only constants are read by is packed once. */
function predicted({ size, kernel }: MeasuredTile): number {
  const [batch = 0, channels = 0, side = 0, filters = 0, taps = 0] = size.split("x").map(Number);
  const layer = { channels, size: [side, side], filters, taps, stride: 1, pad: 1, groups: 1 };
  const operands = new DraftOperands(h100);
  emitLayer(operands, layer, batch, "float16", ({ tile }) => tile.entry === kernel);
  return operands.actions().reduce((sum: number, action: Action) => sum + aloneMicroseconds(action, h100), 0);
}

function judged(tiles: readonly MeasuredTile[]) {
  const ways = tiles.map((tile) => ({ us: tile.us, predicted: predicted(tile) }));
  const least = minOf(ways.map((way) => way.predicted));
  const best = minOf(ways.map(({ us }) => us));
  return (ways.find((way) => way.predicted === least)?.us ?? Number.NaN) / best;
}

describe("of convolutions off 8 channels and filters", () => {
  const all = [...measured].map(([size, tiles]) => ({ size, ratio: judged(tiles) }));

  it("what is taken is 3 % behind the best tile in the mean, and 15 % at most", () => {
    expect(all).toHaveLength(12);
    expect(meanOf(all.map(({ ratio }) => ratio))).toBeLessThan(1.03);
    expect(all.filter(({ ratio }) => ratio > 1.15)).toEqual([]);
  });
});
