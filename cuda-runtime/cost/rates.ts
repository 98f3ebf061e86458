/** @file What one multiprocessor does in a clock, by architecture, with the clock and memory of the GPU where known. */
import type { PlanTarget } from "../ir/step.ts";

export interface Rates {
  /** FLOP a clock through mma.sync of halves with FP32 sums, as far as that instruction gets; TF32 has half of it. */
  readonly tensor: number;
  /** FLOP a clock on CUDA cores. */
  readonly simt: number;
  /** Bytes a clock from DRAM, of one multiprocessor's share; and from L2. */
  readonly dram: number;
  readonly l2: number;
  readonly gigahertz: number;
  /** Shared memory and registers allow so many threads. */
  readonly threads: number;
}

interface ArchRates extends Rates {
  readonly minimumArch: number;
}

/**
 * From the vendor's data sheets (T4, A100, RTX 3090, L40S, H200, B200, RTX 5090); 62 % of Hopper's Tensor Core peak is
 * what mma.sync reaches there (arXiv 2402.13499).
 */
const table: readonly ArchRates[] = [
  { minimumArch: 75, tensor: 1024, simt: 128, dram: 4.7, l2: 20, gigahertz: 1.59, threads: 1024 },
  { minimumArch: 80, tensor: 2048, simt: 128, dram: 10, l2: 30, gigahertz: 1.41, threads: 2048 },
  { minimumArch: 86, tensor: 512, simt: 256, dram: 6.7, l2: 20, gigahertz: 1.7, threads: 1536 },
  { minimumArch: 89, tensor: 1024, simt: 256, dram: 2.4, l2: 20, gigahertz: 2.5, threads: 1536 },
  { minimumArch: 90, tensor: 2540, simt: 256, dram: 18, l2: 26, gigahertz: 1.75, threads: 2048 },
  { minimumArch: 100, tensor: 2048, simt: 256, dram: 29, l2: 36, gigahertz: 1.85, threads: 2048 },
  { minimumArch: 120, tensor: 1024, simt: 256, dram: 4.4, l2: 20, gigahertz: 2.4, threads: 1536 },
];

/** Of an H200's data sheet, what the row above has: other GPUs are taken to reach as much of theirs. */
const clockShare = 1.75 / 1.83;
const dramShare = (18 * 132 * 1.75) / 4800;

export function ratesOf({ computeCapability, multiprocessors, dramGBps, clockMHz }: PlanTarget): Rates {
  const known = table.filter(({ minimumArch }) => minimumArch <= computeCapability);
  const rates = known.at(-1) ?? table[0];
  if (rates === undefined) throw new Error("tc-lint bug: no rates");
  const gigahertz = clockMHz === undefined ? rates.gigahertz : (clockShare * clockMHz) / 1000;
  const dram = dramGBps === undefined ? rates.dram : (dramShare * dramGBps) / (multiprocessors * gigahertz);
  return { ...rates, gigahertz, dram };
}

/** Bytes a microsecond from DRAM, of the whole GPU. */
export function dramRateOf(target: PlanTarget): number {
  const { dram, gigahertz } = ratesOf(target);
  return dram * target.multiprocessors * gigahertz * 1000;
}

/** Of a product's launch within a CUDA graph, and of the gap before it. */
export const launchMicroseconds = 2;
/** From the first load's issue until its data is there, in clocks. */
export const memoryLatency = 900;
