/** @file Which kernel a convolution runs on: the one that takes least time. Nothing here launches anything. */
import { type Candidate, cheapest } from "../../cost/candidate.ts";
import { keptTimes } from "../../cost/kept-times.ts";
import type { PlanTarget } from "../../ir/step.ts";
import { type ConvCut, type ConvProblem, chunksOf, productMicroseconds, sumMicroseconds } from "./cost.ts";
import { haloSharedBytes } from "./halo-table.ts";
import {
  type ConvTile,
  channelsOfBox,
  convTiles,
  elementBytes,
  isByBoxes,
  isWgmma,
  sharedBytesOf,
  sumsInTeam,
  type Walk,
} from "./table.ts";

/** How x can be read as it lies: `grain` bytes at a time (0 where channels are no neighbours). */
export interface ConvSource {
  readonly type: ConvTile["source"];
  readonly grain: 16 | 8 | 4 | 0;
  /** Whether tables of offsets can name all of its taps. */
  readonly canGather: boolean;
  /** Whether TMA can walk through x for all positions, and y and the residual are matrices of them. */
  readonly canWalk: boolean;
  /** Predicted, of copying x to channels last, those of each of so many groups padded to 16 bytes. */
  readonly copyMicroseconds: (groups: number) => number;
}

export interface ConvChoice extends ConvCut {
  /** Groups computed as one, with zeros where a filter does not see a channel. */
  readonly merge: number;
  /** x is first copied to channels last, padded so that it can be read by 16 bytes. */
  readonly copies: boolean;
  /** Predicted, of the product's own launch, and of the one that adds up its splits (0 without). */
  readonly productMicroseconds: number;
  readonly sumMicroseconds: number;
}

const splitCounts = [1, 2, 3, 4, 6, 8, 12, 16, 24, 32];
/** Blocks of a cluster: eight, unless a GPU says otherwise, are the most. */
const teamSizes = [2, 4, 8];
const maxMerged = 64;

/** `accepts` narrows the choice, for measurements and tests. */
export function chooseConv(
  problem: ConvProblem,
  source: ConvSource,
  target: PlanTarget,
  accepts: (choice: ConvChoice) => boolean = () => true,
): Candidate<ConvChoice> | undefined {
  return cheapest(convCandidates(problem, source, target).filter(({ launch }) => accepts(launch)));
}

const timesOf = keptTimes<ConvTile>();

/** Of all that a time depends on but the tile and its splits. */
function keyOf({ halo, ...problem }: ConvProblem): string {
  return [...Object.values(problem), ...Object.values(halo ?? {})].join(" ");
}

/** All that are possible. */
export function convCandidates(
  problem: ConvProblem,
  source: ConvSource,
  target: PlanTarget,
): Candidate<ConvChoice>[] {
  const found: Candidate<ConvChoice>[] = [];
  for (const merge of mergesOf(problem)) {
    const merged = mergedProblem(problem, merge);
    const times = timesOf(target, keyOf(merged));
    let copyMicroseconds: number | undefined;
    for (const tile of convTiles) {
      if (tile.math !== problem.math || !runsOn(tile, target)) continue;
      if (!suits(tile, merge, source, merged, target)) continue;
      const copies = !readsDirectly(tile, source, merged);
      if (copies && !canCopy(tile, merged)) continue;
      if (copies) copyMicroseconds ??= source.copyMicroseconds(merged.groups);
      const before = copies ? (copyMicroseconds ?? 0) : 0;
      for (const cut of cutsOf(merged, tile)) {
        const product = times(tile, cut.splits, () => productMicroseconds(merged, cut, target));
        const sum = sumsInTeam(tile) ? 0 : sumMicroseconds(merged, cut.splits, target);
        const { splits, stepsPerSplit } = cut;
        const prices = { productMicroseconds: product, sumMicroseconds: sum };
        const launch = { tile, splits, stepsPerSplit, merge, copies, ...prices };
        found.push({ launch, microseconds: before + product + sum });
      }
    }
  }
  return found;
}

function suits(
  tile: ConvTile,
  merge: number,
  source: ConvSource,
  problem: MergedProblem,
  target: PlanTarget,
): boolean {
  const { walk, halo } = tile;
  if (halo !== undefined) {
    if (merge > 1 || problem.halo === undefined) return false;
    return haloSharedBytes(halo, problem.halo.positions) <= target.sharedBytesPerBlock;
  }
  return walk === undefined ? !problem.isUneven : walksThrough(tile, walk, source, problem);
}

/** Whether the GPU has the tile's instructions, and shared memory for it. */
export function runsOn(tile: ConvTile, { features, sharedBytesPerBlock }: PlanTarget): boolean {
  const hasMath = { f16: features.half, bf16: features.bf16, tf32: features.tf32, f32: true }[tile.math];
  // Those of patches take as much as the window asks for.
  const fits = tile.halo !== undefined || sharedBytesOf(tile) <= sharedBytesPerBlock;
  return hasMath && (features.wgmma || !isWgmma(tile)) && fits;
}

function mergesOf({ groups, channels, filters }: ConvProblem): number[] {
  const most = Math.min(groups, Math.max(1, Math.floor(maxMerged / Math.max(channels, filters))));
  const counts: number[] = [];
  for (let merge = 1; merge <= most; merge++) {
    if (groups % merge === 0 || merge === most) counts.push(merge);
  }
  return counts;
}

interface MergedProblem extends ConvProblem {
  /** The last group holds fewer than all others. */
  readonly isUneven: boolean;
}

function mergedProblem(problem: ConvProblem, merge: number): MergedProblem {
  const { channels, filters, groups } = problem;
  return {
    ...problem,
    channels: channels * merge,
    filters: filters * merge,
    groups: Math.ceil(groups / merge),
    isUneven: groups % merge !== 0,
  };
}

function readsDirectly(tile: ConvTile, source: ConvSource, { groups, channels }: ConvProblem): boolean {
  if (tile.source !== source.type) return false;
  if (tile.grain === 0) return source.canGather;
  const groupBytes = groups === 1 ? 0 : channels * elementBytes(tile.math);
  return source.grain >= tile.grain && groupBytes % tile.grain === 0;
}

/** A copy may convert, too. It moves groups apart, where TMA has them side by side. */
function canCopy(tile: ConvTile, { groups }: ConvProblem): boolean {
  return tile.grain === 16 && (tile.walk === undefined || groups === 1);
}

/** Of several groups, boxes and tiles must not reach into the next one. */
function walksThrough(
  { filters: columns }: ConvTile,
  walk: Walk,
  { canWalk }: ConvSource,
  { groups, channels, filters }: ConvProblem,
): boolean {
  if (!canWalk) return false;
  return groups === 1 || (channels % channelsOfBox(walk) === 0 && filters % columns === 0);
}

/** Splits of the sum, none of which has nothing to do; but a team's last blocks may. */
function* cutsOf(problem: ConvProblem, tile: ConvTile): Generator<ConvCut> {
  const steps = Math.ceil(chunksOf(problem, tile) / tile.chunks);
  const isTeam = sumsInTeam(tile);
  for (const splits of tile.halo !== undefined ? [1] : isTeam ? teamSizes : splitCounts) {
    const stepsPerSplit = Math.max(1, Math.ceil(steps / splits));
    const busy = Math.max(1, Math.ceil(steps / stepsPerSplit));
    if (isTeam ? splits <= steps : splits === busy) yield { tile, splits, stepsPerSplit };
  }
}

/** For the printed plan. */
export function describeConv({ tile, splits, merge, copies }: ConvChoice): string {
  const how = isByBoxes(tile) ? "TMA, wgmma " : isWgmma(tile) ? "wgmma " : "";
  const parts = [`${how}${tile.math} ${tile.rows}x${tile.filters}`, `${tile.stages} stages`];
  if (tile.walk !== undefined && tile.walk.panels > 1) parts.push(`boxes of ${channelsOfBox(tile.walk)}`);
  if (tile.halo !== undefined) parts.push("taps from patches of 8x8 outputs");
  if (tile.grain === 0) parts.push("gathered");
  else if (tile.grain < 16) parts.push(`by ${tile.grain} bytes`);
  if (splits > 1) parts.push(`${splits} splits${sumsInTeam(tile) ? " in a cluster" : ""}`);
  if (merge > 1) parts.push(`${merge} groups at once`);
  if (copies) parts.push("x copied");
  return parts.join(", ");
}
