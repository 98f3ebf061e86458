/** @file Launches of Softmax, LogSoftmax and Hardmax over one axis. */

import type { Emitter } from "../../ir/emitter.ts";
import { writeParams } from "../../ir/param-table.ts";
import { isFloatStorage, storageTypes } from "../../ir/storage.ts";
import { elementCount, permuted, reshaped, type View } from "../../ir/view.ts";
import { axesOf } from "../norm/axes.ts";
import { arePacked, chooseRows, cutOf, type RowLaunch } from "../norm/rows.ts";
import { softmaxForms } from "./forms.ts";
import { axisSoftmaxStruct, rowSoftmaxStruct } from "./params.table.ts";

/** Codes are `SoftmaxMode`. */
const modes = { softmax: 0, logSoftmax: 1, hardmax: 2 } as const;
export type SoftmaxMode = keyof typeof modes;

export interface SoftmaxRequest {
  /** Of a float type, or float64. */
  readonly x: View;
  /** Of the same shape; float64 where x is. */
  readonly y: View;
  readonly axis: number;
  readonly mode: SoftmaxMode;
}

/** `accepts`: which launches of rows may be taken, for those who time them; all unless given. */
export function emitSoftmax(
  emitter: Emitter,
  request: SoftmaxRequest,
  accepts?: (launch: RowLaunch) => boolean,
): void {
  if (elementCount(request.x.shape) === 0) return;
  const rows = rowsOf(request);
  if (rows === undefined) emitAxisSoftmax(emitter, request);
  else emitRowSoftmax(emitter, request, rows, accepts);
}

interface Rows {
  /** [rows, cols], columns contiguous. */
  readonly x: View;
  readonly y: View;
}

/** The axis last and the others as one, where strides allow. */
function rowsOf({ x, y, axis }: SoftmaxRequest): Rows | undefined {
  if (x.type === "float64") return undefined;
  const cols = x.shape[axis] ?? 1;
  const order = [...x.shape.keys()].filter((other) => other !== axis);
  const asRows = (view: View) =>
    reshaped(permuted(view, [...order, axis]), [elementCount(view.shape) / cols, cols]);
  const [rowsX, rowsY] = [asRows(x), asRows(y)];
  const isRow = (view: View | undefined) => view !== undefined && (cols === 1 || view.strides[1] === 1);
  return rowsX !== undefined && rowsY !== undefined && isRow(rowsX) && isRow(rowsY)
    ? { x: rowsX, y: rowsY }
    : undefined;
}

function emitRowSoftmax(
  emitter: Emitter,
  request: SoftmaxRequest,
  { x, y }: Rows,
  accepts?: (launch: RowLaunch) => boolean,
): void {
  const [rows = 1, cols = 1] = x.shape;
  if (!isFloatStorage(x.type)) throw new TypeError(`tc-lint bug: no softmax of ${x.type}`);
  const views = [x, y];
  const size = { rows, cols, cut: cutOf(cols, views), isPacked: arePacked(cols, views) };
  const others = request.mode === "hardmax" ? [] : softmaxForms(x.type, size, views, emitter.target);
  const choices = { others, accepts };
  const { launch, microseconds } = chooseRows("softmax", x.type, size, views, emitter.target, choices);
  const { entry, grid, block, sharedBytes, detail } = launch;
  emitter.launch({
    kernel: { kind: "built", family: "softmax", entry },
    grid,
    block,
    sharedBytes,
    params: writeParams(rowSoftmaxStruct, {
      x,
      y,
      rows,
      cols,
      xStride: x.strides[0] ?? 0,
      yStride: y.strides[0] ?? 0,
      yType: storageTypes[y.type].code,
      mode: modes[request.mode],
    }),
    reads: [request.x],
    writes: [request.y],
    predictedMicroseconds: microseconds,
    detail,
  });
}

function emitAxisSoftmax(emitter: Emitter, { x, y, axis, mode }: SoftmaxRequest): void {
  const others = axesOf(x, y, (other) => other !== axis);
  const kept = elementCount(others.sizes);
  const length = x.shape[axis] ?? 1;
  emitter.launch({
    kernel: {
      kind: "built",
      family: "softmax",
      entry: x.type === "float64" ? "softmax_axis_f64" : "softmax_axis",
    },
    grid: [Math.ceil(kept / 256), 1, 1],
    block: [256, 1, 1],
    sharedBytes: 0,
    params: writeParams(axisSoftmaxStruct, {
      x,
      y,
      kept,
      length,
      xStride: x.strides[axis] ?? 0,
      yStride: y.strides[axis] ?? 0,
      xType: storageTypes[x.type].code,
      yType: storageTypes[y.type].code,
      mode: modes[mode],
      size: others.sizes,
      keptX: others.x,
      keptY: others.y,
    }),
    reads: [x],
    writes: [y],
    detail: `${kept}x${length}, strided`,
  });
}
