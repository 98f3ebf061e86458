/**
 * @file Convolutions of codes of few channels (stems, patches), whose taps along a row become channels: codes of a window's row lie side
 * by side at each position, and what is left is a convolution of kernel 1 along that axis. Floats are quantized on the way.
 */
import { passMicroseconds } from "../../cost/predict.ts";
import type { Emitter } from "../../ir/emitter.ts";
import { writeParams } from "../../ir/param-table.ts";
import { bytesOfType, storageTypes } from "../../ir/storage.ts";
import { elementCount, permuted, sliced, type View } from "../../ir/view.ts";
import type { CodeWindow } from "../gemm-int8/code-product.ts";
import type { CodeNumbers } from "../gemm-int8/codes.ts";
import { codeRowsStruct } from "./params.table.ts";

/** Channels that kernels of convolutions copy at once. */
const unit = 16;
const mostChannels = 4;
const mostInRow = 128;

interface Taps {
  readonly channels: number;
  /** Along a row. */
  readonly taps: number;
  readonly dilation: number;
}

/** Whether a row's taps and channels take less as channels than each tap's channels by themselves. */
export function fillsRows({ channels, taps, dilation }: Taps): boolean {
  return channels <= mostChannels && taps > 1 && dilation === 1 && taps * channels <= mostInRow;
}

/** Channels of all taps, with those that are of none. */
function wideOf(taps: number, channels: number): number {
  return Math.ceil((taps * channels) / unit) * unit;
}

/**
 * The convolution that is left. `window.x`: [N, C, H, W], any strides, codes or floats.
 *
 * @param zero The code beside the image.
 * @param quantizer What floats are quantized by.
 */
export function windowOfRows(
  emitter: Emitter,
  window: CodeWindow,
  type: CodeNumbers["type"],
  zero: number,
  quantizer: CodeNumbers | undefined,
): CodeWindow {
  const { strides, dilations, pads } = window;
  return {
    x: emitRows(emitter, window, type, zero, quantizer),
    w: emitWeights(emitter, window),
    to: window.to,
    strides: [strides[0], 1],
    dilations: [dilations[0], 1],
    pads: [pads[0], 0],
  };
}

/** [N, wide, H, positions], channels innermost. */
function emitRows(
  emitter: Emitter,
  { x, w, to: output, strides, pads }: CodeWindow,
  type: CodeNumbers["type"],
  zero: number,
  quantizer: CodeNumbers | undefined,
): View {
  const [images = 1, channels = 1, height = 1, width = 1] = x.shape;
  const [xN = 0, xC = 0, xH = 0, xW = 0] = x.strides;
  const positions = output.shape[3] ?? 1;
  const wide = wideOf(w.shape[3] ?? 1, channels);
  const to = emitter.temporary(type, [images, wide, height, positions], [0, 2, 3, 1]);
  const pixels = (positions - 1) * strides[1] + Math.ceil((wide + 4) / channels);
  emitter.launch({
    kernel: { kind: "built", family: "code-rows", entry: "code_rows" },
    grid: [images * height, 1, 1],
    block: [256, 1, 1],
    sharedBytes: Math.ceil((pixels * channels) / 16) * 16,
    params: writeParams(codeRowsStruct, {
      ...{ x, to, type: storageTypes[x.type].code, isSigned: type === "int8", zero },
      ...{ scale: quantizer?.scale ?? 1, channels, height, width, positions },
      ...{ stride: strides[1], pad: pads[1], chunks: wide / unit, xN, xC, xH, xW },
    }),
    reads: [x],
    writes: [to],
    predictedMicroseconds: passMicroseconds(
      { bytes: elementCount(x.shape) * bytesOfType(x.type) + elementCount(to.shape) },
      emitter.target,
    ),
    detail: `${positions} windows a row, ${wide} codes each`,
  });
  return to;
}

/** [K, wide, taps Y, 1], zero where there is no channel. */
function emitWeights(emitter: Emitter, { w }: CodeWindow): View {
  const [filters = 1, channels = 1, tapsY = 1, tapsX = 1] = w.shape;
  const wide = wideOf(tapsX, channels);
  const all = emitter.temporary(w.type, [filters, tapsY, wide]);
  if (tapsX * channels < wide) emitter.clear(all);
  const own = sliced(all, 2, 0, tapsX * channels);
  const [stepFilter = 0, stepTap = 0] = own.strides;
  const parts: View = {
    ...own,
    shape: [filters, tapsY, tapsX, channels],
    strides: [stepFilter, stepTap, channels, 1],
  };
  emitter.copy(permuted(w, [0, 2, 3, 1]), parts);
  return { ...all, shape: [filters, wide, tapsY, 1], strides: [tapsY * wide, 1, wide, 0] };
}
