/** @file The ladder of a convolution: what each rung launches, and what an element of its result should be. */
import { plainEpilogue } from "../../../cuda-runtime/ir/epilogue.ts";
import { permuted, type View } from "../../../cuda-runtime/ir/view.ts";
import { emitConv } from "../../../cuda-runtime/kernels/conv/conv.ts";
import { emitLadderConv, type LadderConvRung } from "../../../cuda-runtime/kernels/ladder/conv.ts";
import type { Content } from "../../../cuda-runtime/session/kernel-timer.ts";
import type { LadderRung, LadderWork, Operands, Reference } from "./work.ts";

export interface ConvSize {
  readonly batch: number;
  readonly channels: number;
  readonly filters: number;
  /** Of both spatial axes; 3 × 3 windows are padded by one. */
  readonly side: number;
}

/** A stage of ResNets: the layer that libraries' convolutions are quoted by. */
const anchor: ConvSize = { batch: 32, channels: 64, filters: 64, side: 56 };

export const convWorks: readonly LadderWork[] = [workOf(anchor)];

function workOf(size: ConvSize): LadderWork {
  const { batch, channels, filters, side } = size;
  return {
    title: `FP16 N ${batch}, C ${channels}, ${side} × ${side}, K ${filters}, 3 × 3`,
    product: "fp16",
    flops: 2 * batch * filters * side * side * channels * 9,
    leastBytes: 2 * (batch * side * side * (channels + filters) + filters * channels * 9),
    // FP32 sums of halves, rounded to half once.
    tolerance: 2e-3,
    rungs: rungsOf(size),
    bounds: () => [],
    peer: {
      name: "PyTorch (cuDNN)",
      operation: { op: "conv", ...size, dtype: "fp16" },
    },
  };
}

function rungsOf(size: ConvSize): LadderRung[] {
  const own = (rung: LadderConvRung, name: string, change: string): LadderRung => ({
    ...{ name, change },
    emit: (set) => emitOwn(set, size, rung),
    reference: (contents) => convElement(size, false, contents("float16", 1), contents("float16", 2)),
  });
  return [
    own("direct", "direct", "A thread computes one output and reads all that it needs from global memory."),
    own(
      "shared",
      "shared tile",
      "A block stages the pixels of a square of outputs in shared memory: each comes from global memory once a block, not nine times.",
    ),
    own(
      "outputs",
      "outputs per thread",
      "A thread keeps eight filters' sums in registers: a pixel that is read from shared memory serves eight of them.",
    ),
    {
      name: "planner's kernel",
      change:
        "Channels last, an implicit product on Tensor Cores: the kernel that plans launch on this GPU, of whichever family is cheapest.",
      emit: (set) => emitPlanned(set, size),
      reference: (contents) => convElement(size, true, contents("float16", 1), contents("float16", 2)),
    },
  ];
}

function emitOwn(set: Operands, { batch, channels, filters, side }: ConvSize, rung: LadderConvRung): View {
  const x = set.tensor("input", "float16", [batch, channels, side, side], 1);
  const w = set.tensor("constant", "float16", [filters, channels, 3, 3], 2);
  const y = set.output("float16", [batch, filters, side, side]);
  emitLadderConv(set.emitter, { x, w, y }, rung);
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
