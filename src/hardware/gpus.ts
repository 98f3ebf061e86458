/**
 * @file One row a GPU: what its datasheet promises, each with where that is written.
 *
 * Rates are dense (no 2:4 sparsity) and accumulate in FP32. What a machine really reached is in `ceilings.ts`.
 */

/** Number formats that have a Tensor Core rate of their own. */
export type TensorCoreType = "fp16" | "bf16" | "tf32" | "int8";

export interface Gpu {
  readonly id: string;
  readonly name: string;
  /** CUDA compute capability, "9.0". */
  readonly computeCapability: string;
  readonly sms: number;
  /** Dense TFLOP/s (TOP/s of int8); a missing type is one the Tensor Cores do not multiply. */
  readonly tensorTflops: Readonly<Partial<Record<TensorCoreType, number>>>;
  /** FP32 on the CUDA cores. */
  readonly cudaTflops: number;
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

const kiB = 1024;
const MiB = 1024 * kiB;

const datasheetRows: readonly Gpu[] = [
  {
    id: "t4",
    name: "NVIDIA T4",
    computeCapability: "7.5",
    sms: 40,
    tensorTflops: { fp16: 65, int8: 130 },
    cudaTflops: 8.1,
    dramGBps: 320,
    l2GBps: 1270,
    l2Bytes: 4 * MiB,
    sharedBytes: 64 * kiB,
    clockMHz: 1590,
    source: "NVIDIA T4 datasheet; L2 as measured by Jia et al., arXiv 1903.07486",
  },
  {
    id: "v100",
    name: "NVIDIA V100 SXM2",
    computeCapability: "7.0",
    sms: 80,
    tensorTflops: { fp16: 125 },
    cudaTflops: 15.7,
    dramGBps: 900,
    l2GBps: 2155,
    l2Bytes: 6 * MiB,
    sharedBytes: 96 * kiB,
    clockMHz: 1530,
    source: "NVIDIA V100 datasheet; L2 as measured by Jia et al., arXiv 1804.06826",
  },
  {
    id: "a100",
    name: "NVIDIA A100 SXM4 80 GB",
    computeCapability: "8.0",
    sms: 108,
    tensorTflops: { fp16: 312, bf16: 312, tf32: 156, int8: 624 },
    cudaTflops: 19.5,
    dramGBps: 2039,
    l2GBps: 4800,
    l2Bytes: 40 * MiB,
    sharedBytes: 164 * kiB,
    clockMHz: 1410,
    source: "NVIDIA A100 datasheet; L2 is 2/3 of the whitepaper's 5120 B a clock, the share other GPUs reach",
  },
  {
    id: "a100-40gb",
    name: "NVIDIA A100 SXM4 40 GB",
    computeCapability: "8.0",
    sms: 108,
    tensorTflops: { fp16: 312, bf16: 312, tf32: 156, int8: 624 },
    cudaTflops: 19.5,
    dramGBps: 1555,
    l2GBps: 4800,
    l2Bytes: 40 * MiB,
    sharedBytes: 164 * kiB,
    clockMHz: 1410,
    source: "NVIDIA A100 datasheet; L2 as for the 80 GB card",
  },
  {
    id: "a30",
    name: "NVIDIA A30",
    computeCapability: "8.0",
    sms: 56,
    tensorTflops: { fp16: 165, bf16: 165, tf32: 82, int8: 330 },
    cudaTflops: 10.3,
    dramGBps: 933,
    l2GBps: 2450,
    l2Bytes: 24 * MiB,
    sharedBytes: 164 * kiB,
    clockMHz: 1440,
    source: "NVIDIA A30 datasheet; L2 is half an A100's slices at this clock",
  },
  {
    id: "a10",
    name: "NVIDIA A10",
    computeCapability: "8.6",
    sms: 72,
    tensorTflops: { fp16: 125, bf16: 125, tf32: 62.5, int8: 250 },
    cudaTflops: 31.2,
    dramGBps: 600,
    l2GBps: 1950,
    l2Bytes: 6 * MiB,
    sharedBytes: 100 * kiB,
    clockMHz: 1695,
    source: "NVIDIA A10 datasheet; L2 scaled from the RTX 3090 by SMs and clock",
  },
  {
    id: "rtx3090",
    name: "NVIDIA GeForce RTX 3090",
    computeCapability: "8.6",
    sms: 82,
    tensorTflops: { fp16: 71, bf16: 71, tf32: 35.6, int8: 285 },
    cudaTflops: 35.6,
    dramGBps: 936,
    l2GBps: 2220,
    l2Bytes: 6 * MiB,
    sharedBytes: 100 * kiB,
    clockMHz: 1695,
    source:
      "NVIDIA GA102 whitepaper: GeForce halves the rate when it accumulates in FP32; L2 is an estimate, 16 B a clock an SM",
  },
  {
    id: "a4500",
    name: "NVIDIA RTX A4500",
    computeCapability: "8.6",
    sms: 56,
    tensorTflops: { fp16: 94.6, bf16: 94.6, tf32: 47.3, int8: 189 },
    cudaTflops: 23.7,
    dramGBps: 640,
    l2GBps: 1480,
    l2Bytes: 6 * MiB,
    sharedBytes: 100 * kiB,
    clockMHz: 1650,
    source: "NVIDIA RTX A4500 datasheet, its sparse 189 halved; L2 scaled from the RTX 3090 by SMs and clock",
  },
  {
    id: "l4",
    name: "NVIDIA L4",
    computeCapability: "8.9",
    sms: 58,
    tensorTflops: { fp16: 121, bf16: 121, tf32: 60, int8: 242 },
    cudaTflops: 30.3,
    dramGBps: 300,
    l2GBps: 1890,
    l2Bytes: 48 * MiB,
    sharedBytes: 100 * kiB,
    clockMHz: 2040,
    source:
      "NVIDIA L4 datasheet, sparse rates halved, 7424 cores of 128 an SM; L2 estimated at 16 B a clock an SM",
  },
  {
    id: "l40s",
    name: "NVIDIA L40S",
    computeCapability: "8.9",
    sms: 142,
    tensorTflops: { fp16: 362, bf16: 362, tf32: 183, int8: 733 },
    cudaTflops: 91.6,
    dramGBps: 864,
    l2GBps: 5700,
    l2Bytes: 96 * MiB,
    sharedBytes: 100 * kiB,
    clockMHz: 2520,
    source:
      "NVIDIA L40S datasheet; L2 size from the Ada whitepaper's AD102; its speed estimated at 16 B a clock an SM",
  },
  {
    id: "rtx4090",
    name: "NVIDIA GeForce RTX 4090",
    computeCapability: "8.9",
    sms: 128,
    tensorTflops: { fp16: 165, bf16: 165, tf32: 82.6, int8: 661 },
    cudaTflops: 82.6,
    dramGBps: 1008,
    l2GBps: 5160,
    l2Bytes: 72 * MiB,
    sharedBytes: 100 * kiB,
    clockMHz: 2520,
    source:
      "NVIDIA Ada whitepaper: halved FP32-accumulate rate on GeForce; L2 estimated at 16 B a clock an SM",
  },
  {
    id: "h100",
    name: "NVIDIA H100 SXM",
    computeCapability: "9.0",
    sms: 132,
    tensorTflops: { fp16: 989, bf16: 989, tf32: 494, int8: 1979 },
    cudaTflops: 67,
    dramGBps: 3350,
    l2GBps: 6300,
    l2Bytes: 50 * MiB,
    sharedBytes: 228 * kiB,
    clockMHz: 1830,
    source: "NVIDIA H100 datasheet, sparse rates halved; L2 is 2/3 of 5120 B a clock",
  },
  {
    id: "h100-pcie",
    name: "NVIDIA H100 PCIe",
    computeCapability: "9.0",
    sms: 114,
    tensorTflops: { fp16: 756, bf16: 756, tf32: 378, int8: 1513 },
    cudaTflops: 51,
    dramGBps: 2000,
    l2GBps: 5500,
    l2Bytes: 50 * MiB,
    sharedBytes: 228 * kiB,
    clockMHz: 1755,
    source: "NVIDIA H100 datasheet, sparse rates halved; L2 is the public microbenchmarks' 5.5 TB/s",
  },
  {
    id: "h200",
    name: "NVIDIA H200",
    computeCapability: "9.0",
    sms: 132,
    tensorTflops: { fp16: 989, bf16: 989, tf32: 494, int8: 1979 },
    cudaTflops: 67,
    dramGBps: 4800,
    l2GBps: 6300,
    l2Bytes: 60 * MiB,
    sharedBytes: 228 * kiB,
    clockMHz: 1830,
    source:
      "NVIDIA H200 datasheet, sparse rates halved; L2 size as the driver reports it, speed as for the H100 SXM",
  },
  {
    id: "b200",
    name: "NVIDIA B200",
    computeCapability: "10.0",
    sms: 148,
    tensorTflops: { fp16: 2250, bf16: 2250, tf32: 1125, int8: 4500 },
    cudaTflops: 80,
    dramGBps: 8000,
    l2GBps: 10000,
    l2Bytes: 126 * MiB,
    sharedBytes: 228 * kiB,
    clockMHz: 1965,
    source: "NVIDIA HGX B200 datasheet, dense; L2 speed is an estimate",
  },
  {
    id: "rtx5090",
    name: "NVIDIA GeForce RTX 5090",
    computeCapability: "12.0",
    sms: 170,
    tensorTflops: { fp16: 209.5, bf16: 209.5, tf32: 104.8, int8: 838 },
    cudaTflops: 104.8,
    dramGBps: 1792,
    l2GBps: 6550,
    l2Bytes: 96 * MiB,
    sharedBytes: 100 * kiB,
    clockMHz: 2407,
    source:
      "NVIDIA RTX Blackwell whitepaper: halved FP32-accumulate rate; L2 estimated at 16 B a clock an SM",
  },
  {
    id: "orin",
    name: "NVIDIA Jetson AGX Orin 64 GB",
    computeCapability: "8.7",
    sms: 16,
    tensorTflops: { fp16: 42.5, bf16: 42.5, tf32: 21, int8: 85 },
    cudaTflops: 5.3,
    dramGBps: 204.8,
    l2GBps: 330,
    l2Bytes: 4 * MiB,
    sharedBytes: 164 * kiB,
    clockMHz: 1300,
    source: "NVIDIA Jetson AGX Orin technical brief, sparse 170 halved; L2 estimated at 16 B a clock an SM",
  },
];

/** Throws on a row that cannot be true, so that a typing slip shows at the first run. */
export function checkedGpus(rows: readonly Gpu[]): ReadonlyMap<string, Gpu> {
  const byId = new Map<string, Gpu>();
  for (const gpu of rows) {
    if (byId.has(gpu.id)) throw new Error(`GPU row '${gpu.id}' appears twice`);
    for (const problem of problemsOf(gpu)) throw new Error(`GPU row '${gpu.id}': ${problem}`);
    byId.set(gpu.id, Object.freeze(gpu));
  }
  return byId;
}

/** Bounds that hold from Volta to Blackwell; outside them a unit was mistaken or a sparse rate copied. */
const perClockBounds = {
  /** Multiply-adds an SM starts in a clock, in FP16 on its Tensor Cores. */
  tensorFmas: [250, 4200],
  cudaFmas: [60, 150],
  /** Bytes an SM gets from L2 in a clock. */
  l2Bytes: [12, 64],
} as const;

function* problemsOf(gpu: Gpu): Generator<string> {
  const rates = [gpu.cudaTflops, gpu.dramGBps, gpu.l2GBps, gpu.l2Bytes, gpu.sharedBytes, gpu.clockMHz];
  if (!rates.every((rate) => rate > 0) || !Number.isInteger(gpu.sms)) yield "a rate is not above zero";
  if (!/^\d+\.\d$/.test(gpu.computeCapability)) yield "compute capability is not like 9.0";
  if (gpu.source.length === 0) yield "no source";
  const { fp16, int8, tf32 } = gpu.tensorTflops;
  if (fp16 === undefined) yield "Tensor Cores multiply FP16 at least";
  if (fp16 !== undefined && int8 !== undefined && int8 < 1.9 * fp16) yield "int8 below twice FP16";
  if (fp16 !== undefined && tf32 !== undefined && tf32 > 0.51 * fp16) yield "TF32 above half FP16";
  if (gpu.dramGBps > gpu.l2GBps) yield "DRAM faster than L2";
  const clocks = gpu.sms * gpu.clockMHz * 1e6;
  const perClock = {
    tensorFmas: ((fp16 ?? 0) * 1e12) / 2 / clocks,
    cudaFmas: (gpu.cudaTflops * 1e12) / 2 / clocks,
    l2Bytes: (gpu.l2GBps * 1e9) / clocks,
  };
  for (const key of ["tensorFmas", "cudaFmas", "l2Bytes"] as const) {
    const [low, high] = perClockBounds[key];
    if (!(perClock[key] >= low && perClock[key] <= high))
      yield `${key} a clock is ${perClock[key].toFixed(1)}`;
  }
}

export const gpus: ReadonlyMap<string, Gpu> = checkedGpus(datasheetRows);

const aliases: ReadonlyMap<string, string> = new Map([
  ["h100-sxm", "h100"],
  ["a100-80gb", "a100"],
  ["agx-orin", "orin"],
]);

/** The row of an id such as "h200", whatever its case; undefined where there is none. */
export function findGpu(id: string): Gpu | undefined {
  const key = id.toLowerCase();
  return gpus.get(aliases.get(key) ?? key);
}
