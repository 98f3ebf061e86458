/** @file How fast a step could be. */
import { ceilingsOf } from "../hardware/ceilings.ts";
import type { Gpu } from "../hardware/gpus.ts";
import type { ComputeType } from "../hardware/target.ts";
import type { StepFacts } from "./protocol.ts";

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
      if (compute === "fp32" || compute === "fp64") return undefined;
      const own = compute === "int8" || compute === "fp8" ? undefined : measured?.tensorTflops[compute];
      return tera(own ?? gpu.tensorTflops[compute]);
    },
    cuda: (measured?.cudaTflops ?? gpu.cudaTflops) * 1e12,
    bytesPerSecond: (measured?.dramGBps ?? gpu.dramGBps) * 1e9,
  };
}

/** No kernel can be faster: its operations at the rate of its instructions, its bytes once over DRAM. */
export function rooflineMicroseconds(step: StepFacts, rates: Rates): number {
  const tensor = step.tensor === null ? undefined : rates.tensor(step.compute);
  return 1e6 * Math.max(step.flops / (tensor ?? rates.cuda), step.bytes / rates.bytesPerSecond);
}
