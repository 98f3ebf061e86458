/** @file The kernels for products of codes, one row each. */
import type { HopperRow } from "../gemm/table.ts";

export interface MmaTile {
  readonly kind: "mma";
  readonly m: number;
  readonly n: number;
  readonly threads: number;
  readonly sharedBytes: number;
}

export interface HopperTile {
  /** Of "sum" a team's blocks have a part of k each; "many" has more warps, and makes nothing but codes. */
  readonly kind: "hopper" | "sum" | "many";
  /** How many groups multiply, and blocks share a multiprocessor. */
  readonly groups: number;
  readonly resident: number;
  readonly m: number;
  readonly n: number;
  readonly threads: number;
  readonly sharedBytes: number;
  /** The kernel of halves whose stages are as large, and whose groups share tiles or take turns as this one's do. */
  readonly likeHalves: HopperRow;
}

export type Tile = MmaTile | HopperTile;

function mma(m: number, n: number, stages: number, threads: number): Tile {
  return { kind: "mma", m, n, threads, sharedBytes: stages * (m + n) * 64 };
}

/** Bytes of a row of a stage: what the swizzle spans. */
export const depth = 128;
const groups = 2;
/** What a warp stores from: 16 rows of 128 bytes, and what keeps them in banks of their own. */
const slabBytes = 16 * (128 + 32);

function hopper(m: number, n: number, stages: number, how: "together" | "turns"): Tile {
  const ring = stages * (m + n) * depth;
  // Scale, bias and addend of each column, for both groups.
  const columns = groups * 3 * n * 4;
  // Of barriers one each for a stage that is full, one that is empty, and a group's turn.
  const barriers = 8 * (2 * stages + groups);
  const sharedBytes = ring + groups * 4 * slabBytes + columns + barriers;
  const together = how === "together";
  const likeHalves: HopperRow = {
    ...{ kind: "hopper", tile: `h${m}x${n}x${depth}`, m, n, k: depth / 2, stages, together, team: "none" },
  };
  return { kind: "hopper", groups, resident: 1, m, n, threads: 384, sharedBytes, likeHalves };
}

/** Groups take turns. */
function many(m: number, n: number, stages: number, ofGroups: number, resident: number): Tile {
  const ring = stages * (m + n) * depth;
  const sharedBytes = ring + ofGroups * (4 * slabBytes + 3 * n * 4) + 8 * (2 * stages + ofGroups);
  const likeHalves: HopperRow = {
    ...{
      kind: "hopper",
      tile: `h${m}x${n}x${depth}`,
      m,
      n,
      k: depth / 2,
      stages,
      together: false,
      team: "none",
    },
  };
  const threads = (ofGroups + 1) * 128;
  return { kind: "many", groups: ofGroups, resident, m, n, threads, sharedBytes, likeHalves };
}

/** Of 64 rows: warps of both groups leave sums for the team. */
function sum(n: number, stages: number): Tile {
  const ring = stages * (64 + n) * depth;
  const parts = groups * 64 * n * 4;
  const sharedBytes = ring + groups * 4 * slabBytes + parts + 8 * 2 * stages;
  const likeHalves: HopperRow = {
    ...{
      kind: "hopper",
      tile: `s64x${n}x${depth}`,
      m: 64,
      n,
      k: depth / 2,
      stages,
      together: false,
      team: "sum",
    },
  };
  return { kind: "sum", groups, resident: 1, m: 64, n, threads: 384, sharedBytes, likeHalves };
}

/** Blocks of a team: one has k to itself, half a group. */
export const teams = [1, 2, 4, 8] as const;

export const codeTiles: readonly Tile[] = [
  mma(128, 128, 3, 256),
  mma(64, 64, 4, 128),
  hopper(256, 128, 4, "together"),
  hopper(128, 256, 4, "together"),
  hopper(128, 128, 6, "turns"),
  hopper(128, 64, 8, "turns"),
  hopper(64, 128, 8, "turns"),
  hopper(64, 64, 12, "turns"),
  hopper(64, 32, 16, "turns"),
  sum(64, 6),
  sum(32, 8),
  many(64, 64, 5, 2, 2),
  many(64, 32, 7, 2, 2),
  many(64, 128, 7, 3, 1),
];

/** Of kernels that walk through an image: parts of a stage, each a box of channels of one tap. */
export const walkParts: Readonly<Record<string, readonly number[]>> = {
  h128x128: [1],
  h128x64: [1, 2, 4],
  h64x128: [1],
  h64x64: [1, 2],
  h64x32: [1, 2, 4],
  s64x64: [1, 2],
  s64x32: [1, 2],
  d64x64: [1, 2],
  d64x32: [1, 2],
  t64x128: [1],
};

/** As entries are called. */
export function nameOfTile(tile: Tile): string {
  return `${letterOf(tile)}${tile.m}x${tile.n}`;
}

function letterOf(tile: Tile): string {
  if (tile.kind !== "many") return { mma: "", hopper: "h", sum: "s" }[tile.kind];
  return tile.resident > 1 ? "d" : "t";
}
