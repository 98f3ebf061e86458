/** @file Launches of distances between the rows of two matrices. */

import type { Emitter } from "../../ir/emitter.ts";
import { ParamWriter } from "../../ir/params.ts";
import { storageTypes } from "../../ir/storage.ts";
import type { View } from "../../ir/view.ts";

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
    params: new ParamWriter()
      .pointer(a)
      .pointer(b)
      .pointer(output)
      .i32(rows, columns, a.shape[1] ?? 0)
      .i32(a.strides[0] ?? 0, a.strides[1] ?? 0, b.strides[0] ?? 0, b.strides[1] ?? 0)
      .i32(output.strides[0] ?? 0, output.strides[1] ?? 0, isSquared ? 1 : 0)
      .i32(storageTypes[a.type].code, storageTypes[b.type].code, storageTypes[output.type].code)
      .done(),
    reads: [a, b],
    writes: [output],
    detail: `${rows}x${columns}x${a.shape[1] ?? 0}`,
  });
}
