/** @file Columns added up to an image. */

import type { Emitter } from "../../ir/emitter.ts";
import { writeParams } from "../../ir/param-table.ts";
import { storageTypes } from "../../ir/storage.ts";
import { elementCount, type View } from "../../ir/view.ts";
import { walkLaunch } from "../movement/launch.ts";
import { col2ImStruct } from "./params.table.ts";

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
  const params = writeParams(col2ImStruct, {
    columns,
    image,
    count,
    rank: sizes.length,
    channels: image.shape[1] ?? 1,
    area: elementCount(block),
    columnStrides: columns.strides,
    imageSizes: filled(sizes, 1),
    blockSizes: filled(block, 1),
    windows: filled(request.windows, 1),
    dilations: filled(request.dilations, 1),
    begins: filled(request.begins, 0),
    strides: filled(request.strides, 1),
    columnsType: storageTypes[columns.type].code,
    imageType: storageTypes[image.type].code,
  });
  emitter.launch(
    walkLaunch({ entry: "col2im", count, params, reads: [columns], writes: [image], family: "resize" }),
  );
}
