/** @file The kernels of conv-planes, and what a convolution over planes of few channels looks like (docs/runtime.md). */
import { maxOf } from "../../../src/ir/lists.ts";
import { mostCopies, mostSteps, slotsOfPixel } from "../conv-planes/params.table.ts";
import type { Parts } from "./operands.ts";

/** One entry of conv-planes.cu. */
export interface PlaneTile {
  readonly entry: string;
  /** Of "codes", halves that are whole numbers, whose results are codes of a byte. */
  readonly math: "f16" | "bf16" | "codes";
  /** Output positions and filters of a block. */
  readonly rows: number;
  readonly filters: number;
}

const sizes = [
  [256, 32],
  [128, 32],
  [256, 64],
  [128, 64],
  [128, 96],
] as const;

/** Codes are stored sixteen at a time. */
const mostOfCodes = 64;

export const planeTiles: readonly PlaneTile[] = (["f16", "bf16", "codes"] as const).flatMap((math) =>
  sizes
    .filter(([, filters]) => math !== "codes" || filters <= mostOfCodes)
    .map(([rows, filters]) => ({ entry: `conv_planes_${math}_${rows}x${filters}`, math, rows, filters })),
);

/** Of an element of the result. */
export function storedBytes({ math }: PlaneTile): number {
  return math === "codes" ? 1 : 2;
}

/** Two groups that multiply, and a warp that copies. */
export const planeThreads = 288;
const warps = 8;

export interface Tap {
  readonly plane: number;
  /** Pixels from a position to what the tap reads of its plane: rows, and in them columns. */
  readonly row: number;
  readonly column: number;
  /** Of the window: its row, and the first of the columns that it has. */
  readonly kernelRow: number;
  readonly kernelColumn: number;
}

/** An image as planes: one for each phase of the rows' stride. */
export interface Planes {
  readonly count: number;
  /** Neighbouring columns of a pixel; with their channels its slots. */
  readonly columnsOfPixel: number;
  readonly slots: number;
  /** Pixels of a row, rows of an image, and all of them: with the zeros around the image. */
  readonly columns: number;
  readonly rows: number;
  readonly positions: number;
  /** In the order of their planes, rows and columns. */
  readonly taps: readonly Tap[];
}

const mostPlanes = 8;

/** Undefined where a pixel has too few slots, or the window too many taps. */
export function planesOf({
  window,
  y,
  channels,
}: Pick<Parts, "window" | "y" | "channels">): Planes | undefined {
  const [, kernelRows, kernelColumns] = window.kernel;
  const [, strideY, strideX] = window.stride;
  const columnsOfPixel = columnsIn(channels, kernelColumns, strideX);
  const count = Math.min(strideY, kernelRows);
  if (columnsOfPixel === 0 || count > mostPlanes) return undefined;
  const taps: Tap[] = [];
  for (let plane = 0; plane < count; plane++) {
    for (let row = 0; row * strideY + plane < kernelRows; row++) {
      for (let at = 0; at < kernelColumns; at += columnsOfPixel)
        taps.push({ plane, row, column: at / strideX, kernelRow: row * strideY + plane, kernelColumn: at });
    }
  }
  if (taps.length > 2 * mostSteps) return undefined;
  const columns = y.size[2] + maxOf(taps.map(({ column }) => column));
  const rows = y.size[1] + maxOf(taps.map(({ row }) => row));
  const positions = y.batch * rows * columns;
  return { count, columnsOfPixel, slots: columnsOfPixel * channels, columns, rows, positions, taps };
}

/** As many as fit, by whole strides, unless one pixel has all columns of the window. 0: not even one stride fits. */
function columnsIn(channels: number, kernel: number, stride: number): number {
  const fitting = Math.floor(slotsOfPixel / channels);
  return kernel <= fitting ? kernel : Math.floor(fitting / stride) * stride;
}

/** A run of pixels that a stage has: of which plane, from where on after a tile's first one, and where it goes. */
export interface Run {
  readonly plane: number;
  readonly from: number;
  readonly to: number;
  readonly pixels: number;
}

/** What a block's shared memory holds. Pixels have 16 bytes. */
export interface PlaneStage {
  readonly runs: readonly Run[];
  /** Of each tap, in pixels of the stage. An odd number of them has zeros behind the runs as its last one. */
  readonly places: readonly number[];
  readonly copiedPixels: number;
  readonly pixels: number;
}

/** Each plane is one run, or one for each row of taps where rows are longer than a tile. Undefined where they are too many. */
export function stageOf({ count, columns, taps }: Planes, { rows }: PlaneTile): PlaneStage | undefined {
  const wide = rows + maxOf(taps.map(({ column }) => column));
  const runs: Run[] = [];
  const places: number[] = [];
  let to = 0;
  for (let plane = 0; plane < count; plane++) {
    const own = taps.filter((tap) => tap.plane === plane);
    const tapRows = maxOf(own.map(({ row }) => row)) + 1;
    const pitch = Math.min(columns, wide);
    for (const { row, column } of own) places.push(to + row * pitch + column);
    const pieces =
      columns <= wide ? [{ row: 0, pixels: (tapRows - 1) * columns + wide }] : wholeRows(tapRows, wide);
    for (const { row, pixels } of pieces) {
      runs.push({ plane, from: row * columns, to, pixels });
      to += pixels;
    }
  }
  if (runs.length > mostCopies) return undefined;
  const isOdd = places.length % 2 === 1;
  if (isOdd) places.push(to);
  return { runs, places, copiedPixels: to, pixels: to + (isOdd ? rows : 0) };
}

function wholeRows(count: number, pixels: number) {
  return Array.from({ length: count }, (_, row) => ({ row, pixels }));
}

/** Barriers, scales and biases, a slab of 16 rows for each warp, the weights, and the ring: as product.cuh has them. */
export function planeSharedBytes(tile: PlaneTile, stage: PlaneStage, stages: number): number {
  const { filters } = tile;
  const slab = 16 * (filters * storedBytes(tile) + 16);
  return (
    128 + 2 * filters * 4 + warps * slab + stage.places.length * filters * 16 + stages * stage.pixels * 16
  );
}
