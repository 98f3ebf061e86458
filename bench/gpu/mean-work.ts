/** @file Means over images of innermost channels: what column-means.ts times, and tests predict. */
import type { View } from "../../cuda-runtime/ir/view.ts";
import type { ReduceRequest } from "../../cuda-runtime/kernels/reduce/reduce.ts";
import type { Operands } from "./operations.ts";

/** Batch, channels, positions. */
export type MeanShape = readonly [number, number, number];

export const shapes: readonly MeanShape[] = [
  ...(
    [
      [32, 12_544],
      [96, 3136],
      [144, 3136],
      [144, 784],
      [240, 784],
      [104, 784],
      [240, 196],
      [480, 196],
      [672, 196],
      [208, 196],
      [672, 49],
      [1152, 49],
      [2048, 49],
      [16, 3136],
      [72, 784],
      [512, 64],
    ] as const
  ).map(([channels, positions]): MeanShape => [1, channels, positions]),
  ...(
    [
      [144, 3136],
      [240, 784],
      [480, 196],
      [1152, 49],
      [2048, 49],
    ] as const
  ).flatMap(([channels, positions]): MeanShape[] => [
    [8, channels, positions],
    [32, channels, positions],
  ]),
];

export function requestOf(set: Operands, [batch, channels, positions]: MeanShape): ReduceRequest {
  const rows = set.tensor("input", "float16", [batch, positions, channels], 1);
  const x: View = {
    ...rows,
    shape: [batch, channels, positions],
    strides: [positions * channels, 1, channels],
  };
  return {
    ...{ pre: "none", combine: "sum", post: "none", divisor: positions, integersAs: "integer" },
    ...{ input: x, axes: new Set([2]), output: set.output("float16", [batch, channels, 1]) },
  };
}
