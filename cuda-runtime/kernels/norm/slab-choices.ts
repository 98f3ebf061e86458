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
const teamThreads = [256, 512] as const;
/** Of the blocks of a slab that run at once: fewer of them meet sooner. */
const gridShares = [1, 2, 4] as const;
/** Of static shared memory. */
const mostTeamThreads = 512;
/** Blocks that may wait for each other in global memory: kMeetingBlocks of common/meeting.cuh. */
const meetingBlocks = 160;
/** Blocks of fewer share most of their sectors with others. */
const leastClusterChannels = 24;
/** Of a multiprocessor, by the kernels' registers. */
const threadsInFlight = 1024;

/**
 * `whole`: a block has all positions of its slab. `cluster`: the blocks of a cluster have them, in their shared memory; `grid`: blocks that
 * all run at once have, and meet in global memory. `twice`: one launch for statistics, another one that reads once more.
 */
export type SlabWay = "whole" | "cluster" | "grid" | "twice";

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
    ...(target.features.clusters ? teamSlabs(extent, least, target) : []),
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

/** Static shared memory of kernels whose blocks work together: sums of all threads' sides; of groups moments, twice, and the pivot; what was counted. */
function momentBytes({ channels, groups }: Pick<SlabExtent, "channels" | "groups">): number {
  return 8 * (sidesOf(channels / groups) * mostTeamThreads + 2 * maxGroups) + 4 * maxGroups + 16;
}

/** Blocks of a slab that keep its positions in their shared memory. */
function teamSlabs(extent: SlabExtent, least: number, target: PlanTarget): SlabChoice[] {
  const { samples, channels, groups, positions, type } = extent;
  if (sidesOf(channels / groups) > 4) return [];
  const most = target.sharedBytesPerBlock - momentBytes(extent);
  const atOnce = Math.min(meetingBlocks, target.multiprocessors);
  const of = (way: "cluster" | "grid", slabChannels: number, threads: number, wanted: number): SlabChoice => {
    const rows = Math.floor((threads * runChannels) / slabChannels);
    const chunk = Math.ceil(positions / wanted);
    const chunks = way === "cluster" ? wanted : Math.ceil(positions / chunk);
    const sharedBytes = Math.ceil(chunk / Math.max(1, rows)) * threads * runChannels * bytesOfType(type);
    return { way, slabChannels, threads, rows, chunk, chunks, sharedBytes };
  };
  const widths = widthsOf(extent, least, maxGroups).filter((slab) => slab >= leastClusterChannels);
  const choices = widths.flatMap((slab) => {
    const ofSlab = Math.floor(atOnce / ((channels / slab) * samples));
    return teamThreads.flatMap((threads) => [
      ...clusterBlocks.map((chunks) => of("cluster", slab, threads, chunks)),
      ...gridShares
        .map((share) => Math.floor(ofSlab / share))
        .filter((chunks) => chunks > 1)
        .map((chunks) => of("grid", slab, threads, chunks)),
    ]);
  });
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

/** What a launch takes beside its memory. */
interface SlabPrice {
  /** Waits, in loads from the L2: of the block, or of all that work together. */
  readonly joins: number;
  /** Of each of a thread's runs, up to `runs`, where a block has 256 threads; with more of them by the root of their number. */
  readonly ofRun: number;
  readonly runs: number;
  /** Of each warp that is joined with the others. */
  readonly ofWarp: number;
  /** Of each group that a warp joins, one after the other. */
  readonly ofGroup: number;
  /** Of each block of a slab, which wait for each other. */
  readonly ofChunk: number;
  /** Of each further block of a multiprocessor, which starts later. */
  readonly ofBlock: number;
  /** Time over memory. Below one: what was just written is in the L2 still when the next launch begins. */
  readonly passes: number;
}

const alone = { ofGroup: 0, ofChunk: 0, ofBlock: 0, passes: 1 };

/** Fitted to bench/measurements/h100-norm-ways.jsonl: of the ways within a quarter of the best, 3 % off by grids, 7 % by clusters, in the mean. */
const prices = {
  whole: { ...alone, joins: 0, ofRun: 1.26, runs: 4, ofWarp: 0.58 },
  cluster: {
    joins: 2.95,
    ofRun: 0.66,
    runs: Infinity,
    ofWarp: 0.46,
    ofGroup: 3.46,
    ofChunk: 0.22,
    ofBlock: 3.2,
    passes: 1.07,
  },
  grid: {
    joins: 4.37,
    ofRun: 0.85,
    runs: Infinity,
    ofWarp: 0.32,
    ofGroup: 3.74,
    ofChunk: 0.05,
    ofBlock: 0,
    passes: 0.77,
  },
  statistics: { ...alone, joins: 2.27, ofRun: 0.06, runs: 4, ofWarp: 0, ofGroup: 0.23 },
  apply: { ...alone, joins: 4.21, ofRun: 0.06, runs: 4, ofWarp: 0, ofGroup: 0.23 },
} as const satisfies Record<string, SlabPrice>;

type SlabKernel = keyof typeof prices;

/** Whether the blocks of a slab wait for each other. */
export function isTogether(kernel: SlabKernel | SlabWay): kernel is "cluster" | "grid" {
  return kernel === "cluster" || kernel === "grid";
}

/** Times that sectors of the L2 are read, of which neighbouring slabs have a part each. */
const rowsRead: Readonly<
  Record<SlabKernel, (extent: Pick<SlabExtent, "type">, choice: SlabChoice) => number>
> = {
  whole: () => 1,
  cluster: sectorPasses,
  grid: sectorPasses,
  statistics: rowPasses,
  apply: rowPasses,
};

/** Of one launch. */
export function slabLaunchMicroseconds(
  kernel: SlabKernel,
  bytes: number,
  choice: SlabChoice,
  extent: Pick<SlabExtent, "samples" | "channels" | "groups" | "type">,
  target: PlanTarget,
): number {
  const price: SlabPrice = prices[kernel];
  const { chunk, rows, chunks, threads, slabChannels } = choice;
  const warps = threads / 32;
  const blocks = blocksOfMultiprocessor(choice, extent, target);
  const waves =
    kernel === "cluster"
      ? Math.ceil(blocks / Math.min(blocks, clusterBlocksInFlight(choice, extent, target)))
      : 1;
  const groups = Math.ceil((slabChannels * extent.groups) / extent.channels / warps);
  const ofThreads = isTogether(kernel) ? Math.sqrt(threads / 256) : 1;
  const rounds =
    price.joins +
    waves *
      (price.ofRun * Math.min(Math.ceil(chunk / rows), price.runs) * ofThreads + price.ofGroup * groups) +
    price.ofWarp * warps +
    price.ofChunk * chunks +
    price.ofBlock * (blocks - 1);
  return passMicroseconds({ bytes, passes: price.passes * rowsRead[kernel](extent, choice), rounds }, target);
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
