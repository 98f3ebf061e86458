/**
 * @file What products of codes take, and which kernel is chosen. Groups that share a tile take what those of halves do with half as many along k,
 * those that take turns what turns-cost.ts says.
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
import { type WalkSize, walkDepth, walkSteps } from "./code-walk.ts";
import type { CodeTail } from "./tail.ts";
import {
  codeTiles,
  depth,
  type HopperTile,
  type MmaTile,
  nameOfTile,
  type Tile,
  teams,
  walkParts,
} from "./tiles.ts";
import { instructionClocks, turnsClocks } from "./turns-cost.ts";

export interface ProductSize {
  readonly m: number;
  readonly n: number;
  readonly k: number;
  readonly batch: number;
}

export interface TileTarget extends PlanTarget {
  /** Whether TMA takes the operands, and the product is one that kernels of Hopper do. */
  readonly mayFetch: boolean;
  /** Whether there are kernels that add up in a team for such operands. */
  readonly maySum: boolean;
  /** Whether kernels of many warps take the operands, and store what becomes of them. */
  readonly hasMany: boolean;
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
  const accepted = choicesFor(target).filter(accepts);
  // mma.sync is for operands that TMA does not take.
  const byWgmma = accepted.filter(({ tile }) => tile.kind !== "mma");
  const [first, ...rest] = (byWgmma.length > 0 ? byWgmma : accepted).map((choice) => ({
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

function choicesFor({ mayFetch, maySum, hasMany, walk, features }: TileTarget): TileChoice[] {
  return codeTiles.flatMap((tile): TileChoice[] => {
    if (tile.kind === "mma") return [{ tile, parts: 1, walk: undefined, splits: 1 }];
    if (!features.wgmma || (tile.kind === "sum" && !maySum)) return [];
    if (tile.kind === "many" && !hasMany) return [];
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
/** Of teams that walk through an image (bench/gpu/code-tiles.ts, an H100): what TMA takes for each row of a box, however short, and more of boxes that channels fill in part. */
const walkRates = { rowClocks: 4.8, ofPartBox: 1.7 } as const;

function isWhole(walk: WalkSize, parts: number): boolean {
  return walk.channels % (walkDepth / parts) === 0;
}

/**
 * Of teams, by the same: a step of a product, one of a walk through an image, until one block's groups have met, and until each block of more has been
 * launched with the others, met them and left.
 */
const sums = {
  rates: { step: { together: 380, turns: 370 }, end: 950, endOfElement: 0.165, copies: 0.8 },
  turnsOfWalk: 520,
  clocksOfOne: 1150,
  clocks: 1400,
  clocksOfBlock: 800,
  /** Within a run (bench/gpu/in-run.ts, an H200 and an H100): until instructions are there. */
  instructions: { plain: 500, tail: 3500 },
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
  const clocks =
    tile.kind === "mma"
      ? mmaClocks(size, tile, { type, tail }, target)
      : hopperClocks(deep, { tile, parts }, { type, tail }, target);
  const residual = tail?.residual === undefined ? 0 : bytesOfType(tail.residual.view.type);
  // A walk reads each position for all of its taps from L2, about once from DRAM.
  const read = isWalked ? m * walk.channels : m * k;
  const bytes = batch * (read + n * k + m * n * (bytesOfType(type) + residual));
  const tiles = Math.ceil(m / tile.m) * Math.ceil(n / tile.n) * batch;
  return {
    computing: clocks / target.clocksPerMicrosecond,
    memory: bytes / target.bandwidth.dram / dramShareOf(tiles * splits, target),
  };
}

function hopperClocks(
  size: ProductSize & { readonly splits: number; readonly walk: WalkSize | undefined },
  { tile, parts }: { readonly tile: HopperTile; readonly parts: number },
  { type, tail }: CodeResult,
  target: PlanTarget,
): number {
  // An element is converted however few its bytes are.
  const stored = Math.max(1, bytesOfType(type) / 2);
  const { walk } = size;
  const isTogether = tile.likeHalves.together;
  const boxes = walk && { parts, isWhole: isWhole(walk, parts) };
  if (tile.kind !== "sum" && !isTogether) {
    const tiles = Math.ceil(size.m / tile.m) * Math.ceil(size.n / tile.n) * size.batch;
    const work = {
      tiles,
      steps: Math.ceil(size.k / depth),
      walk: boxes,
      stored,
      hasTail: tail !== undefined,
    };
    const groups = tile.groups * tile.resident;
    return turnsClocks({ ...tile, groups, isLarge: tile.kind !== "many" }, work, target);
  }
  const rowClocks =
    boxes === undefined ? 0 : walkRates.rowClocks * parts * (boxes.isWhole ? 1 : walkRates.ofPartBox);
  const work = { ...size, k: Math.ceil(size.k / rateOfHalves), stored, rowClocks };
  const elements = tile.m * tile.n;
  const tailOf = (perMultiprocessor: number) => (tail === undefined ? 0 : tailClocks * perMultiprocessor);
  if (tile.kind === "sum") {
    const rates = sumRatesOf(size.splits, walk !== undefined);
    // A team's blocks make a part of a tile each.
    const all = roundsOf(size, tile, size.splits, target) * (elements / size.splits);
    const instructions = sums.instructions[tail === undefined ? "plain" : "tail"];
    return teamSumClocks(tile.likeHalves, work, rates, 0, target) + instructions + tailOf(all);
  }
  const instructions = instructionClocks(elements / (tile.groups * 128), true, tail !== undefined);
  const all = roundsOf(size, tile, 1, target) * elements;
  return stayingClocks(tile.likeHalves, work, hopperRates, target) + instructions + tailOf(all);
}

function roundsOf(
  size: ProductSize,
  { m, n }: Tile,
  splits: number,
  { multiprocessors }: PlanTarget,
): number {
  return Math.ceil((Math.ceil(size.m / m) * Math.ceil(size.n / n) * size.batch * splits) / multiprocessors);
}

function mmaClocks(
  { m, n, k, batch }: ProductSize,
  tile: MmaTile,
  { type, tail }: CodeResult,
  target: PlanTarget,
): number {
  const { flopPerClock, multiprocessors, bytesPerClock } = target;
  const blocks = Math.ceil(m / tile.m) * Math.ceil(n / tile.n) * batch;
  const waves = Math.ceil(blocks / multiprocessors);
  const deep = Math.ceil(k / depth) * depth;
  const multiply = (2 * tile.m * tile.n * deep) / (rateOfHalves * flopPerClock.half);
  const fetch = ((tile.m + tile.n) * deep) / bytesPerClock.l2;
  const end = epilogueClocks(tile, { outputBytes: bytesOfType(type), storeFactor: 1 }, target);
  const all = tail === undefined ? 0 : tailClocks * waves * tile.m * tile.n;
  return waves * (Math.max(multiply, fetch) + end) + startOfMma + all;
}
