/**
 * @file A GPU as kernels are chosen and predicted: what it does in a microsecond and in a clock. From its row and its
 * architecture's alone; a constant of a kernel (how it fills, what it waits for) is the kernel's.
 */
import { type ArchitectureName, architectureOf, capabilityOf, type Features } from "./architectures.ts";
import { findGpu, type Gpu, gpus, type TensorCoreType } from "./gpus.ts";

export interface Machine {
  /** "9.0" is 90: which kernels were built for it. */
  readonly computeCapability: number;
  readonly architecture: ArchitectureName;
  readonly features: Features;
  readonly ptx: { readonly version: string; readonly target: string };
  readonly multiprocessors: number;
  /** Of one multiprocessor. */
  readonly threads: number;
  readonly sharedBytes: number;
  /** What one block may have, dynamic shared memory opted in. */
  readonly sharedBytesPerBlock: number;
  readonly reservedSharedBytes: number;
  /** While it works, not at its boost. */
  readonly clocksPerMicrosecond: number;
  /** FLOP of one multiprocessor in a clock, FP32 sums, as far as the instruction gets; 0 where it has none. */
  readonly flopPerClock: {
    readonly half: number;
    readonly tf32: number;
    readonly wgmma: number;
    /** FP32 on CUDA cores. */
    readonly cuda: number;
  };
  /** Bytes in a microsecond, of the whole GPU; `copyEngine` is from L2 as well. */
  readonly bandwidth: { readonly dram: number; readonly l2: number; readonly copyEngine: number };
  /** Bytes in a clock: one multiprocessor's share of the same; `shared` is what its own shared memory reads or writes. */
  readonly bytesPerClock: {
    readonly dram: number;
    readonly l2: number;
    readonly copyEngine: number;
    readonly shared: number;
  };
  /** Of the cache that all multiprocessors share. */
  readonly l2Bytes: number;
  /** From a load's issue until its data is there, nobody else asking. */
  readonly memoryLatencyClocks: number;
  /** Of a launch within a CUDA graph that does nothing, and of the gap before it. */
  readonly launchMicroseconds: number;
}

/** What a data sheet promises, per microsecond: FLOP, bytes and clocks. */
export interface Promised {
  readonly tensor: (type: TensorCoreType) => number | undefined;
  readonly cuda: number;
  readonly float64: { readonly cuda: number; readonly tensor: number | undefined };
  readonly dram: number;
  readonly l2: number;
  readonly clocks: number;
}

export function promisedBy(gpu: Gpu): Promised {
  return {
    tensor: (type) => {
      const rate = gpu.tensorTflops[type];
      return rate === undefined ? undefined : rate * 1e6;
    },
    cuda: gpu.cudaTflops * 1e6,
    float64: {
      cuda: gpu.float64Tflops.cuda * 1e6,
      tensor: gpu.float64Tflops.tensor === undefined ? undefined : gpu.float64Tflops.tensor * 1e6,
    },
    dram: gpu.dramGBps * 1e3,
    l2: gpu.l2GBps * 1e3,
    clocks: gpu.clockMHz,
  };
}

/**
 * Of what its data sheet promises, what an H200 sustains under kernels of this runtime (bench/results/gpu-*.json): 1.75 GHz,
 * 4158 GB/s from DRAM, 6006 GB/s from L2. Other GPUs are taken to sustain as much of theirs.
 */
const sustained = { clock: 1.75 / 1.83, dram: 4158 / 4800, l2: 6006 / 6300 } as const;
/** The shortest that any kernel of the runtime takes on an H200, its own start subtracted. */
const launchMicroseconds = 1.1;
const memoryLatencyClocks = 900;
/** 32 banks of 4 bytes, in every architecture since Volta. */
const sharedBytesPerClock = 32 * 4;

const machines = new WeakMap<Gpu, Machine>();

/** The same object for the same row: what is known of a machine is kept by it. */
export function machineOf(gpu: Gpu): Machine {
  const machine = machines.get(gpu) ?? newMachine(gpu);
  machines.set(gpu, machine);
  return machine;
}

function newMachine(gpu: Gpu): Machine {
  const computeCapability = capabilityOf(gpu);
  const architecture = architectureOf(computeCapability);
  const { shares, cores, copyEngine, reservedSharedBytes, name, features, ptx, threads } = architecture;
  const promised = promisedBy(gpu);
  const tensor = (type: TensorCoreType) => (promised.tensor(type) ?? 0) / (gpu.sms * promised.clocks);
  const clocksPerMicrosecond = sustained.clock * promised.clocks;
  const l2 = sustained.l2 * promised.l2;
  const bandwidth = { dram: sustained.dram * promised.dram, l2, copyEngine: copyEngine * l2 };
  const perClock = (rate: number) => rate / (gpu.sms * clocksPerMicrosecond);
  return {
    ...{ computeCapability, architecture: name, features, ptx, multiprocessors: gpu.sms },
    ...{ threads, sharedBytes: gpu.sharedBytes, reservedSharedBytes },
    sharedBytesPerBlock: gpu.sharedBytes - reservedSharedBytes,
    clocksPerMicrosecond,
    flopPerClock: {
      half: shares.mma * tensor("fp16"),
      tf32: shares.mma * tensor("tf32"),
      wgmma: shares.wgmma * tensor("fp16"),
      cuda: 2 * cores,
    },
    bandwidth,
    bytesPerClock: {
      dram: perClock(bandwidth.dram),
      l2: perClock(bandwidth.l2),
      copyEngine: perClock(bandwidth.copyEngine),
      shared: sharedBytesPerClock,
    },
    ...{ l2Bytes: gpu.l2Bytes, memoryLatencyClocks, launchMicroseconds },
  };
}

/** Of the row with this id, which there must be. */
export function machineNamed(id: string): Machine {
  const gpu = findGpu(id);
  if (gpu === undefined) throw new Error(`tc-lint bug: no GPU row '${id}'`);
  return machineOf(gpu);
}

/** What a driver says of a device. */
export interface DeviceFacts {
  readonly name: string;
  /** "9.0" is 90. */
  readonly computeCapability: number;
  readonly multiprocessors: number;
  readonly sharedBytesPerBlock: number;
  readonly clockMegahertz: number;
  /** 0 where the driver does not say. */
  readonly memoryBytesPerSecond: number;
}

/** The row of a device by what it says of itself; undefined where there is none. */
export function gpuOfDevice({
  name,
  computeCapability,
  multiprocessors,
}: Pick<DeviceFacts, "name" | "computeCapability" | "multiprocessors">): Gpu | undefined {
  const words = new Set(name.toLowerCase().split(/[^a-z0-9]+/));
  const rows = [...gpus.values()].filter(
    (row) => capabilityOf(row) === computeCapability && words.has(row.id.split("-")[0] ?? row.id),
  );
  return rows.find(({ sms }) => sms === multiprocessors) ?? rows[0];
}

/**
 * A device as it says of itself: with the rates of its row, so that its plans are those of `--plan`; without a row, with those
 * of a relative: the multiprocessor of the newest GPU that is no newer, at the device's clock and memory.
 */
export function machineOfDevice(device: DeviceFacts): Machine {
  const row = gpuOfDevice(device);
  const gpu = row === undefined ? relativeOf(device) : resized(row, device.multiprocessors);
  const { computeCapability, sharedBytesPerBlock } = device;
  return { ...machineOf(gpu), computeCapability, sharedBytesPerBlock };
}

/** A part of a GPU, or another edition of it, has its memory, and multiprocessors alike. */
function resized(row: Gpu, sms: number): Gpu {
  if (row.sms === sms) return row;
  const scale = sms / row.sms;
  return { ...scaled(row, scale), sms };
}

/** Rates that multiprocessors add up to. */
function scaled(row: Gpu, scale: number): Gpu {
  const tensorTflops = Object.fromEntries(
    Object.entries(row.tensorTflops).map(([type, rate]) => [type, scale * rate]),
  );
  const { cuda, tensor } = row.float64Tflops;
  const float64Tflops = { cuda: scale * cuda, tensor: tensor === undefined ? undefined : scale * tensor };
  return {
    ...row,
    tensorTflops,
    cudaTflops: scale * row.cudaTflops,
    float64Tflops,
    l2GBps: scale * row.l2GBps,
  };
}

function relativeOf({ computeCapability, ...device }: DeviceFacts): Gpu {
  const older = [...gpus.values()].filter((row) => capabilityOf(row) <= computeCapability);
  const newest = older.reduce((most, each) => Math.max(most, capabilityOf(each)), 0);
  const kin = older.find((row) => capabilityOf(row) === newest) ?? [...gpus.values()][0];
  if (kin === undefined) throw new Error("tc-lint bug: no GPUs");
  const clockMHz = device.clockMegahertz > 0 ? device.clockMegahertz : kin.clockMHz;
  const scale = (device.multiprocessors * clockMHz) / (kin.sms * kin.clockMHz);
  return {
    ...scaled(kin, scale),
    id: device.name,
    name: device.name,
    sms: device.multiprocessors,
    clockMHz,
    dramGBps:
      device.memoryBytesPerSecond > 0
        ? device.memoryBytesPerSecond / 1e9
        : (kin.dramGBps * device.multiprocessors) / kin.sms,
  };
}
