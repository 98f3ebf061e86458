/** @file Launches of LayerNorm and RMSNorm, with an addition before them. */

import type { Emitter } from "../../ir/emitter.ts";
import { writeParams } from "../../ir/param-table.ts";
import type { PlanTarget } from "../../ir/step.ts";
import { isFloatStorage, type StorageType, storageTypes } from "../../ir/storage.ts";
import type { View } from "../../ir/view.ts";
import type { CodeNumbers } from "../gemm-int8/codes.ts";
import { quotientFields } from "../gemm-int8/tail.ts";
import { rowNormStruct } from "./params.table.ts";
import { chooseRows, cutOf, type RowLaunch } from "./rows.ts";
import { stayingCandidates } from "./stay.ts";

export interface RowNormRequest {
  /** [rows, cols], columns contiguous, of a float type. */
  readonly x: View;
  /** Undefined where codes alone are wanted. */
  readonly y: View | undefined;
  /** What y is quantized to: [rows, cols], packed. */
  readonly codes?: { readonly view: View; readonly numbers: CodeNumbers } | undefined;
  /** Added to x: of its type, [skipRows, cols]; row r takes row r modulo skipRows. */
  readonly skip?: View | undefined;
  /** [cols], packed, float32: added as well, only beside `skip`. */
  readonly skipBias?: View | undefined;
  /** [cols], packed, float32. */
  readonly scale: View | undefined;
  readonly bias: View | undefined;
  /** What is normalized, [rows, cols]. */
  readonly sum?: View | undefined;
  /** [rows], packed, both of one float type. */
  readonly mean?: View | undefined;
  readonly invStd?: View | undefined;
  /** The root of the mean square, no mean subtracted. */
  readonly isRms: boolean;
  readonly epsilon: number;
}

/** Forms that store floats alone: codes would take registers that a block more of a multiprocessor needs. */
const ofFloats = /_(?:lanes4|warp4)$/;

/** Of a multiprocessor, up to which registers for scale and bias leave no warp out (24576x512 takes 22.5 µs of 18.0). */
const warpsWithParameters = 16;

/** Rows of two runs a thread have a form that loads scale and bias with the row. */
function entryOf({ entry, grid, block }: RowLaunch, { multiprocessors }: PlanTarget): string {
  const isFew = grid[0] * block[1] <= warpsWithParameters * multiprocessors;
  return isFew && entry.endsWith("_w8_warp2") ? `${entry}_ahead` : entry;
}

/** `accepts`: which launches may be taken, for those who time them; all unless given. */
export function emitRowNorm(
  emitter: Emitter,
  request: RowNormRequest,
  accepts: (launch: RowLaunch) => boolean = () => true,
): void {
  const { x, y, codes, skip, skipBias, scale, bias, sum, mean, invStd, isRms, epsilon } = request;
  const [rows = 0, cols = 0] = x.shape;
  if (rows * cols === 0) return;
  if (!isFloatStorage(x.type)) throw new TypeError(`tc-lint bug: rows of ${x.type} are not normalized`);
  const cut = cutOf(cols, [x, y, skip, sum], [skipBias, scale, bias]);
  const stride = (view: View | undefined) => view?.strides[0] ?? 0;
  const given = [x, skip, skipBias, scale, bias].filter((view) => view !== undefined);
  const written = [y, codes?.view, sum, mean, invStd].filter((view) => view !== undefined);
  const size = { rows, cols, cut };
  const views = [...given, ...written];
  const isPlain = skip === undefined && sum === undefined && codes === undefined;
  const others = isPlain ? stayingCandidates(x.type, size, views, emitter.target) : [];
  const mayTake = (launch: RowLaunch) => codes === undefined || !ofFloats.test(launch.entry);
  const choices = { others, accepts: (launch: RowLaunch) => mayTake(launch) && accepts(launch) };
  const { launch, microseconds } = chooseRows("rownorm", x.type, size, views, emitter.target, choices);
  const { grid, block, sharedBytes, detail } = launch;
  emitter.launch({
    kernel: { kind: "built", family: "norm", entry: entryOf(launch, emitter.target) },
    grid,
    block,
    sharedBytes,
    params: writeParams(rowNormStruct, {
      x,
      skip,
      skipBias,
      scale,
      bias,
      y,
      codes: codes?.view,
      sum,
      mean,
      invStd,
      rows,
      cols,
      xStride: stride(x),
      skipStride: stride(skip),
      yStride: stride(y),
      sumStride: stride(sum),
      skipRows: skip?.shape[0] ?? 1,
      yType: codeOf(y),
      sumType: codeOf(sum),
      statisticsType: codeOf(mean ?? invStd),
      rms: isRms,
      epsilon,
      to: quotientFields(codes?.numbers),
    }),
    reads: given,
    writes: written,
    predictedMicroseconds: microseconds,
    detail,
  });
}

function codeOf(view: View | undefined): number {
  const type: StorageType = view?.type ?? "float32";
  return storageTypes[type].code;
}
