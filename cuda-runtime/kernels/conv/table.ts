/** @file The convolution kernels there are: one row an entry of conv.cu or conv-hopper.cu. */

/** How a product is computed. Halves and TF32 on Tensor Cores (sm_80 and later; float16 sm_75 too), float32 on CUDA cores. */
export type ConvMath = "f16" | "bf16" | "tf32" | "f32";

export interface ConvTile {
  readonly family: "conv" | "conv-hopper";
  readonly entry: string;
  readonly math: ConvMath;
  /** Output positions and filters of a block. */
  readonly rows: number;
  readonly filters: number;
  /** Pieces of 16 bytes that a row of the block's operands has in one stage. */
  readonly chunks: number;
  readonly stages: number;
  readonly warps: readonly [rows: number, filters: number];
  /** Blocks that one multiprocessor has registers for. */
  readonly blocks: number;
  /** Bytes that x is copied by; 0: element by element, whatever its strides. */
  readonly grain: 16 | 8 | 4 | 0;
  /** The type that x is stored as. */
  readonly source: "float16" | "bfloat16" | "float32";
  /** Share of the instructions' peak that its inner loop gets to, with warps enough. */
  readonly efficiency: number;
  /** The only architecture that it runs on; undefined for all. */
  readonly arch?: number;
}

type Shape = readonly [
  rows: number,
  filters: number,
  chunks: number,
  stages: number,
  warps: readonly [number, number],
  blocks: number,
  efficiency: number,
];

const copying: readonly Shape[] = [
  [256, 128, 4, 4, [4, 2], 1, 0.95],
  [128, 128, 4, 4, [2, 4], 2, 0.88],
  [256, 64, 4, 4, [4, 2], 2, 0.85],
  [128, 64, 4, 4, [2, 2], 3, 0.85],
  [64, 128, 4, 4, [1, 4], 3, 0.8],
  [64, 64, 8, 4, [2, 2], 3, 0.75],
  [128, 32, 4, 4, [4, 1], 4, 0.65],
  [64, 32, 8, 4, [4, 1], 4, 0.55],
  [128, 16, 8, 3, [4, 1], 4, 0.45],
];
const narrow: readonly Shape[] = [
  [128, 128, 4, 4, [2, 4], 2, 0.85],
  [64, 64, 4, 4, [2, 2], 4, 0.7],
];
const gathering: readonly Shape[] = [
  [128, 64, 4, 2, [2, 2], 3, 0.7],
  [128, 32, 4, 2, [4, 1], 4, 0.6],
];
const copyingTf32: readonly Shape[] = [
  [128, 128, 4, 4, [2, 4], 2, 0.85],
  [128, 64, 4, 4, [2, 2], 3, 0.8],
  [64, 64, 8, 4, [2, 2], 3, 0.7],
  [64, 32, 8, 4, [4, 1], 4, 0.55],
];
const copyingF32: readonly Shape[] = [
  [128, 64, 4, 3, [2, 2], 2, 0.8],
  [64, 32, 4, 3, [2, 1], 6, 0.7],
];
const gatheringF32: readonly Shape[] = [
  [128, 64, 4, 2, [2, 2], 2, 0.6],
  [64, 32, 4, 2, [2, 1], 6, 0.6],
];

/** By wgmma: a warp holds 16 rows of all filters. Efficiency is counted in products of mma.sync. */
const hopper: readonly Shape[] = [
  [256, 128, 8, 4, [16, 1], 1, 1.45],
  [128, 256, 8, 4, [8, 1], 1, 1.4],
  [128, 128, 8, 3, [8, 1], 2, 1.35],
  [128, 64, 8, 4, [8, 1], 2, 1.2],
  [128, 32, 8, 4, [8, 1], 2, 0.9],
  [64, 128, 8, 4, [4, 1], 2, 1.2],
  [64, 64, 8, 4, [4, 1], 3, 1.1],
  [64, 32, 8, 4, [4, 1], 4, 0.8],
];

interface Variant {
  readonly grain: ConvTile["grain"];
  readonly source: ConvTile["source"];
  readonly suffix: string;
}

function tiles(math: ConvMath, shapes: readonly Shape[], { grain, source, suffix }: Variant): ConvTile[] {
  return shapes.map(([rows, filters, chunks, stages, warps, blocks, efficiency]) => ({
    family: "conv" as const,
    entry: `conv_${math}_${rows}x${filters}${suffix}`,
    math,
    rows,
    filters,
    chunks,
    stages,
    warps,
    blocks,
    grain,
    source,
    efficiency,
  }));
}

function halfTiles(math: "f16" | "bf16", source: "float16" | "bfloat16"): ConvTile[] {
  return [
    ...tiles(math, hopper, { grain: 16, source, suffix: "" }).map((tile) => ({
      ...tile,
      family: "conv-hopper" as const,
      entry: `conv_${math}_h${tile.rows}x${tile.filters}`,
      arch: 90,
    })),
    ...tiles(math, copying, { grain: 16, source, suffix: "" }),
    ...tiles(math, narrow, { grain: 8, source, suffix: "_g8" }),
    ...tiles(math, narrow, { grain: 4, source, suffix: "_g4" }),
    ...tiles(math, gathering, { grain: 0, source, suffix: "_gather" }),
    ...tiles(math, gathering, { grain: 0, source: "float32", suffix: "_gather_f32" }),
  ];
}

const float32 = { source: "float32" } as const;

export const convTiles: readonly ConvTile[] = [
  ...halfTiles("f16", "float16"),
  ...halfTiles("bf16", "bfloat16"),
  ...tiles("tf32", copyingTf32, { ...float32, grain: 16, suffix: "" }),
  ...tiles("tf32", gathering, { ...float32, grain: 0, suffix: "_gather" }),
  ...tiles("f32", copyingF32, { ...float32, grain: 16, suffix: "" }),
  ...tiles("f32", gatheringF32, { ...float32, grain: 0, suffix: "_gather" }),
];

/** Bytes of an operand's element. */
export function elementBytes(math: ConvMath): 2 | 4 {
  return math === "f16" || math === "bf16" ? 2 : 4;
}

export function threadsOf({ warps }: ConvTile): number {
  return 32 * warps[0] * warps[1];
}

/** Stages of both operands, and afterwards a strip of 16 rows of sums for each warp. */
export function sharedBytesOf({ rows, filters, chunks, stages, warps }: ConvTile): number {
  const strip = 16 * (filters / warps[1] + 8) * 4;
  return Math.max(stages * (rows + filters) * chunks * 16, warps[0] * warps[1] * strip);
}
