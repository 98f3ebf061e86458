/**
 * @file What a target's data sheet promises, for one number format, as far as its power limit lets it be kept. The terms' coefficients were fitted as shares of these
 * (docs/cost-model.md); what a GPU sustains is the runtime's question (`machineOf`).
 */
import { type Promised, promisedBy } from "../hardware/machine.ts";
import type { ComputeType, Target } from "../hardware/target.ts";

export interface Rates {
  readonly sms: number;
  /** Multiply-adds counted as two, of the whole GPU, by the datasheet. */
  readonly flops: number;
  /** Of the type on the CUDA cores: FP32's rate, but for FP64. */
  readonly cudaFlops: number;
  readonly tensorCore: boolean;
  /** Operations an SM starts in a clock, by the datasheet. */
  readonly flopsPerClock: number;
  readonly dram: number;
  readonly l2: number;
  readonly l2Bytes: number;
}

/** Where the Tensor Cores lack `type`, the next wider one they have takes over, at the cost of its rate. */
const standIns: Readonly<Record<ComputeType, readonly (keyof Target["gpu"]["tensorTflops"])[]>> = {
  fp16: ["fp16"],
  bf16: ["bf16"],
  tf32: ["tf32"],
  int8: ["int8", "fp16"],
  fp8: ["fp8", "fp16"],
  fp32: [],
  fp64: [],
};

/** The format that a GPU's Tensor Cores multiply `type` in; undefined where CUDA cores do, and of FP64, which has a rate of its own. */
export function multipliedIn(
  { gpu }: Target,
  type: ComputeType,
): keyof Target["gpu"]["tensorTflops"] | undefined {
  return standIns[type].find((format) => gpu.tensorTflops[format] !== undefined);
}

/** Of products that the datasheet's first figure is not of: `the Tensor Cores of NVIDIA V100 SXM2 do not multiply int8: …`. */
export function standInText(target: Target, type: ComputeType): string | undefined {
  if (standIns[type].length === 0) return undefined;
  const instead = multipliedIn(target, type);
  if (instead === type) return undefined;
  const where = instead === undefined ? "on CUDA cores" : `there in ${instead}`;
  return `the Tensor Cores of ${target.gpu.name} do not multiply ${type}: its products are predicted ${where}`;
}

export function ratesOf(target: Target, type: ComputeType): Rates {
  const { gpu } = target;
  const promised = promisedBy(gpu);
  const cudaFlops = type === "fp64" ? promised.float64.cuda : promised.cuda;
  const rate = tensorRate(target, type, promised);
  const flops = rate ?? cudaFlops;
  return {
    sms: gpu.sms,
    flops: rate === undefined ? flops : flops * (gpu.heldShare ?? 1),
    flopsPerClock: flops / gpu.sms / promised.clocks,
    cudaFlops,
    tensorCore: rate !== undefined,
    dram: promised.dram,
    l2: promised.l2,
    l2Bytes: gpu.l2Bytes,
  };
}

function tensorRate(target: Target, type: ComputeType, { tensor, float64 }: Promised): number | undefined {
  if (type === "fp64") return float64.tensor;
  const format = multipliedIn(target, type);
  return format === undefined ? undefined : tensor(format);
}

/**
 * How much longer the K loop of a kernel takes that loads narrowly or gathers, so that an SM reaches only `perClock`
 * operations a clock. GPUs with slow Tensor Cores hide such loads behind them, so the factor is theirs, not the shape's.
 */
export function slowdownAt(perClock: number, peakShare: number, machine: Rates): number {
  return Math.max(1, (machine.flopsPerClock * peakShare) / perClock);
}

export interface MemoryCoefficients {
  /** Of the datasheet's DRAM rate, what one pass reaches. */
  readonly dramShare: number;
  /** Of the row's L2 rate. */
  readonly l2Share: number;
  /** Of L2's size, the working set that stays there between replays. */
  readonly l2Fill: number;
}

/** Microseconds to move `bytes`, which stay in L2 from call to call while they fit. */
export function memoryTime(bytes: number, machine: Rates, c: MemoryCoefficients): number {
  const missing = 1 / (1 + ((c.l2Fill * machine.l2Bytes) / Math.max(bytes, 1)) ** 3);
  const l2 = bytes / (machine.l2 * c.l2Share);
  const dram = bytes / (machine.dram * c.dramShare);
  return l2 + (Math.max(dram, l2) - l2) * missing;
}

/** Two streams of work that overlap, but not perfectly where both are long. */
export function overlapped(a: number, b: number): number {
  return Math.sqrt(Math.sqrt(a ** 4 + b ** 4));
}
