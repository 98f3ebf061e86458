/** @file Channels a group that cuDNN has fast kernels for, and where the zeros to the next of them pay. */
import { type ConvWork, volume } from "../ops/work.ts";

/** A fast kernel takes several groups as one block of 64 channels, or a group as several blocks. */
const block = 64;

/** The next width that fills blocks; the width itself where it does. */
export function blockedWidth(width: number): number {
  if (width > block) return Math.ceil(width / block) * block;
  return 2 ** Math.ceil(Math.log2(width));
}

/** Taps up to which kernels of 64 channels a group are fast: with 19 and more the general one was faster, up to 128. */
const fewTaps = 9;
/** At as many taps and positions, widths of 40 and 48 fall to a kernel that takes three to eight times as long as that of 64. */
const manyTaps = 112;
const manyPositions = 390;
const fallingWidth = 48;

/** Positions of all images up to which layers of NCHW gain, with blocks of 64 and with more: then conversions of layout take it. */
const positionsOfBlock = 4096;
const positionsOfMore = 1024;

/** Of the time before: eleven such layers saved 0.62 to 0.87 of it (rewrites.jsonl, and pairs of seed 16 in bench/measurements). */
export const fallingShare = { low: 0.6, microseconds: 0.7, high: 0.88 } as const;

/** Whether a layer falls to that kernel. What cuDNN's heuristics do there no fit of times follows: measured shares say it. */
export function falls(work: ConvWork<number>, width: number): boolean {
  return (
    volume(work.kernel) >= manyTaps &&
    width > block / 2 &&
    width <= fallingWidth &&
    work.batch * volume(work.output) >= manyPositions
  );
}

/** Whether the wider groups were faster wherever an H200 was asked. */
export function widerPays(work: ConvWork<number>, width: number, wider: number): boolean {
  const taps = volume(work.kernel);
  if (taps > fewTaps && width > block / 2) return falls(work, width) && wider === block;
  if (work.layout === "nhwc") return true;
  return work.batch * volume(work.output) <= (wider <= block ? positionsOfBlock : positionsOfMore);
}
