/** @file Columns added up to an image. */

import type { Emitter } from "../../ir/emitter.ts";
import { ParamWriter } from "../../ir/params.ts";
import { storageTypes } from "../../ir/storage.ts";
import { elementCount, type View } from "../../ir/view.ts";
import { walkLaunch } from "../movement/launch.ts";

/** Spatial axes that the kernel takes. */
export const maxImageRank = 4;

export interface Col2ImRequest {
  /** [N, C × block, L] */
  readonly columns: View;
  /** [N, C, …image], packed row-major. */
  readonly image: View;
  readonly block: readonly number[];
  readonly dilations: readonly number[];
  readonly begins: readonly number[];
  readonly strides: readonly number[];
  /** Places of the block along each axis; L is their product. */
  readonly windows: readonly number[];
}

export function emitCol2Im(emitter: Emitter, request: Col2ImRequest): void {
  const { columns, image, block } = request;
  const count = elementCount(image.shape);
  if (count === 0) return;
  const sizes = image.shape.slice(2);
  // Axes that are not there come first, of size 1.
  const filled = (values: readonly number[], fill: number) => [
    ...new Array<number>(maxImageRank - values.length).fill(fill),
    ...values,
  ];
  const params = new ParamWriter()
    .pointer(columns)
    .pointer(image)
    .i32(count, sizes.length, image.shape[1] ?? 1, elementCount(block), ...columns.strides)
    .i32(...filled(sizes, 1), ...filled(block, 1), ...filled(request.windows, 1))
    .i32(...filled(request.dilations, 1), ...filled(request.begins, 0), ...filled(request.strides, 1))
    .i32(storageTypes[columns.type].code, storageTypes[image.type].code);
  emitter.launch(
    walkLaunch({ entry: "col2im", count, params, reads: [columns], writes: [image], family: "resize" }),
  );
}
