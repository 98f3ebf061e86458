/** @file The ladder of a convolution: what each rung launches, and what an element of its result should be. */
import { plainEpilogue } from "../../../cuda-runtime/ir/epilogue.ts";
import { permuted, type View } from "../../../cuda-runtime/ir/view.ts";
import { emitConv } from "../../../cuda-runtime/kernels/conv/conv.ts";
import {
  emitLadderConv,
  emitLadderWinograd,
  isChannelsLast,
  type LadderConvRung,
  winogradSharedBytes,
} from "../../../cuda-runtime/kernels/ladder/conv.ts";
import type { Content } from "../../../cuda-runtime/session/kernel-timer.ts";
import type { Bound } from "./report.ts";
import type { LadderRung, LadderWork, Operands, Rates, Reference } from "./work.ts";

export interface ConvSize {
  readonly batch: number;
  readonly channels: number;
  readonly filters: number;
  /** Of both spatial axes; 3 × 3 windows are padded by one. */
  readonly side: number;
}

/** The first stage of ResNets: the layer that libraries' convolutions are quoted by. Every rung climbs it. */
const anchor: ConvSize = { batch: 32, channels: 64, filters: 64, side: 56 };
/** Its other stages, and a UNet's: what Winograd comes to beside Tensor Cores alone. */
const others: readonly ConvSize[] = [
  { batch: 32, channels: 128, filters: 128, side: 28 },
  { batch: 32, channels: 256, filters: 256, side: 14 },
  { batch: 32, channels: 512, filters: 512, side: 7 },
  { batch: 2, channels: 320, filters: 320, side: 64 },
];

export const convWorks: readonly LadderWork[] = [
  workOf(anchor, [...cudaRungs(anchor), ...tensorRungs(anchor)]),
  ...others.map((size) => workOf(size, tensorRungs(size))),
];

function workOf(size: ConvSize, rungs: readonly LadderRung[]): LadderWork {
  const { batch, channels, filters, side } = size;
  return {
    title: `FP16 N ${batch}, C ${channels}, ${side} × ${side}, K ${filters}, 3 × 3`,
    product: "fp16",
    flops: 2 * batch * filters * side * side * channels * 9,
    leastBytes: 2 * (batch * side * side * (channels + filters) + filters * channels * 9),
    // FP32 sums of halves, rounded to half once.
    tolerance: 2e-3,
    rungs,
    bounds: (rates) => [fourierBound(size, rates)],
    peer: {
      name: "PyTorch (cuDNN)",
      operation: { op: "conv", ...size, dtype: "fp16" },
    },
  };
}

function own(size: ConvSize, rung: LadderConvRung, name: string, change: string): LadderRung {
  const isLast = isChannelsLast(rung);
  return {
    ...{ name, change },
    emit: (set) => emitOwn(set, size, rung),
    reference: (contents) => {
      const w = contents("float16", 2);
      return convElement(size, isLast, contents("float16", 1), isLast ? channelsInside(size, w) : w);
    },
  };
}

function cudaRungs(size: ConvSize): LadderRung[] {
  return [
    own(
      size,
      "direct",
      "direct",
      "A thread computes one output and reads all that it needs from global memory.",
    ),
    own(
      size,
      "shared",
      "shared tile",
      "A block stages the pixels of its rows of outputs in shared memory: each comes from global memory once a block, not nine times.",
    ),
    own(
      size,
      "vectors",
      "16-byte vectors",
      "Pixels come eight at a time, which is why a block has whole rows.",
    ),
    own(
      size,
      "outputs",
      "outputs per thread",
      "A thread keeps eight filters' sums in registers: a pixel that is read from shared memory serves eight of them.",
    ),
    own(
      size,
      "last",
      "channels last",
      "What comes in 16 bytes are channels that are needed together, whatever the width, and so are eight results of a thread.",
    ),
  ];
}

function tensorRungs(size: ConvSize): LadderRung[] {
  const reference: LadderRung["reference"] = (contents) =>
    convElement(size, true, contents("float16", 1), contents("float16", 2));
  return [
    own(
      size,
      "tensor",
      "implicit product",
      "A product of gathered pixels and filters by mma.sync, 64 of each and 64 channels of a tap at a time: Tensor Cores instead of CUDA cores.",
    ),
    {
      name: "Winograd F(2, 3)",
      change:
        "Four outputs by 16 multiplications in the place of 36, by mma.sync; transforms of inputs and outputs within the kernel, that of the filters made once.",
      // Inputs are rounded twice more, transformed filters once.
      tolerance: 4e-3,
      sharedBytes: winogradSharedBytes,
      emit: (set) => emitWinograd(set, size),
      reference,
    },
    {
      name: "planner's kernel",
      change:
        "No Winograd: the implicit product by the kernel that plans launch on this GPU (on Hopper wgmma, its pixels fetched by TMA).",
      emit: (set) => emitPlanned(set, size),
      reference,
    },
  ];
}

function emitOwn(set: Operands, { batch, channels, filters, side }: ConvSize, rung: LadderConvRung): View {
  const order = isChannelsLast(rung) ? ([0, 2, 3, 1] as const) : ([0, 1, 2, 3] as const);
  const shape = (first: number, depth: number, size: number) => {
    const axes = [first, depth, size, size] as const;
    return order.map((axis) => axes[axis]);
  };
  const x = set.tensor("input", "float16", shape(batch, channels, side), 1);
  const w = set.tensor("constant", "float16", shape(filters, channels, 3), 2);
  const y = set.output("float16", shape(batch, filters, side));
  emitLadderConv(set.emitter, { x, w, y }, rung);
  return y;
}

function emitWinograd(set: Operands, { batch, channels, filters, side }: ConvSize): View {
  const x = set.tensor("input", "float16", [batch, side, side, channels], 1);
  const w = set.tensor("constant", "float16", [filters, channels, 3, 3], 2);
  const y = set.output("float16", [batch, side, side, filters]);
  emitLadderWinograd(set.emitter, { x, w, y });
  return y;
}

function emitPlanned(set: Operands, { batch, channels, filters, side }: ConvSize): View {
  const y = set.output("float16", [batch, side, side, filters]);
  emitConv(set.emitter, {
    x: permuted(set.tensor("input", "float16", [batch, side, side, channels], 1), [0, 3, 1, 2]),
    w: set.tensor("constant", "float16", [filters, channels, 3, 3], 2),
    to: permuted(y, [0, 3, 1, 2]),
    strides: [1, 1],
    dilations: [1, 1],
    pads: [1, 1],
    groups: 1,
    epilogue: plainEpilogue,
  });
  return y;
}

/** Filters as [K, 3, 3, C], seen as [K, C, 3, 3]. */
export function channelsInside({ channels }: ConvSize, w: Content): Content {
  return {
    at: (index) => {
      const [filter, rest] = [Math.floor(index / (channels * 9)), index % (channels * 9)];
      return w.at((filter * 9 + (rest % 9)) * channels + Math.floor(rest / 9));
    },
  };
}

/**
 * By real transforms of planes that the windows fit on, on CUDA cores, and products of spectra on Tensor Cores; spectra would
 * have to stay on the chip, which they do not.
 */
function fourierBound({ batch, channels, filters, side }: ConvSize, rates: Rates): Bound {
  const padded = 2 ** Math.ceil(Math.log2(side + 2));
  const points = padded * padded;
  const planes = batch * (channels + filters);
  const transforms = planes * 2.5 * points * Math.log2(points);
  const frequencies = padded * (padded / 2 + 1);
  const products = 8 * frequencies * batch * channels * filters;
  return {
    name: "FFT",
    note: `Transforms of ${padded} × ${padded} on CUDA cores and complex products on Tensor Cores at their peaks, spectra never in memory.`,
    microseconds: 1e6 * (transforms / rates.cuda + products / rates.tensor),
  };
}

/** The element at an index of y as it lies in memory, in double precision. */
export function convElement(
  { channels, filters, side }: ConvSize,
  isChannelsLast: boolean,
  x: Content,
  w: Content,
): Reference {
  const pixels = side * side;
  const placeOf = (n: number, c: number, pixel: number, depth: number) =>
    isChannelsLast ? (n * pixels + pixel) * depth + c : (n * depth + c) * pixels + pixel;
  return (index) => {
    const inner = isChannelsLast ? filters : pixels;
    const [outer, last] = [Math.floor(index / inner), index % inner];
    const [n, middle] = isChannelsLast
      ? [Math.floor(outer / pixels), outer % pixels]
      : [Math.floor(outer / filters), outer % filters];
    const [k, pixel] = isChannelsLast ? [last, middle] : [middle, last];
    const [row, column] = [Math.floor(pixel / side), pixel % side];
    let sum = 0;
    for (let tap = 0; tap < 9; tap++) {
      const [r, q] = [row + Math.floor(tap / 3) - 1, column + (tap % 3) - 1];
      if (r < 0 || r >= side || q < 0 || q >= side) continue;
      for (let c = 0; c < channels; c++)
        sum += x.at(placeOf(n, c, r * side + q, channels)) * w.at((k * channels + c) * 9 + tap);
    }
    return sum;
  };
}
