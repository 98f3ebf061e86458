/** @file Parameters of the convolution kernels, as params.cuh and pack-reduce.cuh lay them out. */
import { type Activation, activations, type Epilogue } from "../../ir/epilogue.ts";
import { type ParamBlock, ParamWriter } from "../../ir/params.ts";
import { storageTypes } from "../../ir/storage.ts";
import type { View } from "../../ir/view.ts";
import { type Spatial, type Triple, writeDivisor, writePlacement } from "./spatial.ts";

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
  const params = new ParamWriter()
    .pointer(x.view)
    .pointer(fields.w)
    .pointer(y.view)
    .pointer(residual?.view)
    .pointer(epilogue.scale)
    .pointer(epilogue.bias)
    .pointer(fields.partial)
    .pointer(fields.table)
    .i32(fields.rows, filters, fields.channels, fields.groups, fields.chunks, fields.chunksPerTap)
    .i32(fields.splits, fields.chunksPerSplit, fields.tilesOfFilters)
    .i32(...window.kernel.map((taps) => Math.max(1, taps)), ...x.size)
    .i32(...window.stride, ...window.dilation, ...window.pad)
    .i32(x.batchStride, ...x.strides, fields.groupStride);
  for (const size of y.size) writeDivisor(params, size);
  writePlacement(params, y, filters);
  writePlacement(params, residual, filters);
  return writeActivations(params, epilogue).done();
}

export function writeActivations(params: ParamWriter, { activation, last }: Epilogue): ParamWriter {
  const write = ({ kind, a, b }: Activation) => params.i32(activations[kind].code).f32(a, b);
  write(activation);
  write(last);
  return params;
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
  return new ParamWriter()
    .pointer(w.view)
    .pointer(to)
    .i32(w.batch * pitch, storageTypes[w.view.type].code, storageTypes[to.type].code, fields.tf32 ? 1 : 0)
    .i32(filters, channels, merge, ...w.size, pitch, tapPitch)
    .i32(w.batchStride, w.channelStride, ...w.strides)
    .done();
}
