/** @file The ladder of a convolution: what each rung launches, and what an element of its result should be. */
import { plainEpilogue } from "../../../cuda-runtime/ir/epilogue.ts";
import { permuted, type View } from "../../../cuda-runtime/ir/view.ts";
import { emitConv } from "../../../cuda-runtime/kernels/conv/conv.ts";
import { emitLadderConv, type LadderConvRung } from "../../../cuda-runtime/kernels/ladder/ladder.ts";
import type { CallSet, Content } from "../../../cuda-runtime/session/kernel-timer.ts";

export interface ConvSize {
  readonly batch: number;
  readonly channels: number;
  readonly filters: number;
  /** Of both spatial axes; 3 × 3 windows are padded by one. */
  readonly side: number;
}

/** A stage of ResNets: the layer that libraries' convolutions are quoted by. */
export const anchor: ConvSize = { batch: 32, channels: 64, filters: 64, side: 56 };

export interface ConvRung {
  readonly name: string;
  readonly change: string;
  readonly isChannelsLast: boolean;
  /** Returns y as it is in memory. */
  readonly emit: (set: CallSet, size: ConvSize) => View;
}

export const convRungs: readonly ConvRung[] = [
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
    isChannelsLast: true,
    emit: emitPlanned,
  },
];

function own(rung: LadderConvRung, name: string, change: string): ConvRung {
  return {
    ...{ name, change },
    isChannelsLast: false,
    emit: (set, { batch, channels, filters, side }) => {
      const x = set.tensor("input", "float16", [batch, channels, side, side], 1);
      const w = set.tensor("constant", "float16", [filters, channels, 3, 3], 2);
      const y = set.output("float16", [batch, filters, side, side]);
      emitLadderConv(set.emitter, { x, w, y }, rung);
      return y;
    },
  };
}

function emitPlanned(set: CallSet, { batch, channels, filters, side }: ConvSize): View {
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

export function convFlops({ batch, channels, filters, side }: ConvSize): number {
  return 2 * batch * filters * side * side * channels * 9;
}

export function convBytes({ batch, channels, filters, side }: ConvSize): number {
  return 2 * (batch * side * side * (channels + filters) + filters * channels * 9);
}

/** The element at an index of y as it lies in memory, in double precision. */
export function convElement(
  { channels, filters, side }: ConvSize,
  isChannelsLast: boolean,
  x: Content,
  w: Content,
): (index: number) => number {
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
