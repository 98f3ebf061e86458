/**
 * @file The kernels for products, one row each: what gemm.cu, gemm-bf16.cu, gemm-tf32.cu, gemm-hopper.cu, gemm-thin.cu and
 * gemm-plain.cu instantiate.
 */
import type { ArchitectureName } from "../../../src/hardware/architectures.ts";
import type { FloatStorage } from "../../ir/storage.ts";

/** One letter an operand: "k" where its unit stride is along k, else the other axis. */
export type Layout = "kk" | "kn" | "mk" | "mn";

export type Arithmetic = "half" | "tf32";

/** Tensor Cores by mma.sync, fed by cp.async. */
export interface TensorRow {
  readonly kind: "tensor";
  /** Before "_" and the layout. */
  readonly tile: string;
  readonly arithmetic: Arithmetic;
  readonly m: number;
  readonly n: number;
  readonly k: number;
  readonly warpM: number;
  readonly warpN: number;
  readonly stages: number;
  /** Blocks to a multiprocessor that registers leave room for. */
  readonly occupancy: number;
  readonly layouts: readonly Layout[];
  /** Rows of halves at any even address; else at multiples of 4 bytes. */
  readonly odd: boolean;
  /**
   * Time over that which cost.ts would predict, where somebody measured: on an H200, the geometric mean over 20 shapes
   * (bench/gpu/gemm.ts --sweep).
   */
  readonly measured: Readonly<Partial<Record<ArchitectureName, number>>>;
}

/** wgmma, fed by TMA: halves, both operands along k, rows at multiples of 16 bytes. One block a multiprocessor. */
export interface HopperRow {
  readonly kind: "hopper";
  readonly tile: string;
  readonly m: number;
  readonly n: number;
  readonly k: number;
  readonly stages: number;
  /** Whether both of a block's groups compute one tile, half of the rows each; else they take turns. */
  readonly together: boolean;
  readonly team: Team;
}

/** Blocks compute tiles of their own; or those of a cluster have a split of k each, and add up through each other's shared memory. */
export type Team = "none" | "sum";

/** wgmma, fed by TMA, for many rows and little along k: several blocks a multiprocessor, the columns' operand stays in shared memory. */
export interface ThinRow {
  readonly kind: "thin";
  readonly tile: string;
  readonly m: number;
  readonly n: number;
  /** Columns of one group of warps, which has 64 rows. */
  readonly width: number;
  /** Blocks to a multiprocessor that registers leave room for. */
  readonly blocks: number;
}

/** FP32 on CUDA cores, any strides and types. */
export interface SimtRow {
  readonly kind: "simt";
  readonly tile: string;
  readonly m: number;
  readonly n: number;
  readonly k: number;
  readonly occupancy: number;
  /** Of the CUDA cores' rate, where everything else is hidden. */
  readonly efficiency: number;
}

/** Few rows, on CUDA cores. */
export interface SkinnyRow {
  readonly kind: "skinny";
  /** b's unit stride; `short`: along k, too, with a few lanes to a column. */
  readonly along: "k" | "n" | "short";
  /** Of a load: 16 bytes, two elements, or one. */
  readonly load: "wide" | "pair" | "one";
  readonly rows: number;
}

export type GemmRow = TensorRow | HopperRow | ThinRow | SimtRow | SkinnyRow;
/** Those that may cut k. */
export type CutRow = Exclude<GemmRow, ThinRow>;

const all = ["kk", "kn", "mk", "mn"] as const;
const alongK = ["kk", "kn"] as const;

/** Tile m, n, k, of a warp m and n, stages, occupancy. */
type Sizes = readonly [number, number, number, number, number, number, number];

function tensor(
  arithmetic: Arithmetic,
  sizes: Sizes,
  layouts: readonly Layout[],
  hopper: number,
  odd = false,
): TensorRow {
  const [m, n, k, warpM, warpN, stages, occupancy] = sizes;
  const tile = `t${m}x${n}x${k}`;
  return {
    kind: "tensor",
    tile,
    arithmetic,
    m,
    n,
    k,
    warpM,
    warpN,
    stages,
    occupancy,
    layouts,
    odd,
    measured: { hopper },
  };
}

/** Of a tile: m, n, stages. */
type HopperSizes = readonly [number, number, number];

function hopper([m, n, stages]: HopperSizes, together: boolean): HopperRow {
  const k = 64;
  return { kind: "hopper", tile: `h${m}x${n}x${k}`, m, n, k, stages, together, team: "none" };
}

/** Of 64 rows both groups have all in every other step; of 128 they have a half each. */
function sum(sizes: HopperSizes): HopperRow {
  const row = hopper(sizes, sizes[0] > 64);
  return { ...row, tile: row.tile.replace("h", "s"), team: "sum" };
}

/** Blocks by themselves: convolutions are computed by these too. */
export const hopperRows: readonly HopperRow[] = [
  hopper([256, 128, 4], true),
  hopper([128, 256, 4], true),
  hopper([128, 192, 5], true),
  hopper([128, 160, 5], false),
  hopper([128, 128, 6], false),
  hopper([128, 96, 7], false),
  hopper([64, 256, 5], false),
  hopper([128, 64, 8], false),
  hopper([64, 128, 8], false),
  // Rings that leave room for a block of the next launch.
  hopper([64, 64, 5], false),
  hopper([64, 32, 7], false),
];
/** Of products alone: 729x4304 is 120 tiles of it, 102 of 256 columns and 138 of 192, which are more than there are multiprocessors. */
const productRows: readonly HopperRow[] = [hopper([128, 224, 4], true)];
const teamRows: readonly HopperRow[] = [sum([64, 32, 14]), sum([64, 64, 10])];
/**
 * The same with rings that leave room for two blocks: a part of the taps and channels is a few steps. And large tiles, for parts of many steps: each has a
 * multiprocessor to itself.
 */
export const convTeamRows: readonly HopperRow[] = [
  sum([64, 32, 8]),
  sum([64, 64, 5]),
  sum([128, 32, 4]),
  sum([128, 64, 3]),
  sum([128, 96, 8]),
  sum([128, 128, 7]),
];

/** Of groups, how many lie below each other and side by side; columns of one; blocks to a multiprocessor. */
function thin(groupsM: number, groupsN: number, width: number, blocks: number): ThinRow {
  const [m, n] = [64 * groupsM, width * groupsN];
  return { kind: "thin", tile: `r${m}x${n}`, m, n, width, blocks };
}

export const thinRows: readonly ThinRow[] = [
  thin(1, 1, 16, 6),
  thin(1, 1, 24, 6),
  thin(1, 1, 32, 6),
  thin(1, 1, 48, 5),
  thin(1, 1, 64, 5),
  thin(1, 1, 80, 4),
  thin(1, 1, 96, 4),
  thin(1, 1, 128, 3),
  thin(1, 2, 96, 2),
  thin(2, 2, 96, 1),
  thin(1, 4, 96, 1),
];

export const gemmTable: readonly GemmRow[] = [
  ...hopperRows,
  ...productRows,
  ...teamRows,
  ...thinRows,
  tensor("half", [256, 128, 64, 64, 64, 3, 1], alongK, 1.75),
  tensor("half", [128, 128, 64, 64, 64, 3, 2], all, 1.6),
  tensor("half", [128, 64, 64, 64, 32, 3, 3], alongK, 1.3),
  tensor("half", [64, 128, 64, 32, 64, 3, 3], alongK, 1.2),
  tensor("half", [64, 64, 64, 32, 32, 4, 4], all, 1.05),
  tensor("half", [32, 128, 64, 32, 32, 4, 4], alongK, 1.1),
  tensor("half", [32, 64, 64, 16, 32, 4, 7], alongK, 0.9),
  tensor("half", [16, 64, 64, 16, 16, 5, 9], alongK, 0.85),
  tensor("half", [64, 64, 64, 32, 32, 2, 3], alongK, 1.05, true),
  tensor("half", [16, 64, 64, 16, 16, 2, 5], alongK, 0.85, true),
  tensor("tf32", [128, 128, 32, 64, 64, 3, 2], all, 1.6),
  tensor("tf32", [128, 64, 32, 64, 32, 3, 3], alongK, 1.3),
  tensor("tf32", [64, 64, 32, 32, 32, 4, 4], all, 1.05),
  tensor("tf32", [32, 64, 32, 16, 32, 4, 6], alongK, 0.9),
  tensor("tf32", [16, 64, 32, 16, 16, 5, 8], alongK, 0.85),
  { kind: "simt", tile: "simt_128", m: 128, n: 128, k: 8, occupancy: 2, efficiency: 0.75 },
  { kind: "simt", tile: "simt_64", m: 64, n: 64, k: 16, occupancy: 2, efficiency: 0.5 },
  { kind: "simt", tile: "simt_32", m: 32, n: 32, k: 32, occupancy: 2, efficiency: 0.25 },
  ...[1, 4].flatMap((rows) => [
    ...(["k", "n"] as const).flatMap((along) =>
      (["wide", "one"] as const).map((load): SkinnyRow => ({ kind: "skinny", along, load, rows })),
    ),
    ...(["wide", "pair", "one"] as const).map(
      (load): SkinnyRow => ({ kind: "skinny", along: "short", load, rows }),
    ),
  ]),
];

export function elementBytes(type: FloatStorage): number {
  return type === "float32" ? 4 : 2;
}

/** Lanes that share a short column: 64 elements of it in wide loads of half, 32 in pairs, 16 by themselves. */
const shortLanes = { wide: 8, pair: 16, one: 16 } as const;

export interface SkinnyShape {
  /** That a block computes. */
  readonly columns: number;
  readonly threads: number;
  /** Elements of one load. */
  readonly width: number;
  /** Beside each other: along k, or of columns. */
  readonly lanes: number;
}

export function skinnyShape({ along, load }: SkinnyRow, type: FloatStorage): SkinnyShape {
  const width = { wide: 16 / elementBytes(type), pair: 2, one: 1 }[load];
  if (along === "k") return { columns: 8, threads: 128, width, lanes: 32 };
  if (along === "short") return { columns: 128, threads: 128, width, lanes: shortLanes[load] };
  const lanes = load === "wide" ? 8 : 32;
  return { columns: lanes * width, threads: 256, width, lanes };
}

export function threadsOf(row: TensorRow): number {
  return (row.m / row.warpM) * (row.n / row.warpN) * 32;
}

/** Of one stage: a tile of each operand. */
export function stageBytes(row: TensorRow | HopperRow): number {
  const isFloat = row.kind === "tensor" && row.arithmetic === "tf32";
  return (row.m + row.n) * row.k * (isFloat ? 4 : 2);
}

/** Groups of four warps, and one warp that copies. */
export function thinThreads({ m, n, width }: ThinRow): number {
  return (m / 64) * (n / width) * 128 + 32;
}

/** Two groups that multiply, one that copies. */
export const hopperThreads = 384;

/** Whether splits of k need no workspace and no second launch. */
export function sumsInTeam(row: GemmRow): boolean {
  return row.kind === "hopper" && row.team === "sum";
}

/** Of a block that adds splits up: rows of threads, each with a run of them. */
export function runsOfSum(splits: number): 1 | 4 {
  return splits > 4 ? 4 : 1;
}

/** What eight warps store from, 16 rows of 32 + 8 floats each. */
const slabBytes = 8 * 16 * 40 * 4;
const barrierBytes = 8;
/** Beyond it (kernels/core/hopper-sum.cuh) a team's sums take the place of the ring. */
const smallTeamElements = 128 * 64;

/** Of a team: whether each block has a multiprocessor to itself, and a ring as long as that has room for. */
export function isLargeTeamRow({ m, n }: HopperRow): boolean {
  return m * n > smallTeamElements;
}

export function sharedBytesOf(row: TensorRow | HopperRow): number {
  const ring = row.stages * stageBytes(row);
  if (row.kind === "hopper" && row.team === "sum") {
    // Floats in rows of eight more.
    const sums = isLargeTeamRow(row) ? 0 : row.m * (row.n + 8) * 4;
    return ring + sums + 2 * row.stages * barrierBytes;
  }
  // Of barriers one each for a stage that is full, one that is empty, and a group's turn.
  return row.kind === "tensor" ? ring : ring + slabBytes + 2 * (row.stages + 1) * barrierBytes;
}

/** That a multiprocessor of sm_90 has room for. */
export function blocksOfTeamRow(row: HopperRow): 1 | 2 {
  return 2 * (sharedBytesOf(row) + 1024) <= 228 * 1024 ? 2 : 1;
}

/** Blocks by themselves that a multiprocessor has room for, as `blocksOfProduct` of kernels/core/ counts them. `panels`: pieces of a row. */
export function blocksThatStay({ m, n }: HopperRow, panels = 1): 1 | 2 {
  return m * n <= 64 * (panels === 1 ? 64 : 32) ? 2 : 1;
}

const families = { float16: "gemm", bfloat16: "gemm-bf16", float32: "gemm-tf32" } as const;

/** Family and entry of a row for operands of a type. */
export function kernelOf(
  row: GemmRow,
  type: FloatStorage,
  layout: Layout | undefined,
): { kind: "built"; family: string; entry: string } {
  switch (row.kind) {
    case "hopper": {
      const suffix = type === "bfloat16" ? "bf16" : "f16";
      return { kind: "built", family: "gemm-hopper", entry: `${row.tile}_${suffix}` };
    }
    case "thin": {
      const suffix = type === "bfloat16" ? "bf16" : "f16";
      return { kind: "built", family: "gemm-thin", entry: `${row.tile}_${suffix}` };
    }
    case "tensor": {
      const entry = `${row.tile}_${layout ?? "kk"}${row.odd ? "_odd" : ""}`;
      return { kind: "built", family: families[type], entry };
    }
    case "simt":
      return { kind: "built", family: "gemm-plain", entry: row.tile };
    case "skinny": {
      const entry = `skinny_${type}_${row.along}${row.load === "one" ? "" : `_${row.load}`}_${row.rows}`;
      return { kind: "built", family: "gemm-plain", entry };
    }
  }
}
