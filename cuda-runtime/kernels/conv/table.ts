/** @file The convolution kernels there are: one row an entry of conv.cu, conv-hopper.cu, conv-tma.cu or conv-halo.cu. */
import {
  blocksOfTeamRow,
  convTeamRows,
  type HopperRow,
  hopperRows,
  hopperThreads,
  sumsInTeam as productSumsInTeam,
  sharedBytesOf as sharedBytesOfProduct,
} from "../gemm/table.ts";
import { groupsOf, type Halo, halos } from "./halo-table.ts";

/** How a product is computed. Halves and TF32 on Tensor Cores (sm_80 and later; float16 sm_75 too), float32 on CUDA cores. */
export type ConvMath = "f16" | "bf16" | "tf32" | "f32";

export interface ConvTile {
  readonly family: "conv" | "conv-hopper" | "conv-tma" | "conv-halo";
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
  readonly walk?: Walk | undefined;
  readonly halo?: Halo | undefined;
}

/** Of conv-tma: the product that it is, but for where the rows come from; and how many boxes of channels are a step. */
export interface Walk {
  readonly product: HopperRow;
  readonly panels: Panels;
}

type Panels = 1 | 2 | 4;

/** A box of one tap holds so many, filled up with zeros. */
export function channelsOfBox({ panels, product }: Walk): number {
  return product.k / panels;
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
  [256, 128, 4, 4, [4, 2], 1, 0.923],
  [128, 128, 4, 4, [2, 4], 2, 0.855],
  [256, 64, 4, 4, [4, 2], 2, 0.826],
  [128, 64, 4, 4, [2, 2], 3, 0.826],
  [64, 128, 4, 4, [1, 4], 3, 0.777],
  [64, 64, 8, 4, [2, 2], 3, 0.729],
  [128, 32, 4, 4, [4, 1], 4, 0.631],
  [64, 32, 8, 4, [4, 1], 4, 0.534],
  [128, 16, 8, 3, [4, 1], 4, 0.437],
];
const narrow: readonly Shape[] = [
  [128, 128, 4, 4, [2, 4], 2, 0.826],
  [64, 64, 4, 4, [2, 2], 4, 0.68],
];
const gathering: readonly Shape[] = [
  [128, 64, 4, 2, [2, 2], 3, 0.68],
  [128, 32, 4, 2, [4, 1], 4, 0.583],
];
const copyingTf32: readonly Shape[] = [
  [128, 128, 4, 4, [2, 4], 2, 0.826],
  [128, 64, 4, 4, [2, 2], 3, 0.777],
  [64, 64, 8, 4, [2, 2], 3, 0.68],
  [64, 32, 8, 4, [4, 1], 4, 0.534],
];
const copyingF32: readonly Shape[] = [
  [128, 64, 4, 3, [2, 2], 2, 0.777],
  [64, 32, 4, 3, [2, 1], 6, 0.68],
];
const gatheringF32: readonly Shape[] = [
  [128, 64, 4, 2, [2, 2], 2, 0.583],
  [64, 32, 4, 2, [2, 1], 6, 0.583],
];

/** By wgmma: a warp holds 16 rows of all filters. */
const hopper: readonly Shape[] = [
  [256, 128, 8, 4, [16, 1], 1, 0.993],
  [128, 256, 8, 4, [8, 1], 1, 0.959],
  [128, 128, 8, 3, [8, 1], 2, 0.925],
  [128, 64, 8, 4, [8, 1], 2, 0.822],
  [128, 32, 8, 4, [8, 1], 2, 0.616],
  [64, 128, 8, 4, [4, 1], 2, 0.822],
  [64, 64, 8, 4, [4, 1], 3, 0.753],
  [64, 32, 8, 4, [4, 1], 4, 0.548],
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

/** What few channels do not fill whole rows of is worth kernels of its own: for these products. */
const narrowest: Readonly<Record<Panels, number>> = { 1: 256, 2: 128, 4: 64 };

/** Blocks that TMA feeds: tiles of the products of matrices, and of teams that add up. */
function walkingTiles(math: "f16" | "bf16", source: ConvTile["source"]): ConvTile[] {
  return ([1, 2, 4] as const).flatMap((panels) =>
    [...hopperRows, ...(panels === 4 ? [] : convTeamRows)]
      .filter(({ m, n }) => n <= narrowest[panels] && m <= narrowest[panels] * 2)
      .map((product) => ({
        family: "conv-tma" as const,
        entry: `conv_${math}_${product.team === "sum" ? "s" : "w"}${product.m}x${product.n}${panels === 1 ? "" : `_p${panels}`}`,
        math,
        rows: product.m,
        filters: product.n,
        chunks: product.k / 8,
        stages: product.stages,
        warps: [8, 1] as const,
        blocks: product.team === "sum" ? blocksOfTeamRow(product) : 1,
        grain: 16,
        source,
        efficiency: 1,
        walk: { product, panels },
      })),
  );
}

/** Blocks that read taps from patches of the image. */
function haloTiles(math: "f16" | "bf16", source: ConvTile["source"]): ConvTile[] {
  return halos.map((halo) => ({
    family: "conv-halo" as const,
    entry: `conv_${math}_p${halo.patches * 64}x${halo.filters}${halo.channels === 64 ? "" : `_c${halo.channels}`}`,
    math,
    rows: halo.patches * 64,
    filters: halo.filters,
    chunks: halo.channels / 8,
    stages: halo.stages,
    // A group more, which copies.
    warps: [4 * (groupsOf(halo) + 1), 1] as const,
    blocks: halo.blocks,
    grain: 16,
    source,
    efficiency: 1,
    halo,
  }));
}

function halfTiles(math: "f16" | "bf16", source: "float16" | "bfloat16"): ConvTile[] {
  return [
    ...walkingTiles(math, source),
    ...haloTiles(math, source),
    ...tiles(math, hopper, { grain: 16, source, suffix: "" }).map((tile) => ({
      ...tile,
      family: "conv-hopper" as const,
      entry: `conv_${math}_h${tile.rows}x${tile.filters}`,
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

export function isWgmma({ family }: ConvTile): boolean {
  return family !== "conv";
}

/** Whether splits are added up in the same launch. */
export function sumsInTeam({ walk }: ConvTile): boolean {
  return walk !== undefined && productSumsInTeam(walk.product);
}

/** Bytes of an operand's element. */
export function elementBytes(math: ConvMath): 2 | 4 {
  return math === "f16" || math === "bf16" ? 2 : 4;
}

export function threadsOf({ warps, walk }: ConvTile): number {
  return walk === undefined ? 32 * warps[0] * warps[1] : hopperThreads;
}

/** Whether TMA fetches it: channels are counted in boxes, and splits by the blocks themselves. */
export function isByBoxes({ walk, halo }: ConvTile): boolean {
  return walk !== undefined || halo !== undefined;
}

/** Stages of both operands, and afterwards a strip of 16 rows of sums for each warp; of patches, what they do not need. */
export function sharedBytesOf({ rows, filters, chunks, stages, warps, walk }: ConvTile): number {
  if (walk !== undefined) return sharedBytesOfProduct(walk.product);
  const strip = 16 * (filters / warps[1] + 8) * 4;
  return Math.max(stages * (rows + filters) * chunks * 16, warps[0] * warps[1] * strip);
}
