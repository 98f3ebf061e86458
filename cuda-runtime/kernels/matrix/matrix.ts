/** @file Launches of determinants and inverses of square matrices. */

import type { Emitter } from "../../ir/emitter.ts";
import { writeParams } from "../../ir/param-table.ts";
import { storageTypes } from "../../ir/storage.ts";
import type { View } from "../../ir/view.ts";
import { checkRank, mergedAxes, productOf, sizesOf, stridesAt } from "../reduce/axes.ts";
import { matrixStruct } from "./params.table.ts";

const threads = 256;

export interface MatrixRequest {
  readonly kind: "determinant" | "inverse";
  /** […, n, n] */
  readonly input: View;
  /** The same shape for an inverse, without the last two axes for a determinant. */
  readonly output: View;
}

export function emitMatrix(emitter: Emitter, { kind, input, output }: MatrixRequest): void {
  const rank = input.shape.length;
  const size = input.shape[rank - 1] ?? 1;
  const axes = input.shape.slice(0, -2).map((extent, at) => ({
    size: extent,
    strides: [input.strides[at] ?? 0, output.strides[at] ?? 0],
  }));
  const outer = mergedAxes(axes);
  checkRank(outer);
  const matrices = productOf(outer);
  if (matrices === 0 || (size === 0 && kind === "inverse")) return;
  const isDouble = input.type === "float64";
  const work = emitter.temporary(isDouble ? "float64" : "float32", [
    matrices,
    size,
    kind === "inverse" ? 2 * size : size,
  ]);
  const stride = (view: View, axis: number) => view.strides[axis] ?? 0;
  emitter.launch({
    kernel: { kind: "built", family: "matrix", entry: `${kind}_${isDouble ? "f64" : "f32"}` },
    grid: [matrices, 1, 1],
    block: [threads, 1, 1],
    sharedBytes: 0,
    params: writeParams(matrixStruct, {
      x: input,
      work,
      y: output,
      outerRank: outer.length,
      outerSizes: sizesOf(outer),
      outerStridesX: stridesAt(outer, 0),
      outerStridesY: stridesAt(outer, 1),
      size,
      rowStrideX: stride(input, rank - 2),
      columnStrideX: stride(input, rank - 1),
      rowStrideY: kind === "inverse" ? stride(output, rank - 2) : 0,
      columnStrideY: kind === "inverse" ? stride(output, rank - 1) : 0,
      xType: storageTypes[input.type].code,
      yType: storageTypes[output.type].code,
    }),
    reads: [input],
    writes: [work, output],
    detail: `${matrices}x${size}x${size}`,
  });
}
