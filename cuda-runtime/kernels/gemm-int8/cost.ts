/**
 * @file The kernels for products of codes, one row each, and what a product takes: what one of halves does with half as
 * many along k. On an H200 (bench/gpu/int8.ts) that, and 1.3 clocks for an element of the result (1.0 for 8-bit floats),
 * told the times of nine products in ten within a fifth, of a kernel whose threads stored on their own what they held.
 * Since results leave as those of halves do, they are thought to take as long; that is not measured yet.
 */
import type { PlanTarget } from "../../ir/step.ts";
import { bytesOfType, type StorageType } from "../../ir/storage.ts";
import { epilogueClocks } from "../gemm/cost.ts";
import {
  dramShareOf,
  hopperRates,
  type SumRates,
  stayingClocks,
  teamSumClocks,
} from "../gemm/staying-cost.ts";
import type { HopperRow } from "../gemm/table.ts";
import { type WalkSize, walkDepth, walkSteps } from "./code-walk.ts";
import type { CodeTail } from "./tail.ts";

export interface ProductSize {
  readonly m: number;
  readonly n: number;
  readonly k: number;
  readonly batch: number;
}

interface MmaTile {
  readonly kind: "mma";
  readonly m: number;
  readonly n: number;
  readonly threads: number;
  readonly sharedBytes: number;
}

interface HopperTile {
  /** Of "sum" a team's blocks have a part of k each. */
  readonly kind: "hopper" | "sum";
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
const depth = 128;
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
  return { kind: "hopper", m, n, threads: 384, sharedBytes, likeHalves };
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
  return { kind: "sum", m: 64, n, threads: 384, sharedBytes, likeHalves };
}

/** Blocks of a team: one has k to itself, half a group. */
const teams = [1, 2, 4, 8] as const;

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
};

/** As entries are called. */
export function nameOfTile({ kind, m, n }: Tile): string {
  const letters = { mma: "", hopper: "h", sum: "s" } as const;
  return `${letters[kind]}${m}x${n}`;
}

export interface TileTarget extends PlanTarget {
  /** Whether TMA takes the operands, and the product is one that kernels of Hopper do. */
  readonly mayFetch: boolean;
  /** Whether there are kernels that add up in a team for such operands. */
  readonly maySum: boolean;
  /** A convolution that TMA may walk through. */
  readonly walk?: WalkSize | undefined;
}

/** What becomes of sums. */
export interface CodeResult {
  readonly type: StorageType;
  readonly tail?: CodeTail | undefined;
}

export interface TileChoice {
  readonly tile: Tile;
  /** Of a stage where TMA walks through an image, else 1. */
  readonly parts: number;
  readonly walk: WalkSize | undefined;
  /** Of k, one for each block of a team. */
  readonly splits: number;
}

/** Of one block, along k: each of 128 bytes. */
export function stepsOfBlock(k: number, { parts, walk, splits }: Omit<TileChoice, "tile">): number {
  const steps = walk === undefined ? Math.ceil(k / depth) : walkSteps(walk, parts);
  return Math.ceil(steps / splits);
}

/** Of those that memory keeps waiting alike, the one that computes the least. `accepts` narrows them, for measurements. */
export function cheapestTile(
  size: ProductSize,
  result: CodeResult,
  target: TileTarget,
  accepts: (choice: TileChoice) => boolean = () => true,
): TileChoice {
  const [first, ...rest] = choicesFor(target)
    .filter(accepts)
    .map((choice) => ({
      choice,
      ...partsOf(size, choice, result, target),
    }));
  if (first === undefined) throw new Error("tc-lint bug: no kernel for products of codes");
  const slower = (each: typeof first) => Math.max(each.computing, each.memory);
  return rest.reduce((best, each) => {
    const difference = slower(each) - slower(best);
    return difference < 0 || (difference === 0 && each.computing < best.computing) ? each : best;
  }, first).choice;
}

function choicesFor({ mayFetch, maySum, walk, features }: TileTarget): TileChoice[] {
  return codeTiles.flatMap((tile): TileChoice[] => {
    if (tile.kind === "mma") return [{ tile, parts: 1, walk: undefined, splits: 1 }];
    if (!features.wgmma || (tile.kind === "sum" && !maySum)) return [];
    const splits = tile.kind === "sum" ? teams : [1];
    const parts = mayFetch ? [1] : walk === undefined ? [] : (walkParts[nameOfTile(tile)] ?? []);
    const walked = mayFetch ? undefined : walk;
    return parts.flatMap((part) =>
      splits.map((count) => ({ tile, parts: part, walk: walked, splits: count })),
    );
  });
}

/** Multiply-adds of bytes for one of halves. */
const rateOfHalves = 2;
/**
 * Of a multiprocessor, for an element that a tail makes: 16 instructions on 128 lanes with codes between and a residual, which is about
 * what is done to it before (estimated).
 */
const tailClocks = 0.15;
/** Of walks through an image (bench/gpu/code-tiles.ts, an H100): a step, and what TMA takes for each row of a box, however short, and more of boxes that channels fill in part. */
const walkRates = { turns: 250, rowClocks: 4.8, ofPartBox: 1.7 } as const;

function rowClocksOf(walk: WalkSize, parts: number): number {
  const isWhole = walk.channels % (walkDepth / parts) === 0;
  return walkRates.rowClocks * parts * (isWhole ? 1 : walkRates.ofPartBox);
}

/**
 * Of teams, of the same: a step of a product, one of a walk through an image, until one block's groups have met, and until each block of more has been
 * launched with the others, met them and left.
 */
const sums = {
  rates: { step: { together: 380, turns: 370 }, end: 950, endOfElement: 0.165, copies: 0.8 },
  turnsOfWalk: 520,
  clocksOfOne: 1150,
  clocks: 1400,
  clocksOfBlock: 800,
} as const;

function sumRatesOf(splits: number, isWalked: boolean): SumRates {
  const { rates, turnsOfWalk, clocksOfOne } = sums;
  const step = isWalked ? { ...rates.step, turns: turnsOfWalk } : rates.step;
  return splits === 1
    ? { ...rates, step, clocks: clocksOfOne, clocksOfBlock: 0 }
    : { ...rates, step, clocks: sums.clocks, clocksOfBlock: sums.clocksOfBlock };
}

/** Clocks until a block's first tile is there, as of the kernels of halves. */
const startOfMma = 2500;

export function codeProductMicroseconds(
  size: ProductSize,
  choice: TileChoice,
  result: CodeResult,
  target: PlanTarget,
): number {
  const { computing, memory } = partsOf(size, choice, result, target);
  return target.launchMicroseconds + Math.max(computing, memory);
}

/** What multiprocessors take, and what memory does, in microseconds. */
function partsOf(
  size: ProductSize,
  { tile, parts, walk, splits }: TileChoice,
  { type, tail }: CodeResult,
  target: PlanTarget,
): { readonly computing: number; readonly memory: number } {
  const { m, n, k, batch } = size;
  const isWalked = walk !== undefined;
  const deep = { ...size, k: isWalked ? walkSteps(walk, parts) * walkDepth : k, splits, walk };
  const products =
    tile.kind === "mma"
      ? mmaClocks(size, tile, type, target)
      : hopperClocks(deep, { tile, parts }, type, target);
  const residual = tail?.residual === undefined ? 0 : bytesOfType(tail.residual.view.type);
  // A walk reads each position for all of its taps from L2, about once from DRAM.
  const read = isWalked ? m * walk.channels : m * k;
  const bytes = batch * (read + n * k + m * n * (bytesOfType(type) + residual));
  const tiles = Math.ceil(m / tile.m) * Math.ceil(n / tile.n) * batch;
  // A team's blocks make a part of a tile each.
  const perMultiprocessor =
    Math.ceil((tiles * splits) / target.multiprocessors) * ((tile.m * tile.n) / splits);
  const clocks = products + (tail === undefined ? 0 : tailClocks * perMultiprocessor);
  return {
    computing: clocks / target.clocksPerMicrosecond,
    memory: bytes / target.bandwidth.dram / dramShareOf(tiles * splits, target),
  };
}

function hopperClocks(
  size: ProductSize & { readonly splits: number; readonly walk: WalkSize | undefined },
  { tile, parts }: { readonly tile: HopperTile; readonly parts: number },
  type: StorageType,
  target: PlanTarget,
): number {
  // An element is converted however few its bytes are.
  const stored = Math.max(1, bytesOfType(type) / 2);
  const { walk } = size;
  const rowClocks = walk === undefined ? 0 : rowClocksOf(walk, parts);
  const work = { ...size, k: Math.ceil(size.k / rateOfHalves), stored, rowClocks };
  const step = walk !== undefined ? { ...hopperRates.step, turns: walkRates.turns } : hopperRates.step;
  if (tile.kind === "hopper") return stayingClocks(tile.likeHalves, work, { ...hopperRates, step }, target);
  return teamSumClocks(tile.likeHalves, work, sumRatesOf(size.splits, walk !== undefined), 0, target);
}

function mmaClocks(
  { m, n, k, batch }: ProductSize,
  tile: MmaTile,
  type: StorageType,
  target: PlanTarget,
): number {
  const { flopPerClock, multiprocessors, bytesPerClock } = target;
  const blocks = Math.ceil(m / tile.m) * Math.ceil(n / tile.n) * batch;
  const waves = Math.ceil(blocks / multiprocessors);
  const deep = Math.ceil(k / depth) * depth;
  const multiply = (2 * tile.m * tile.n * deep) / (rateOfHalves * flopPerClock.half);
  const fetch = ((tile.m + tile.n) * deep) / bytesPerClock.l2;
  const end = epilogueClocks(tile, { outputBytes: bytesOfType(type), storeFactor: 1 }, target);
  return waves * (Math.max(multiply, fetch) + end) + startOfMma;
}
