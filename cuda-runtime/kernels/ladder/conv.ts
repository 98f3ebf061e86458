/** @file Launches of the ladder's convolutions. The family is built on demand (docs/adr/0027-ladders.md). */
import { maxOf } from "../../../src/ir/lists.ts";
import type { Emitter } from "../../ir/emitter.ts";
import { OperandError } from "../../ir/operand-error.ts";
import { type ValuesOf, writeParams } from "../../ir/param-table.ts";
import type { Dim3 } from "../../ir/step.ts";
import { isPacked, type View } from "../../ir/view.ts";
import { ladderConvStruct } from "./params.table.ts";

/**
 * Packed FP16, 3 × 3 windows padded by one pixel. Channels first: [N, C, H, W], [K, C, 3, 3], [N, K, H, W]; channels last:
 * [N, H, W, C], [K, 3, 3, C], [N, H, W, K].
 */
export interface LadderConv {
  readonly x: View;
  readonly w: View;
  readonly y: View;
}

type Size = Omit<ValuesOf<typeof ladderConvStruct>, "x" | "w" | "y">;

interface Form {
  readonly isChannelsLast: boolean;
  /** What channels, filters and the width are multiples of; a row of outputs fits into a block where `most` says so. */
  readonly channels: number;
  readonly filters: number;
  readonly width: number;
  readonly mostWidth?: number;
  readonly threads: number;
  readonly grid: (size: Size) => Dim3;
}

const threads = 256;
/** A row's pixels are a thread each. */
const wholeRows = { mostWidth: threads, threads } as const;
/** Pixels and filters of a block on Tensor Cores, and channels at a time. */
const tile = 64;

const forms = {
  direct: {
    ...{ isChannelsLast: false, channels: 1, filters: 1, width: 1, threads },
    grid: ({ height, width, filters, batch }) => [Math.ceil((height * width) / threads), filters, batch],
  },
  shared: {
    ...{ isChannelsLast: false, channels: 8, filters: 1, width: 1, ...wholeRows },
    grid: (size) => [rowBlocks(size), size.filters, size.batch],
  },
  vectors: {
    ...{ isChannelsLast: false, channels: 8, filters: 1, width: 8, ...wholeRows },
    grid: (size) => [rowBlocks(size), size.filters, size.batch],
  },
  outputs: {
    ...{ isChannelsLast: false, channels: 8, filters: 8, width: 8, ...wholeRows },
    grid: (size) => [rowBlocks(size), size.filters / 8, size.batch],
  },
  last: {
    ...{ isChannelsLast: true, channels: 16, filters: 8, width: 1, ...wholeRows },
    grid: (size) => [rowBlocks(size), size.filters / 8, size.batch],
  },
  tensor: {
    ...{ isChannelsLast: true, channels: tile, filters: tile, width: 1, threads: 128 },
    grid: ({ batch, height, width, filters }) => [
      Math.ceil((batch * height * width) / tile),
      filters / tile,
      1,
    ],
  },
} as const satisfies Record<string, Form>;
export type LadderConvRung = keyof typeof forms;

function rowBlocks({ height, width }: Size): number {
  return Math.ceil(height / Math.floor(threads / width));
}

export function isChannelsLast(rung: LadderConvRung): boolean {
  return forms[rung].isChannelsLast;
}

/** Throws OperandError for sizes that the rung does not take. */
export function emitLadderConv(emitter: Emitter, { x, w, y }: LadderConv, rung: LadderConvRung): void {
  const form: Form = forms[rung];
  const size = sizeOf({ x, w, y }, form);
  emitter.launch({
    kernel: { kind: "built", family: "ladder", entry: `ladder_conv_${rung}` },
    grid: form.grid(size),
    block: [form.threads, 1, 1],
    sharedBytes: 0,
    params: writeParams(ladderConvStruct, { x, w, y, ...size }),
    reads: [x, w],
    writes: [y],
    flops: flopsOf(size),
  });
}

/** Of Winograd's F(2 × 2, 3 × 3): positions of a tile, tiles and filters of a block, channels at a time. */
const winograd = { positions: 16, tiles: 64, filters: 32, channels: 16, threads: 512, stages: 2 } as const;
const halfBytes = 2;
export const winogradSharedBytes: number =
  winograd.stages * winograd.positions * (winograd.tiles + winograd.filters) * winograd.channels * halfBytes;

/** x and y with channels last, w [K, C, 3, 3]: where it is constant, its transform is made once. */
export function emitLadderWinograd(emitter: Emitter, { x, w, y }: LadderConv): void {
  const { channels, filters } = winograd;
  const size = sizeOf({ x, w, y }, { isChannelsLast: true, channels, filters, width: 1 }, [1, 2, 3]);
  const u = emitter.temporary("float16", [winograd.positions, size.filters, size.channels]);
  emitter.launch({
    kernel: { kind: "built", family: "ladder", entry: "ladder_winograd_filters" },
    grid: [Math.ceil((size.filters * size.channels) / threads), 1, 1],
    block: [threads, 1, 1],
    sharedBytes: 0,
    params: writeParams(ladderConvStruct, { x: undefined, w, y: u, ...size }),
    reads: [w],
    writes: [u],
  });
  const tiles = size.batch * Math.ceil(size.height / 2) * Math.ceil(size.width / 2);
  emitter.launch({
    kernel: { kind: "built", family: "ladder", entry: "ladder_winograd" },
    grid: [Math.ceil(tiles / winograd.tiles), size.filters / winograd.filters, 1],
    block: [winograd.threads, 1, 1],
    sharedBytes: winogradSharedBytes,
    params: writeParams(ladderConvStruct, { x, w: u, y, ...size }),
    reads: [x, u],
    writes: [y],
    // Of the convolution: it multiplies 16 times where 36 stand here.
    flops: flopsOf(size),
  });
}

function flopsOf({ batch, channels, filters, height, width }: Size): number {
  return 2 * batch * filters * height * width * channels * 9;
}

/** `taps`: the axes of w that are channels and both taps. */
function sizeOf(
  { x, w, y }: LadderConv,
  form: Pick<Form, "isChannelsLast" | "channels" | "filters" | "width" | "mostWidth">,
  taps: readonly number[] = form.isChannelsLast ? [3, 1, 2] : [1, 2, 3],
): Size {
  const [channelAxis, rowAxis, columnAxis] = form.isChannelsLast ? [3, 1, 2] : [1, 2, 3];
  const of = ({ shape }: View, axis: number) => shape[axis] ?? 0;
  const size: Size = {
    batch: of(x, 0),
    channels: of(x, channelAxis),
    filters: of(w, 0),
    height: of(x, rowAxis),
    width: of(x, columnAxis),
  };
  const output = x.shape.with(channelAxis, size.filters);
  const isRight = [x, w, y].every((view) => view.type === "float16" && isPacked(view));
  if (!isRight) throw new OperandError("a ladder's convolution of other than packed halves");
  if (
    String(taps.map((axis) => of(w, axis))) !== String([size.channels, 3, 3]) ||
    String(y.shape) !== String(output)
  )
    throw new OperandError(`a ladder's convolution of [${x.shape}] by [${w.shape}] to [${y.shape}]`);
  refuseMisfits(size, form);
  return size;
}

function refuseMisfits(size: Size, form: Pick<Form, "channels" | "filters" | "width" | "mostWidth">): void {
  for (const name of ["channels", "filters", "width"] as const)
    if (size[name] % form[name] !== 0)
      throw new OperandError(
        `${size[name]} ${name === "width" ? "pixels of a row" : name}, no multiple of ${form[name]}`,
      );
  if (size.width > (form.mostWidth ?? Infinity)) throw new OperandError(`rows of ${size.width} pixels`);
  const pixels = size.batch * size.height * size.width;
  if (maxOf([size.batch, size.filters]) > 65_535 || pixels * maxOf([size.channels, size.filters]) >= 2 ** 31)
    throw new OperandError(
      "a grid of more than 65,535 blocks along an axis, or elements that nobody can count",
    );
}
