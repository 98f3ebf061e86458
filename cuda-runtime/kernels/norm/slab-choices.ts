/** @file How groups of innermost channels are cut into slabs and blocks, and what each way takes. */

import type { Candidate } from "../../cost/candidate.ts";
import { passMicroseconds } from "../../cost/predict.ts";
import type { PlanTarget } from "../../ir/step.ts";
import { bytesOfType, type FloatStorage } from "../../ir/storage.ts";

const runChannels = 8;
/** Of a block, by the kernels' bounds and shared memory. */
export const maxThreads = 512;
const maxGroups = 64;
/** Channels from which on blocks hardly share a sector with their neighbours. */
const wideSlab = 128;
/** A row of fewer is less than a sector of the L2. */
const narrowSlab = 16;
/** Blocks below which an H100's SMs wait for each other's (bench/gpu/norm.ts). */
const enoughBlocks = 80;
const maxGrid = 65_535;
/** Up to sixteen, which the driver is asked for (driver/kernel.ts). */
const clusterBlocks = [16, 8, 4, 2] as const;
/** Of a multiprocessor, by the kernels' registers. */
const threadsInFlight = 1024;

/**
 * `whole`: a block has all positions of its slab. `cluster`: the blocks of a cluster have them, in their shared memory. `twice`: one
 * launch for statistics, another one that reads once more.
 */
export type SlabWay = "whole" | "cluster" | "twice";

/** How groups are cut into blocks. */
export interface SlabChoice {
  readonly way: SlabWay;
  /** Whole groups, a multiple of eight channels, of one sample. */
  readonly slabChannels: number;
  readonly threads: number;
  /** Positions that a block takes at a time. */
  readonly rows: number;
  /** Positions of a block. */
  readonly chunk: number;
  /** Blocks of a slab; of a cluster where there are such. */
  readonly chunks: number;
  /** Dynamic shared memory of a block. */
  readonly sharedBytes: number;
}

export interface SlabExtent {
  readonly samples: number;
  readonly channels: number;
  readonly positions: number;
  readonly groups: number;
  /** Of x. */
  readonly type: FloatStorage;
  /** Read and written, each byte once. */
  readonly bytes: number;
}

/** None where channels are not runs of eight, or groups are too many or too wide for one block. */
export function slabCandidates(extent: SlabExtent, target: PlanTarget): Candidate<SlabChoice>[] {
  const { samples, channels, groups } = extent;
  const ofGroup = channels / groups;
  const least = leastSlab(ofGroup);
  if (channels % runChannels !== 0 || least / ofGroup > maxGroups || least > maxThreads * runChannels)
    return [];
  if (samples > maxGrid || channels / least > maxGrid) return [];
  const whole = wholeSlab(extent, least);
  const choices = [
    ...(whole === undefined ? [] : [whole]),
    ...(target.features.clusters ? clusterSlabs(extent, least, target) : []),
    ...streamedSlabs(extent, least, target),
  ];
  return choices.map((launch) => ({ launch, microseconds: slabMicroseconds(extent, launch, target) }));
}

/** Channels of the narrowest slab. */
function leastSlab(ofGroup: number): number {
  let slab = ofGroup;
  while (slab % runChannels !== 0) slab += ofGroup;
  return slab;
}

/** Up to how many groups meet in a run of eight channels: which kernel takes them. */
export function sidesOf(ofGroup: number): 2 | 8 {
  return ofGroup === 4 || ofGroup >= runChannels ? 2 : 8;
}

/** Runs that a thread holds in registers. */
function runsOfThread(type: FloatStorage): number {
  return type === "float32" ? 2 : 4;
}

function wholeSlab({ positions, type }: SlabExtent, slabChannels: number): SlabChoice | undefined {
  if (slabChannels < narrowSlab) return undefined;
  const columns = slabChannels / runChannels;
  const sizes = [128, 256, maxThreads].map((threads) => ({ threads, rows: Math.floor(threads / columns) }));
  const fits = sizes.find(({ rows }) => rows * runsOfThread(type) >= positions);
  return fits && { way: "whole", slabChannels, ...fits, chunk: positions, chunks: 1, sharedBytes: 0 };
}

/** Of one size of slab those that may be cut so, from the widest one on. */
function widthsOf({ channels, groups }: SlabExtent, least: number, mostGroups: number): number[] {
  const widths = [least];
  for (let slab = 2 * least; slab <= 2 * wideSlab; slab *= 2) widths.push(slab);
  const fits = (slab: number) => channels % slab === 0 && slab / (channels / groups) <= mostGroups;
  return widths.filter(fits).reverse();
}

/** Static shared memory of the kernels: moments of all threads' sides, and of groups twice. */
function momentBytes({ channels, groups }: SlabExtent): number {
  return 8 * (sidesOf(channels / groups) * maxThreads + 2 * maxGroups);
}

function clusterSlabs(extent: SlabExtent, least: number, target: PlanTarget): SlabChoice[] {
  const { positions, type } = extent;
  const most = target.sharedBytesPerBlock - momentBytes(extent);
  const choices = widthsOf(extent, least, maxGroups).flatMap((slabChannels) =>
    clusterBlocks.flatMap((chunks) =>
      [maxThreads, maxThreads / 2].map((threads) => {
        const rows = Math.floor((threads * runChannels) / slabChannels);
        const chunk = Math.ceil(positions / chunks);
        const sharedBytes = Math.ceil(chunk / Math.max(1, rows)) * threads * runChannels * bytesOfType(type);
        return { way: "cluster", slabChannels, threads, rows, chunk, chunks, sharedBytes } as const;
      }),
    ),
  );
  return choices.filter(({ rows, chunk, sharedBytes }) => rows > 0 && chunk >= rows && sharedBytes <= most);
}

/** Short blocks, as many as fill the GPU, and blocks that stay for their share of the positions. */
function streamedSlabs(extent: SlabExtent, least: number, target: PlanTarget): SlabChoice[] {
  const { samples, channels, positions, type } = extent;
  const of = (
    slabChannels: number,
    chunkOf: (rows: number, slabs: number, threads: number) => number,
  ): SlabChoice => {
    const columns = slabChannels / runChannels;
    const threads = columns > maxThreads / 2 ? maxThreads : maxThreads / 2;
    const rows = Math.floor(threads / columns);
    const chunk = chunkOf(rows, (channels / slabChannels) * samples, threads);
    const chunks = Math.ceil(positions / chunk);
    return { way: "twice", slabChannels, threads, rows, chunk, chunks, sharedBytes: 0 };
  };
  // A warp joins the moments of a group: short blocks have no more groups than warps.
  const [narrow = least] = widthsOf(extent, least, maxThreads / 2 / 32).filter((slab) => slab < 2 * wideSlab);
  const wanted = [4, 2, 1].filter((runs) => runs <= runsOfThread(type));
  const short = of(narrow, (rows, slabs) => {
    const blocks = (runs: number) => Math.ceil(positions / (rows * runs)) * slabs;
    return rows * (wanted.find((runs) => blocks(runs) >= enoughBlocks) ?? 1);
  });
  const long = widthsOf(extent, least, maxGroups).map((slab) =>
    of(slab, (rows, slabs, threads) => {
      const staying = (target.multiprocessors * threadsInFlight) / threads;
      return rows * Math.ceil(positions / rows / Math.max(1, Math.floor(staying / slabs)));
    }),
  );
  return [...long.filter(({ chunk, rows }) => chunk > runsOfThread(type) * rows), short];
}

/** What a thread waits for beside memory: joinings of the block or cluster, and each of its runs. */
const prices = {
  whole: { joins: 5, ofRun: 0.9 },
  cluster: { joins: 6, ofRun: 0.2 },
  statistics: { joins: 3, ofRun: 0.5 },
  apply: { joins: 3, ofRun: 0.5 },
} as const;

/** Of one launch. */
export function slabLaunchMicroseconds(
  kernel: keyof typeof prices,
  bytes: number,
  choice: Pick<SlabChoice, "chunk" | "rows">,
  target: PlanTarget,
  passes = 1,
): number {
  const { joins, ofRun } = prices[kernel];
  const runs = Math.ceil(choice.chunk / choice.rows);
  return passMicroseconds({ bytes, passes, rounds: joins + ofRun * Math.min(runs, 4) }, target);
}

function slabMicroseconds(extent: SlabExtent, choice: SlabChoice, target: PlanTarget): number {
  const { bytes, samples, groups } = extent;
  const of = (kernel: keyof typeof prices, moved: number, passes = 1) =>
    slabLaunchMicroseconds(kernel, moved, choice, target, passes);
  if (choice.way === "whole") return of("whole", bytes);
  if (choice.way === "cluster") return of("cluster", bytes, clusterPasses(extent, choice, target));
  const partial = 8 * samples * groups * choice.chunks;
  const read = xBytes(extent);
  // Each block of a slab reads what all of them found, from the L2.
  const joined = partial * choice.chunks * (target.bandwidth.dram / target.bandwidth.l2);
  const shared = rowPasses(extent, choice);
  return of("statistics", read + partial, shared) + of("apply", bytes + joined, shared);
}

function xBytes({ samples, channels, positions, type }: SlabExtent): number {
  return samples * channels * positions * bytesOfType(type);
}

/** Blocks of a cluster lie in one part of the GPU: a share of its multiprocessors stays without. */
const clusteredShare = 0.97;

/** Time over memory against all multiprocessors that stream: some have no block, or rows share sectors with other blocks'. */
export function clusterPasses(extent: SlabExtent, choice: SlabChoice, target: PlanTarget): number {
  const { channels, samples } = extent;
  const { slabChannels, threads, chunks, sharedBytes } = choice;
  const blocks = (channels / slabChannels) * samples * chunks;
  const ofShared = target.sharedBytes / (sharedBytes + momentBytes(extent) + target.reservedSharedBytes);
  const inFlight = Math.max(1, Math.floor(Math.min(ofShared, threadsInFlight / threads)));
  const places = clusteredShare * target.multiprocessors;
  const waves = Math.ceil(blocks / (places * inFlight));
  const idle =
    blocks < places ? places / blocks : (waves * places * Math.min(inFlight, blocks / places)) / blocks;
  return Math.max(1, idle) * rowPasses(extent, choice);
}

/** A slab's row of channels shares sectors of the L2 with other slabs', half a sector of them. */
function rowPasses({ type }: SlabExtent, { slabChannels }: SlabChoice): number {
  return 1 + 16 / (slabChannels * bytesOfType(type));
}
