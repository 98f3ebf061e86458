/** @file Parameters of the convolution kernels. */

import { type Activation, activations, type Epilogue } from "../../ir/epilogue.ts";
import { type ValuesOf, writeParams } from "../../ir/param-table.ts";
import type { ParamBlock } from "../../ir/params.ts";
import { storageTypes } from "../../ir/storage.ts";
import type { View } from "../../ir/view.ts";
import type { activationStruct } from "../common/params.table.ts";
import { convStruct, packStruct } from "./params.table.ts";
import { divisorFields, placementFields, type Spatial, type Triple } from "./spatial.ts";

/** How windows slide. Padding at the end follows from the output's size. */
export interface Window {
  readonly kernel: Triple;
  readonly stride: Triple;
  readonly dilation: Triple;
  readonly pad: Triple;
}

export interface ConvFields {
  readonly x: Spatial;
  /** Packed weights. */
  readonly w: View;
  /** Whether no launch of a run writes them: not where x is a constant as well, and all is launched while they are written. */
  readonly isWeight: boolean;
  readonly y: Spatial;
  readonly residual: Spatial | undefined;
  readonly epilogue: Epilogue;
  readonly partial: View | undefined;
  readonly table: View | undefined;
  readonly rows: number;
  /** Of one group. */
  readonly filters: number;
  readonly channels: number;
  readonly groups: number;
  /** As they are computed together; `filters` unless one product has all groups. */
  readonly filtersOfGroup: number;
  /** Elements of x between one group and the next. */
  readonly groupStride: number;
  readonly chunks: number;
  readonly chunksPerTap: number;
  readonly splits: number;
  readonly chunksPerSplit: number;
  readonly tilesOfFilters: number;
  readonly window: Window;
}

export function convParams(fields: ConvFields): ParamBlock {
  const { x, y, residual, epilogue, window, filters } = fields;
  return writeParams(convStruct, {
    x: x.view,
    w: fields.w,
    y: y.view,
    residual: residual?.view,
    scale: epilogue.scale,
    bias: epilogue.bias,
    partial: fields.partial,
    table: fields.table,
    rows: fields.rows,
    filters,
    channels: fields.channels,
    groups: fields.groups,
    chunks: fields.chunks,
    chunksPerTap: fields.chunksPerTap,
    splits: fields.splits,
    chunksPerSplit: fields.chunksPerSplit,
    tilesN: fields.tilesOfFilters,
    kernel: window.kernel.map((taps) => Math.max(1, taps)),
    input: x.size,
    stride: window.stride,
    dilation: window.dilation,
    pad: window.pad,
    xBatch: x.batchStride,
    xAxes: x.strides,
    xGroup: fields.groupStride,
    output: y.size.map(divisorFields),
    to: placementFields(y, filters),
    from: placementFields(residual, filters),
    activation: activationFields(epilogue.activation),
    last: activationFields(epilogue.last),
  });
}

export function activationFields({ kind, a, b }: Activation): ValuesOf<typeof activationStruct> {
  return { kind: activations[kind].code, a, b };
}

export interface PackFields {
  /** [filters of all groups, channels, depth, height, width]. */
  readonly w: Spatial;
  readonly to: View;
  readonly tf32: boolean;
  /** Of one group, before merging. */
  readonly filters: number;
  readonly channels: number;
  readonly merge: number;
  /** Elements of a filter; of a tap where channels come last, else 0. */
  readonly pitch: number;
  readonly tapPitch: number;
}

export function packParams(fields: PackFields): ParamBlock {
  const { w, to, filters, channels, merge, pitch, tapPitch } = fields;
  return writeParams(packStruct, {
    w: w.view,
    to,
    count: w.batch * pitch,
    type: storageTypes[w.view.type].code,
    toType: storageTypes[to.type].code,
    isTf32: fields.tf32,
    filters,
    channels,
    merge,
    kernel: w.size,
    pitch,
    tapPitch,
    wFilter: w.batchStride,
    wChannel: w.channelStride,
    wAxes: w.strides,
  });
}
