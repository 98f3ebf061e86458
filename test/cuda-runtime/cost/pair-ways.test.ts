/** @file Two products in one launch, held to what every way and two launches were measured to take: an H100, 2026-11-27, bench/gpu/pair.ts. */
import { describe, expect, it } from "vitest";
import {
  apartMicroseconds,
  nameOf,
  type PairShape,
  pairOf,
  requestsOf,
  shapes,
  sizeOf,
} from "../../../bench/gpu/pair-work.ts";
import { pairWays } from "../../../cuda-runtime/kernels/gemm-pair/pair.ts";
import { DraftOperands } from "../../../cuda-runtime/plan/draft-operands.ts";
import { machineNamed } from "../../../src/hardware/machine.ts";
import { groupBy } from "../../../src/ir/group.ts";
import { minOf } from "../../../src/ir/lists.ts";
import { meanOf, measuredRows, microsecondsOf, type TimedWay } from "./measured-ways.ts";

interface MeasuredWay extends TimedWay {
  readonly size: string;
  readonly way: string;
}

const h100 = machineNamed("h100");
const apartName = "two launches";
const measured = groupBy(measuredRows<MeasuredWay>("h100-pairs-of-products.jsonl"), ({ size }) => size);

function judgedOf(shape: PairShape) {
  const draft = new DraftOperands(h100);
  const ways = pairWays(pairOf(requestsOf(draft, shape), shape.isKept), h100);
  const predicted = new Map(ways.map((way) => [nameOf(way), way.microseconds]));
  predicted.set(apartName, apartMicroseconds(shape, h100));
  const rows = (measured.get(sizeOf(shape)) ?? []).flatMap((row) => {
    const expected = predicted.get(row.way);
    return expected === undefined ? [] : [{ ...row, took: microsecondsOf(row), expected }];
  });
  const least = minOf(rows.map(({ expected }) => expected));
  const apart = rows.find(({ way }) => way === apartName);
  const taken = rows.find(({ expected }) => expected === least);
  return { name: sizeOf(shape), rows, apart, taken, best: minOf(rows.map(({ took }) => took)) };
}

describe("of two products one behind another", () => {
  const judged = shapes.map(judgedOf).filter(({ rows }) => rows.length > 1);

  it("ways are predicted within 6 % in the mean", () => {
    const off = judged.flatMap(({ rows }) =>
      rows
        .filter(({ way }) => way !== apartName)
        .map(({ took, expected }) => Math.abs(Math.log(expected / took))),
    );
    expect(off.length).toBeGreaterThan(150);
    expect(meanOf(off)).toBeLessThan(0.06);
  });

  it("what is taken takes 2 % more than the best in the mean", () => {
    const losses = judged.map(({ taken, best }) => (taken?.took ?? Infinity) / best - 1);
    expect(meanOf(losses)).toBeLessThan(0.025);
  });

  it.each(judged.map((each) => [each.name, each] as const))("what is taken of %s loses little", (_, each) => {
    const { taken, apart, best } = each;
    expect((taken?.took ?? Infinity) / best, taken?.way).toBeLessThan(1.12);
    // One launch is taken where it is none the slower.
    expect((taken?.took ?? Infinity) / (apart?.took ?? 0), taken?.way).toBeLessThan(1.02);
  });
});
