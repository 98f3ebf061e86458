/**
 * @file Convolutions of few channels (stems, patches), whose taps along a row become channels: rows are copied with their
 * padding and the channels of a pixel side by side, so that those of a window's row are one run of memory, every
 * `stride` pixels. What is left is a convolution of kernel 1 along that axis.
 */
import { passMicroseconds } from "../../cost/predict.ts";
import type { Emitter } from "../../ir/emitter.ts";
import { writeParams } from "../../ir/param-table.ts";
import type { PlanTarget } from "../../ir/step.ts";
import { bytesOfType, type FloatStorage, isHalfStorage, storageTypes } from "../../ir/storage.ts";
import { imaginedView, permuted, sliced, type View } from "../../ir/view.ts";
import { type Parts, storageOf } from "./operands.ts";
import { widenStruct } from "./params.table.ts";
import { choiceOf } from "./product.ts";
import { divisorFields, type Spatial, spatialOf, type Triple, wholeView } from "./spatial.ts";

/** How rows lie once they are copied. */
interface WideRows {
  readonly type: FloatStorage;
  /** Channels of a pixel, with those that are zero. */
  readonly pitch: number;
  /** Pixels of a row, with padding. */
  readonly columns: number;
  readonly x: Spatial;
}

/** More taps and channels than these fill rows of their own well enough. */
const mostChannels = 4;
const mostInRow = 128;

/** Predicted, of the copy and the convolution that is left; undefined where it does not apply. */
export function widenedMicroseconds(emitter: Emitter, parts: Parts): number | undefined {
  const { target } = emitter;
  const rows = emitter.isConstant(parts.request.w) ? wideRowsOf(parts) : undefined;
  if (rows === undefined) return undefined;
  const x = imaginedView(rows.type, wideShape(rows));
  const w = imaginedView(rows.type, wideWeightsShape(parts, rows));
  const left = choiceOf(alongColumns(parts, rows, x, w), target);
  return left && widenMicroseconds(rows, target) + left.microseconds;
}

/** The convolution that is left, once rows and weights are copied. */
export function widened(emitter: Emitter, parts: Parts): Parts {
  const rows = wideRowsOf(parts);
  if (rows === undefined) throw new Error("tc-lint bug: rows of this convolution cannot be widened");
  const x = emitWideRows(emitter, rows, parts.window.pad[2]);
  return alongColumns(parts, rows, x, emitWideWeights(emitter, parts, rows));
}

/** Undefined where it does not apply: halves of few channels, whose windows start at multiples of 16 bytes. */
function wideRowsOf({ request, math, window, channels, y }: Parts): WideRows | undefined {
  const type = storageOf[math];
  const [taps, stride] = [window.kernel[2], window.stride[2]];
  if (!isHalfStorage(type) || request.groups > 1 || channels > mostChannels) return undefined;
  if (window.dilation[2] > 1 || taps === 1) return undefined;
  const pitch = [channels, 4, 8].find((count) => count >= channels && (stride * count) % 8 === 0);
  if (pitch === undefined || taps * pitch > mostInRow) return undefined;
  const reach = (y.size[2] - 1) * stride + taps;
  const unit = [1, 2, 4, 8].find((count) => (count * pitch) % 8 === 0) ?? 8;
  return { type, pitch, columns: Math.ceil(reach / unit) * unit, x: spatialOf(request.x) };
}

/** The convolution that is left, of memory of `wideShape` and `wideWeightsShape`. */
function alongColumns(parts: Parts, rows: WideRows, wide: View, weights: View): Parts {
  const { window } = parts;
  const without = ([depth, height]: Triple, width: number): Triple => [depth, height, width];
  const w = wideWeights(parts, rows, weights);
  return {
    ...parts,
    request: { ...parts.request, x: wideView(parts, rows, wide), w },
    w: spatialOf(w),
    window: {
      kernel: without(window.kernel, 1),
      stride: without(window.stride, 1),
      dilation: without(window.dilation, 1),
      pad: without(window.pad, 0),
    },
    channels: window.kernel[2] * rows.pitch,
  };
}

/** [batch, taps · pitch, depth, height, positions]: windows of a row overlap. */
function wideView({ window, y }: Parts, { pitch, columns, x }: WideRows, buffer: View): View {
  const { batch, size } = x;
  const row = columns * pitch;
  return {
    ...buffer,
    shape: [batch, window.kernel[2] * pitch, size[0], size[1], y.size[2]],
    strides: [size[0] * size[1] * row, 1, size[1] * row, row, window.stride[2] * pitch],
  };
}

/** [filters, taps · pitch, depth, height, 1], of the shape alone: its buffer is given. */
function wideWeights({ w }: Parts, { pitch }: WideRows, buffer: View): View {
  const inRow = w.size[2] * pitch;
  const [depth, height] = w.size;
  return {
    ...buffer,
    shape: [w.batch, inRow, depth, height, 1],
    strides: [depth * height * inRow, 1, height * inRow, inRow, 0],
  };
}

function wideShape({ pitch, columns, x }: WideRows): readonly number[] {
  return [x.batch, x.size[0], x.size[1], columns, pitch];
}

function wideWeightsShape({ w }: Parts, { pitch }: WideRows): readonly number[] {
  return [w.batch, ...w.size, pitch];
}

/** Predicted, of the copy. */
function widenMicroseconds(rows: WideRows, target: PlanTarget): number {
  const { x, columns, pitch, type } = rows;
  const pixels = x.batch * x.size[0] * x.size[1];
  const read = pixels * x.size[2] * x.channels * bytesOfType(x.view.type);
  const written = pixels * columns * pitch * bytesOfType(type);
  return passMicroseconds({ bytes: read + written }, target);
}

/** Copies rows of x. */
function emitWideRows(emitter: Emitter, rows: WideRows, pad: number): View {
  const { x, columns, pitch, type } = rows;
  const to = emitter.temporary(type, wideShape(rows));
  const count = x.batch * x.size[0] * x.size[1] * columns;
  emitter.launch({
    kernel: { kind: "built", family: "conv", entry: `conv_widen_${[4, 8].includes(pitch) ? pitch : "any"}` },
    grid: [Math.ceil(count / 256), 1, 1],
    block: [256, 1, 1],
    sharedBytes: 0,
    params: writeParams(widenStruct, {
      x: x.view,
      to,
      type: storageTypes[x.view.type].code,
      toType: storageTypes[type].code,
      count,
      channels: x.channels,
      pitch,
      pad,
      width: x.size[2],
      columns: divisorFields(columns),
      height: divisorFields(x.size[1]),
      depth: divisorFields(x.size[0]),
      xBatch: x.batchStride,
      xAxes: x.strides,
      xChannel: x.channelStride,
    }),
    reads: [x.view],
    writes: [to],
    predictedMicroseconds: widenMicroseconds(rows, emitter.target),
    detail: `rows of ${columns} columns, ${pitch} channels each`,
  });
  return to;
}

/** Copies weights, zero where there is no channel. */
function emitWideWeights(emitter: Emitter, parts: Parts, rows: WideRows): View {
  const { w } = parts;
  const all = emitter.temporary(rows.type, wideWeightsShape(parts, rows));
  if (rows.pitch > w.channels) emitter.clear(all);
  emitter.copy(permuted(wholeView(w), [0, 2, 3, 4, 1]), sliced(all, 4, 0, w.channels));
  return all;
}
