/** @file Means of columns in one launch, held to what every way was measured to take: an H100, 2026-11-27, bench/gpu/column-means.ts. */
import { describe, expect, it } from "vitest";
import { type MeanShape, requestOf, shapes } from "../../../bench/gpu/mean-work.ts";
import { shapeOf } from "../../../cuda-runtime/kernels/reduce/reduce.ts";
import { slabsOf, slabWays } from "../../../cuda-runtime/kernels/reduce/slabs.ts";
import { DraftOperands } from "../../../cuda-runtime/plan/draft-operands.ts";
import { machineNamed } from "../../../src/hardware/machine.ts";
import { groupBy } from "../../../src/ir/group.ts";
import { minOf } from "../../../src/ir/lists.ts";
import { meanOf, measuredRows, microsecondsOf, type TimedWay } from "./measured-ways.ts";

interface MeasuredWay extends TimedWay {
  readonly batch: number;
  readonly columns: number;
  readonly rows: number;
  readonly lanes: number;
  readonly team: number;
}

const h100 = machineNamed("h100");
const measured = groupBy(measuredRows<MeasuredWay>("h100-column-means.jsonl"), ({ batch, columns, rows }) =>
  [batch, columns, rows].join("x"),
);

function judgedOf(shape: MeanShape) {
  const request = requestOf(new DraftOperands(h100), shape);
  const ways = slabWays(request, shapeOf(request), h100);
  const timed = measured.get(shape.join("x")) ?? [];
  const taken = slabsOf(request, shapeOf(request), h100);
  const isTaken = ({ lanes, team }: MeasuredWay) => lanes === taken?.lanes && team === taken.team;
  const off = ways.flatMap(({ lanes, team, microseconds }) => {
    const row = timed.find((each) => each.lanes === lanes && each.team === team);
    return row === undefined ? [] : [Math.abs(Math.log(microseconds / microsecondsOf(row)))];
  });
  return { taken: timed.filter(isTaken).map(microsecondsOf), best: minOf(timed.map(microsecondsOf)), off };
}

describe("of means of columns in one launch", () => {
  it("ways are predicted within 6 % in the mean", () => {
    const off = shapes.flatMap((shape) => judgedOf(shape).off);
    expect(off.length).toBeGreaterThan(350);
    expect(meanOf(off)).toBeLessThan(0.06);
  });

  it.each(shapes.map((shape) => [shape.join("x"), shape] as const))(
    "%s takes one near the best",
    (_, shape) => {
      const { taken, best } = judgedOf(shape);
      expect(taken).toHaveLength(1);
      expect((taken[0] ?? Infinity) / best).toBeLessThan(1.04);
    },
  );
});
