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
const clusterBlocks = [16, 8, 4] as const;
const clusterThreads = 256;
/** Blocks of fewer share most of their sectors with others. */
const leastClusterChannels = 24;
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

/** Up to how many groups meet in a run of eight channels: which kernel takes them. Slabs begin with a group. */
export function sidesOf(ofGroup: number): 2 | 4 | 8 {
  let most = 0;
  for (let run = 0; run < ofGroup; run++)
    most = Math.max(most, Math.ceil((((run * runChannels) % ofGroup) + runChannels) / ofGroup));
  return most <= 2 ? 2 : most <= 4 ? 4 : 8;
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

/** Static shared memory of the kernel by clusters: moments of all threads' sides, and of groups twice. */
function momentBytes({ channels, groups }: Pick<SlabExtent, "channels" | "groups">): number {
  return 8 * (sidesOf(channels / groups) * maxThreads + 2 * maxGroups);
}

function clusterSlabs(extent: SlabExtent, least: number, target: PlanTarget): SlabChoice[] {
  const { channels, groups, positions, type } = extent;
  if (sidesOf(channels / groups) > 4) return [];
  const threads = clusterThreads;
  const most = target.sharedBytesPerBlock - momentBytes(extent);
  const widths = widthsOf(extent, least, maxGroups).filter((slab) => slab >= leastClusterChannels);
  const choices = widths.flatMap((slabChannels) =>
    clusterBlocks.map((chunks) => {
      const rows = Math.floor((threads * runChannels) / slabChannels);
      const chunk = Math.ceil(positions / chunks);
      const sharedBytes = Math.ceil(chunk / Math.max(1, rows)) * threads * runChannels * bytesOfType(type);
      return { way: "cluster", slabChannels, threads, rows, chunk, chunks, sharedBytes } as const;
    }),
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

/**
 * What is waited for beside memory, in loads from the L2: joinings of the block, or of the cluster and its barriers; each of a
 * thread's runs, up to `runs`; each warp that is joined with the others; and each further block of a multiprocessor, which starts
 * later. Fitted like the shares below to bench/measurements/h100-norm-ways.jsonl.
 */
const prices = {
  whole: { joins: 2.7, ofRun: 0.07, runs: 4, ofWarp: 0.77, ofBlock: 0 },
  cluster: { joins: 12.57, ofRun: 0.72, runs: Infinity, ofWarp: 0, ofBlock: 2.31 },
  statistics: { joins: 3, ofRun: 1.2, runs: 4, ofWarp: 0, ofBlock: 0 },
  apply: { joins: 5.9, ofRun: 1.15, runs: 4, ofWarp: 0, ofBlock: 0 },
} as const;
/** Of each block of a cluster: all of them start together, and wait for each other. */
const joinsOfClusterBlock = 0.25;
/** Time over memory of clusters: a block loads, joins and stores one after the other, which only other blocks beside it hide. */
const clusterPasses = { hidden: 1.2, alone: 0.2 };

type SlabKernel = keyof typeof prices;

/** Of one launch. */
export function slabLaunchMicroseconds(
  kernel: SlabKernel,
  bytes: number,
  choice: SlabChoice,
  extent: Pick<SlabExtent, "samples" | "channels" | "groups" | "type">,
  target: PlanTarget,
): number {
  const { joins, ofRun, runs, ofWarp, ofBlock } = prices[kernel];
  const { chunk, rows, chunks, threads } = choice;
  const blocks = blocksOfMultiprocessor(choice, extent, target);
  const isCluster = kernel === "cluster";
  const inFlight = isCluster ? Math.min(blocks, clusterBlocksInFlight(choice, extent, target)) : 1;
  const waves = isCluster ? Math.ceil(blocks / inFlight) : 1;
  const passes = isCluster
    ? (clusterPasses.hidden + clusterPasses.alone / inFlight) * sectorPasses(extent, choice)
    : kernel === "whole"
      ? 1
      : rowPasses(extent, choice);
  const ofRuns = ofRun * Math.min(Math.ceil(chunk / rows), runs) * waves;
  const ofBlocks = ofBlock * (blocks - 1) + (isCluster ? joinsOfClusterBlock * chunks : 0);
  const rounds = joins + ofRuns + ofWarp * (threads / 32) + ofBlocks;
  return passMicroseconds({ bytes, passes, rounds }, target);
}

/** At least one. */
function blocksOfMultiprocessor(
  { slabChannels, chunks }: SlabChoice,
  { samples, channels }: Pick<SlabExtent, "samples" | "channels">,
  target: PlanTarget,
): number {
  return Math.ceil(((channels / slabChannels) * samples * chunks) / target.multiprocessors);
}

/** Of one multiprocessor, by their shared memory and registers. */
function clusterBlocksInFlight(
  { threads, sharedBytes }: SlabChoice,
  extent: Pick<SlabExtent, "channels" | "groups">,
  target: PlanTarget,
): number {
  const ofShared = target.sharedBytes / (sharedBytes + momentBytes(extent) + target.reservedSharedBytes);
  return Math.max(1, Math.floor(Math.min(ofShared, threadsInFlight / threads)));
}

function slabMicroseconds(extent: SlabExtent, choice: SlabChoice, target: PlanTarget): number {
  const { bytes, samples, groups } = extent;
  const of = (kernel: SlabKernel, moved: number) =>
    slabLaunchMicroseconds(kernel, moved, choice, extent, target);
  if (choice.way !== "twice") return of(choice.way, bytes);
  const partial = 8 * samples * groups * choice.chunks;
  // Each block of a slab reads what all of them found, from the L2.
  const joined = partial * choice.chunks * (target.bandwidth.dram / target.bandwidth.l2);
  return of("statistics", xBytes(extent) + partial) + of("apply", bytes + joined);
}

function xBytes({ samples, channels, positions, type }: SlabExtent): number {
  return samples * channels * positions * bytesOfType(type);
}

/** A slab's row of channels shares sectors of the L2 with other slabs', half a sector of them. */
function rowPasses({ type }: Pick<SlabExtent, "type">, { slabChannels }: SlabChoice): number {
  return 1 + 16 / (slabChannels * bytesOfType(type));
}

/** As above; what two blocks share is there for both where it is whole sectors, since they load at about the same time. */
function sectorPasses({ type }: Pick<SlabExtent, "type">, choice: SlabChoice): number {
  return (choice.slabChannels * bytesOfType(type)) % 32 === 0 ? 1 : rowPasses({ type }, choice);
}
