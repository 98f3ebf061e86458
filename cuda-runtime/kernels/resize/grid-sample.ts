/** @file An image sampled at a grid of coordinates. */

import type { Emitter } from "../../ir/emitter.ts";
import { writeParams } from "../../ir/param-table.ts";
import { storageTypes } from "../../ir/storage.ts";
import { elementCount, type View } from "../../ir/view.ts";
import { walkFields, walkLaunch } from "../movement/launch.ts";
import { type WalkAxis, walkOver } from "../movement/walk.ts";
import { gridSampleStruct } from "./params.table.ts";

/** Codes are `SampleMode` and `PaddingMode` in resize.cu. */
const sampleModes = { nearest: 0, linear: 1, cubic: 2 } as const;
const samplePaddings = { zeros: 0, border: 1, reflection: 2 } as const;

export interface GridSampleRequest {
  /** [N, C, H, W] or [N, C, D, H, W], of a float storage type. */
  readonly x: View;
  /** [N, …out, 2 or 3], coordinates in [-1, 1], the innermost axis' first. */
  readonly grid: View;
  /** [N, C, …out] */
  readonly y: View;
  readonly mode: keyof typeof sampleModes;
  readonly padding: keyof typeof samplePaddings;
  readonly alignCorners: boolean;
}

export function emitGridSample(emitter: Emitter, request: GridSampleRequest): void {
  const { x, grid, y, mode, padding, alignCorners } = request;
  if (elementCount(y.shape) === 0) return;
  const spatial = y.shape.length - 2;
  // Two spatial axes get a first one of size 1 before them.
  const place = (axis: number) => (axis < 2 ? axis : axis + 3 - spatial);
  const axes = y.shape.map((size, axis): WalkAxis & { readonly place: number } => ({
    size,
    strides: [y.strides[axis] ?? 0],
    isFixed: true,
    place: place(axis),
  }));
  const walk = walkOver(axes, 0, []);
  const deepFirst = (values: readonly number[], fill: number) => [
    ...new Array<number>(3 - spatial).fill(fill),
    ...values,
  ];
  const params = writeParams(gridSampleStruct, {
    x,
    grid,
    y,
    walk: walkFields(walk),
    axisOf: walk.axes.map((axis) => ("place" in axis && typeof axis.place === "number" ? axis.place : 0)),
    xStrides: [...x.strides.slice(0, 2), ...deepFirst(x.strides.slice(2), 0)],
    gridStrides: [grid.strides[0] ?? 0, ...deepFirst(grid.strides.slice(1, -1), 0), grid.strides.at(-1) ?? 0],
    yStrides: [...y.strides.slice(0, 2), ...deepFirst(y.strides.slice(2), 0)],
    sizes: deepFirst(x.shape.slice(2), 1),
    spatial,
    xType: storageTypes[x.type].code,
    gridType: storageTypes[grid.type].code,
    yType: storageTypes[y.type].code,
    mode: sampleModes[mode],
    padding: samplePaddings[padding],
    alignCorners,
  });
  emitter.launch(
    walkLaunch({
      entry: "grid_sample",
      count: walk.count,
      params,
      reads: [x, grid],
      writes: [y],
      family: "resize",
    }),
  );
}
