/** @file Launches of distances between the rows of two matrices. */

import type { Emitter } from "../../ir/emitter.ts";
import { writeParams } from "../../ir/param-table.ts";
import { storageTypes } from "../../ir/storage.ts";
import type { View } from "../../ir/view.ts";
import { distanceStruct } from "./params.table.ts";

const threads = 256;

export interface DistanceRequest {
  /** [rows, width] */
  readonly a: View;
  /** [columns, width] */
  readonly b: View;
  /** [rows, columns] */
  readonly output: View;
  readonly isSquared: boolean;
}

export function emitDistance(emitter: Emitter, { a, b, output, isSquared }: DistanceRequest): void {
  const [rows = 0, columns = 0] = output.shape;
  if (rows * columns === 0) return;
  emitter.launch({
    kernel: {
      kind: "built",
      family: "distance",
      entry: a.type === "float64" ? "distance_f64" : "distance_f32",
    },
    grid: [Math.ceil((rows * columns) / threads), 1, 1],
    block: [threads, 1, 1],
    sharedBytes: 0,
    params: writeParams(distanceStruct, {
      a,
      b,
      y: output,
      rows,
      columns,
      width: a.shape[1] ?? 0,
      rowStrideA: a.strides[0] ?? 0,
      strideA: a.strides[1] ?? 0,
      rowStrideB: b.strides[0] ?? 0,
      strideB: b.strides[1] ?? 0,
      rowStrideY: output.strides[0] ?? 0,
      columnStrideY: output.strides[1] ?? 0,
      isSquared,
      aType: storageTypes[a.type].code,
      bType: storageTypes[b.type].code,
      yType: storageTypes[output.type].code,
    }),
    reads: [a, b],
    writes: [output],
    detail: `${rows}x${columns}x${a.shape[1] ?? 0}`,
  });
}
