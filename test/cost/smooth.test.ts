/** @file A pass over one row more takes about one row more, also where the rows before were a round number. */
import { expect, test } from "vitest";
import { createCostModel } from "../../src/cost/model.ts";
import type { TrafficWork } from "../../src/ops/work.ts";
import { elementwise, targetOf } from "./targets.ts";

const patterns = ["elementwise", "normalization", "reduction", "copy"] as const;
const stacks = ["ort-cuda", "tensorrt", "inductor"] as const;

function passOf(pattern: TrafficWork<number>["pattern"], rows: number, columns: number): TrafficWork<number> {
  const bytes = 2 * rows * columns;
  return { ...elementwise(1), pattern, rows, columns, bytesRead: bytes, bytesWritten: bytes };
}

/** Samples of 197 tokens, images, and powers of two, each between its neighbours. */
const neighbours = [
  [511, 512, 513],
  [1023, 1024, 1025],
  [6107, 6304, 6501],
  [12_411, 12_608, 12_805],
] as const;

test.each(stacks)("on %s", (stack) => {
  const [cost, target] = [createCostModel(), targetOf("h200", stack)];
  const us = (...of: Parameters<typeof passOf>) => cost.estimate(passOf(...of), target).microseconds;
  const rough = patterns.flatMap((pattern) =>
    [192, 768, 1001].flatMap((columns) =>
      neighbours.flatMap(([below, round, above]) => {
        const between = (us(pattern, below, columns) + us(pattern, above, columns)) / 2;
        const ratio = us(pattern, round, columns) / between;
        return ratio > 0.9 && ratio < 1.1 ? [] : [`${pattern} ${round}x${columns}: ${ratio.toFixed(3)}`];
      }),
    ),
  );
  expect(rough).toEqual([]);
});
