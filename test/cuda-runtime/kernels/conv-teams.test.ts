/** @file Convolutions cut along k: of the ways that an H100 was timed at, the one that is predicted best is near the best. */
import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { DraftOperands, emitLayer, type Layer } from "../../../bench/gpu/operations.ts";
import type { ConvChoice } from "../../../cuda-runtime/kernels/conv/choose.ts";
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

/** As bench/gpu/conv-splits.ts has them: 3 × 3, padded by one. */
const layers: Readonly<
  Record<string, readonly [batch: number, channels: number, size: number, filters: number, stride: number]>
> = {
  "resnet50 stage 3": [1, 256, 14, 256, 1],
  "resnet50 stage 3 of stride 2": [1, 256, 28, 256, 2],
  "resnet50 stage 4": [1, 512, 7, 512, 1],
  "resnet50 stage 4 of stride 2": [1, 512, 14, 512, 2],
  "resnet50 stage 2": [1, 128, 28, 128, 1],
  "video_unet_48 8x8": [2, 384, 8, 384, 1],
  "video_unet_48 8x8 after a skip": [2, 768, 8, 384, 1],
  "video_unet_48 16x16 after a skip": [2, 576, 16, 192, 1],
  "densenet121 28x28": [1, 128, 28, 32, 1],
  "densenet121 14x14": [1, 128, 14, 32, 1],
  "densenet121 7x7": [1, 128, 7, 32, 1],
  "sd_unet 16x16": [2, 640, 16, 640, 1],
  "sd_unet 32x32 after a skip": [2, 960, 32, 320, 1],
  "sd_unet last": [2, 320, 32, 4, 1],
  "yolo deep, one image": [1, 256, 20, 256, 1],
};

function measuredRows(): readonly Measured[] {
  const file = new URL("../../../bench/measurements/h100-conv-splits.jsonl", import.meta.url);
  const lines = readFileSync(file, "utf8").trimEnd().split("\n");
  return lines.map((line) => JSON.parse(line) as Measured).filter(({ kind }) => kind !== "alone");
}

/** Predicted microseconds of each way of a layer. */
function predictedWays(name: string): ReadonlyMap<string, number> {
  const [batch = 0, channels = 0, size = 0, filters = 0, stride = 0] = layers[name] ?? [];
  const layer: Layer = { channels, size: [size, size], filters, taps: 3, stride, pad: 1, groups: 1 };
  const ways = new Map<string, number>();
  emitLayer(new DraftOperands(machineNamed("h100")), layer, batch, "float16", (choice: ConvChoice) => {
    const { tile, splits, copies, productMicroseconds, sumMicroseconds } = choice;
    if (!copies) ways.set(`${tile.entry}/${splits}`, productMicroseconds + sumMicroseconds);
    return true;
  });
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
    expect(ratios.length).toBe(Object.keys(layers).length);
    expect(ratios.filter(({ known }) => known < 10)).toEqual([]);
    const mean = Math.exp(ratios.reduce((sum, { ratio }) => sum + Math.log(ratio), 0) / ratios.length);
    expect(mean).toBeLessThan(1.05);
    expect(ratios.filter(({ ratio }) => ratio > 1.2)).toEqual([]);
  });
});
