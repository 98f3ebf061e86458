/** @file Weights that are brought into L2 while the launches before those that read them run: what is fetched, and when. */
import { lineBytes } from "../cost/cache-lines.ts";
import { predictedMicroseconds } from "../cost/predict.ts";
import { writeParams } from "../ir/param-table.ts";
import type { KernelRef, Launch, PlanTarget, Step } from "../ir/step.ts";
import type { DeviceBuffer } from "../ir/view.ts";
import { prefetchStruct } from "../kernels/prefetch/params.table.ts";
import { viewsOf } from "./arena.ts";

/** Bytes of the constants' memory. */
export interface Stretch {
  readonly offset: number;
  readonly bytes: number;
}

/**
 * Weights of more than this share of L2 are left alone: what comes in ahead drives out what launches still read. From a cold L2 of an H200, batch 1, what fits ran
 * in 0.94 to 0.97 of the time (mobilenet_v2, vit_tiny, llama, shufflenet_v2, yolo), and siglip's 60 MB in 1.07; other architectures were not measured (docs/adr/0034-instructions-and-weights-at-hand.md).
 */
const shareOfL2 = 0.4;
/** Of DRAM's rate: launches read and write meanwhile. */
const shareOfDram = 0.5;
/** Fewer are not worth a launch. */
const leastBytes = 2 ** 20;
/** Of one warp each. */
const blocks = 64;

/**
 * What to fetch before the first step, and behind each: as DRAM gets to it in the time that steps are predicted to take. `endOf`: where a constant ends in memory
 * that is laid out as steps first read it; undefined for what is none. Nothing where it would not pay.
 */
export function stretchesOf(
  steps: readonly Step[],
  endOf: (buffer: DeviceBuffer) => number | undefined,
  target: PlanTarget,
): (Stretch | undefined)[] {
  let end = 0;
  /** By step: what it and those before have read. */
  const ends = steps.map((step) => {
    for (const { buffer } of viewsOf(step)) end = Math.max(end, endOf(buffer) ?? 0);
    return end;
  });
  const mayPay = target.features.overlap && end <= shareOfL2 * target.l2Bytes && end >= leastBytes;
  if (!mayPay) return [];
  const rate = shareOfDram * target.bandwidth.dram;
  let done = 0;
  const upTo = (reached: number, used: number): Stretch | undefined => {
    const from = Math.floor(Math.max(done, used) / lineBytes) * lineBytes;
    const to = Math.min(end, reached);
    if (to - from < leastBytes) return undefined;
    done = to;
    return { offset: from, bytes: Math.ceil((to - from) / lineBytes) * lineBytes };
  };
  // The first step reads its own; the next ones' are on their way.
  const start = 2 * leastBytes;
  let reached = start;
  return [
    upTo(start, ends[0] ?? 0),
    ...steps.map((step, index) => {
      reached += rate * predictedMicroseconds(step.action, target);
      return upTo(reached, ends[index + 1] ?? end);
    }),
  ];
}

/** From an address on. */
export function prefetchLaunch(
  address: number,
  bytes: number,
): Pick<Launch, "grid" | "block" | "sharedBytes" | "params"> & { readonly kernel: KernelRef } {
  return {
    kernel: { kind: "built", family: "prefetch", entry: "prefetch" },
    ...{ grid: [blocks, 1, 1], block: [32, 1, 1], sharedBytes: 0 },
    params: writeParams(prefetchStruct, { from: address, bytes }),
  };
}
