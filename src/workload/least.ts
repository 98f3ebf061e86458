/** @file What a model takes at the least, however well its kernels run: a saving leaves that. */
import { computeTypeOn } from "../cost/precision.ts";
import { machineOf, promisedBy } from "../hardware/machine.ts";
import type { ComputeType, Target } from "../hardware/target.ts";
import type { Step } from "./timeline.ts";
import type { Workload } from "./workload.ts";

/** FP16 on CUDA cores is two numbers an instruction. */
const packed = 2;

/**
 * Microseconds of one run: of each kernel its launch, or its operations at the rate of the data sheet, or its bytes once over L2, whichever is
 * most. No more than predicted.
 */
export function leastOf({ timeline, target }: Pick<Workload, "timeline" | "target">): number {
  const rates = ratesOf(target);
  return timeline.steps.reduce((total, step) => total + leastOfStep(step, target, rates), 0);
}

interface Rates {
  readonly tensor: ReturnType<typeof promisedBy>["tensor"];
  readonly cuda: number;
  readonly float64: number;
  readonly l2: number;
  readonly launch: number;
}

function ratesOf({ gpu }: Target): Rates {
  const { tensor, cuda, float64, l2 } = promisedBy(gpu);
  return {
    tensor,
    cuda: packed * cuda,
    float64: float64.tensor ?? float64.cuda,
    l2,
    launch: machineOf(gpu).launchMicroseconds,
  };
}

function leastOfStep({ work, estimate, runs, microseconds }: Step, target: Target, rates: Rates): number {
  const { tensorCore, flops, bytes } = estimate;
  const rate = rateOf(computeTypeOn(work.dtype, target), tensorCore, rates);
  const once = Math.max(rates.launch, bytes / rates.l2, Number.isFinite(rate) ? flops / rate : 0);
  return Math.min(microseconds, once * runs);
}

function rateOf(type: ComputeType, tensorCore: boolean, { tensor, cuda, float64 }: Rates): number {
  if (type === "fp64") return float64;
  return tensorCore && type !== "fp32" ? (tensor(type) ?? cuda) : cuda;
}
