/** @file What a GPU row says, and what cannot be true of one. */
import { architectureOf, capabilityOf } from "./architectures.ts";

/** Number formats that have a Tensor Core rate of their own. */
export type TensorCoreType = "fp16" | "bf16" | "tf32" | "int8" | "fp8";

export interface Gpu {
  readonly id: string;
  readonly name: string;
  /** CUDA compute capability, "9.0". */
  readonly computeCapability: string;
  readonly sms: number;
  /** Dense TFLOP/s (TOP/s of int8; fp8 summed in FP32); a missing type is one the Tensor Cores do not multiply. */
  readonly tensorTflops: Readonly<Partial<Record<TensorCoreType, number>>>;
  /** What a board whose power limit holds its clock down under products keeps of these; all of it where nothing is said. */
  readonly heldShare?: number | undefined;
  /** FP32 on the CUDA cores. */
  readonly cudaTflops: number;
  /** FP64: on units of its own, which nearly all boards have few of, and on Tensor Cores where these multiply it. */
  readonly float64Tflops: { readonly cuda: number; readonly tensor?: number | undefined };
  /** No more than that: a datasheet's GB taken as GiB, of the largest board of that name. */
  readonly memoryBytes: number;
  /** 1e9 bytes a second. */
  readonly dramGBps: number;
  /** 1e9 bytes a second, all SMs reading. */
  readonly l2GBps: number;
  readonly l2Bytes: number;
  /** Shared memory of one SM. */
  readonly sharedBytes: number;
  /** Boost clock. */
  readonly clockMHz: number;
  readonly source: string;
}

/** Bounds that hold from Volta to Blackwell; outside them a unit was mistaken or a sparse rate copied. */
const perClockBounds = {
  /** Multiply-adds an SM starts in a clock, in FP16 on its Tensor Cores. */
  tensorFmas: [250, 4200],
  cudaFmas: [60, 150],
  /** On FP64 units. */
  float64Fmas: [1.5, 75],
  /** Bytes an SM gets from L2 in a clock. */
  l2Bytes: [12, 64],
} as const;

/** What cannot be true of a row: a mistaken unit, a rate with sparsity. */
export function* problemsOf(gpu: Gpu): Generator<string> {
  const rates = [
    gpu.cudaTflops,
    gpu.memoryBytes,
    gpu.dramGBps,
    gpu.l2GBps,
    gpu.l2Bytes,
    gpu.sharedBytes,
    gpu.clockMHz,
  ];
  if (!rates.every((rate) => rate > 0) || !Number.isInteger(gpu.sms)) yield "a rate is not above zero";
  if (!/^\d+\.\d$/.test(gpu.computeCapability)) yield "compute capability is not like 9.0";
  if (gpu.source.length === 0) yield "no source";
  const { heldShare = 1 } = gpu;
  if (!(heldShare > 0.2 && heldShare <= 1)) yield "heldShare is no share";
  const { fp16, int8, tf32 } = gpu.tensorTflops;
  if (fp16 === undefined) yield "Tensor Cores multiply FP16 at least";
  if (fp16 !== undefined && int8 !== undefined && int8 < 1.9 * fp16) yield "int8 below twice FP16";
  if (fp16 !== undefined && tf32 !== undefined && tf32 > 0.51 * fp16) yield "TF32 above half FP16";
  const { fp8 } = gpu.tensorTflops;
  if ((fp8 !== undefined) !== architectureOf(capabilityOf(gpu)).features.float8)
    yield "FP8 is of compute capability 8.9 and later";
  if (fp16 !== undefined && fp8 !== undefined && !(fp8 >= 1.9 * fp16 && fp8 <= 2.1 * fp16))
    yield "FP8 is not twice FP16";
  if ((gpu.float64Tflops.tensor ?? gpu.float64Tflops.cuda) < gpu.float64Tflops.cuda)
    yield "FP64 slower on Tensor Cores";
  if (gpu.dramGBps > gpu.l2GBps) yield "DRAM faster than L2";
  const clocks = gpu.sms * gpu.clockMHz * 1e6;
  const perClock = {
    tensorFmas: ((fp16 ?? 0) * 1e12) / 2 / clocks,
    cudaFmas: (gpu.cudaTflops * 1e12) / 2 / clocks,
    float64Fmas: (gpu.float64Tflops.cuda * 1e12) / 2 / clocks,
    l2Bytes: (gpu.l2GBps * 1e9) / clocks,
  };
  for (const key of ["tensorFmas", "cudaFmas", "float64Fmas", "l2Bytes"] as const) {
    const [low, high] = perClockBounds[key];
    if (!(perClock[key] >= low && perClock[key] <= high))
      yield `${key} a clock is ${perClock[key].toFixed(1)}`;
  }
}
