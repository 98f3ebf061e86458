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
/** At as many taps, widths of 40 and 48 fall to a kernel that took three to eleven times as long as that of 64. */
const manyTaps = 128;
const fallingWidth = 48;

/** Positions of all images up to which layers of NCHW gain, with blocks of 64 and with more: then conversions of layout take it. */
const positionsOfBlock = 4096;
const positionsOfMore = 1024;

/**
 * Whether the wider groups were faster wherever an H200 was asked: bench/results/rewrites.jsonl.
 */
export function widerPays(work: ConvWork<number>, width: number, wider: number): boolean {
  const taps = volume(work.kernel);
  if (taps >= manyTaps && width > block / 2) return wider === block && width <= fallingWidth;
  if (taps > fewTaps && width > block / 2) return false;
  if (work.layout === "nhwc") return true;
  return work.batch * volume(work.output) <= (wider <= block ? positionsOfBlock : positionsOfMore);
}
