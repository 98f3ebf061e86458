/** @file Convolutions cut along k: of the ways that an H100 was timed at, the one that is predicted best is near the best. */
import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { deepLayers, layerOf } from "../../../bench/gpu/deep-layers.ts";
import { emitLayer } from "../../../bench/gpu/operations.ts";
import type { ConvChoice } from "../../../cuda-runtime/kernels/conv/choose.ts";
import { DraftOperands } from "../../../cuda-runtime/plan/draft-operands.ts";
import { machineNamed } from "../../../src/hardware/machine.ts";
import { groupBy } from "../../../src/ir/group.ts";
import { minOf } from "../../../src/ir/lists.ts";

interface Measured {
  readonly layer: string;
  readonly entry: string;
  readonly splits: number;
  readonly kind: "whole" | "apart" | "cluster" | "alone";
  readonly us: number;
}

function measuredRows(): readonly Measured[] {
  const file = new URL("../../../bench/measurements/h100-conv-splits.jsonl", import.meta.url);
  const lines = readFileSync(file, "utf8").trimEnd().split("\n");
  return lines.map((line) => JSON.parse(line) as Measured).filter(({ kind }) => kind !== "alone");
}

/** Predicted microseconds of each way of a layer. */
function predictedWays(name: string): ReadonlyMap<string, number> {
  const found = deepLayers.find(({ from }) => from === name);
  if (found === undefined) throw new Error(`no layer '${name}'`);
  const ways = new Map<string, number>();
  emitLayer(
    new DraftOperands(machineNamed("h100")),
    layerOf(found),
    found.batch,
    "float16",
    (choice: ConvChoice) => {
      const { tile, splits, copies, productMicroseconds, sumMicroseconds } = choice;
      if (!copies) ways.set(`${tile.entry}/${splits}`, productMicroseconds + sumMicroseconds);
      return true;
    },
  );
  return ways;
}

describe("convolutions that were timed whole, in two launches and as clusters", () => {
  const ratios = [...groupBy(measuredRows(), ({ layer }) => layer)].map(([layer, rows]) => {
    const ways = predictedWays(layer);
    const known = rows.flatMap(({ entry, splits, us }) => {
      const predicted = ways.get(`${entry}/${splits}`);
      return predicted === undefined ? [] : [{ us, predicted }];
    });
    const least = minOf(known.map(({ predicted }) => predicted));
    const chosen = known.find(({ predicted }) => predicted === least);
    return { layer, known: known.length, ratio: (chosen?.us ?? 0) / minOf(known.map(({ us }) => us)) };
  });

  it("are computed in a way that is near the best", () => {
    expect(ratios.length).toBe(deepLayers.length);
    expect(ratios.filter(({ known }) => known < 10)).toEqual([]);
    const mean = Math.exp(ratios.reduce((sum, { ratio }) => sum + Math.log(ratio), 0) / ratios.length);
    expect(mean).toBeLessThan(1.05);
    expect(ratios.filter(({ ratio }) => ratio > 1.2)).toEqual([]);
  });
});
