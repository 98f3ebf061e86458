/** @file How fast a step could be, and a GPU's row as planning sees it. */
import type { DeviceInfo } from "../../cuda-runtime/driver/driver.ts";
import type { PlanTarget } from "../../cuda-runtime/ir/step.ts";
import { targetOf } from "../../cuda-runtime/session/open.ts";
import { ceilingsOf } from "../hardware/ceilings.ts";
import { type Gpu, gpus } from "../hardware/gpus.ts";
import type { ComputeType } from "../hardware/target.ts";
import type { StepFacts } from "./gpu-protocol.ts";

export interface Rates {
  /** FLOP/s of products: on Tensor Cores by type, and on CUDA cores. */
  readonly tensor: (compute: ComputeType) => number | undefined;
  readonly cuda: number;
  readonly bytesPerSecond: number;
}

/** What a machine reached where one was measured, else what the datasheet promises. */
export function ratesOf(gpu: Gpu): Rates {
  const measured = ceilingsOf(gpu.id);
  const tera = (value: number | undefined) => (value === undefined ? undefined : value * 1e12);
  return {
    tensor: (compute) => {
      if (compute === "fp32") return undefined;
      const own = compute === "int8" ? undefined : measured?.tensorTflops[compute];
      return tera(own ?? gpu.tensorTflops[compute]);
    },
    cuda: (measured?.cudaTflops ?? gpu.cudaTflops) * 1e12,
    bytesPerSecond: (measured?.dramGBps ?? gpu.dramGBps) * 1e9,
  };
}

/** The row of a device by what it says of itself; undefined where there is none. */
export function gpuOfDevice({ name, computeCapability, multiprocessors }: DeviceInfo): Gpu | undefined {
  const words = new Set(name.toLowerCase().split(/[^a-z0-9]+/));
  const rows = [...gpus.values()].filter((row) => {
    const isSame = Math.round(10 * Number(row.computeCapability)) === computeCapability;
    return isSame && words.has(row.id.split("-")[0] ?? row.id);
  });
  return rows.find(({ sms }) => sms === multiprocessors) ?? rows[0];
}

/** Shared memory that the driver keeps of what an SM has, from Ampere on. */
const reservedSharedBytes = 1024;

/** A row as planning sees it. */
export function targetOfGpu({ computeCapability, sms, sharedBytes, dramGBps, clockMHz }: Gpu): PlanTarget {
  const capability = Math.round(10 * Number(computeCapability));
  const reserved = capability >= 80 ? reservedSharedBytes : 0;
  const sharedBytesPerBlock = sharedBytes - reserved;
  return { computeCapability: capability, multiprocessors: sms, sharedBytesPerBlock, dramGBps, clockMHz };
}

/** A device as it says of itself, with the rates of its row where there is one: plans are those of `--plan`. */
export function targetOfDevice(device: DeviceInfo): PlanTarget {
  const { dramGBps, clockMHz } = gpuOfDevice(device) ?? {};
  return { ...targetOf(device), dramGBps, clockMHz };
}

/** No kernel can be faster: its operations at the rate of its instructions, its bytes once over DRAM. */
export function rooflineMicroseconds(step: StepFacts, rates: Rates): number {
  const tensor = step.tensor === null ? undefined : rates.tensor(step.compute);
  return 1e6 * Math.max(step.flops / (tensor ?? rates.cuda), step.bytes / rates.bytesPerSecond);
}
