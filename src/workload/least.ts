/** @file What kernels take at the least, however well they run: a saving leaves that. */
import { computeTypeOn } from "../cost/precision.ts";
import { machineOf, promisedBy } from "../hardware/machine.ts";
import type { ComputeType, Target } from "../hardware/target.ts";
import type { WorkloadChange } from "./change.ts";
import type { Step } from "./timeline.ts";
import type { Workload } from "./workload.ts";

/** FP16 on CUDA cores is two numbers an instruction. */
const packed = 2;

/**
 * The most that a change saves: what its kernels are predicted to take, less what those that it leaves in their place take at the least. Kernels that stay
 * as they are give nothing, and widths of changes add up apart from those of times.
 */
export function mostSavedBy(
  { steps }: Pick<WorkloadChange, "steps">,
  { target }: Pick<Workload, "target">,
): number {
  const rates = ratesOf(target);
  return steps.reduce(
    (sum, { before, after }) =>
      sum + (before?.microseconds ?? 0) - (after === undefined ? 0 : leastOfStep(after, target, rates)),
    0,
  );
}

/** What works take at the least, each run once. */
export function leastOf(works: readonly Pick<Step, "work" | "estimate">[], target: Target): number {
  const rates = ratesOf(target);
  return works.reduce((sum, { work, estimate }) => {
    const { microseconds } = estimate;
    return sum + leastOfStep({ work, estimate, runs: 1, microseconds }, target, rates);
  }, 0);
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

/**
 * Of all its runs: its launch, or its operations at the rate of the data sheet, or its bytes once over L2, whichever is most. No more than
 * predicted.
 */
function leastOfStep(
  { work, estimate, runs, microseconds }: Pick<Step, "work" | "estimate" | "runs" | "microseconds">,
  target: Target,
  rates: Rates,
): number {
  const { tensorCore, flops, bytes } = estimate;
  const rate = rateOf(computeTypeOn(work.dtype, target), tensorCore, rates);
  const once = Math.max(rates.launch, bytes / rates.l2, Number.isFinite(rate) ? flops / rate : 0);
  return Math.min(microseconds, once * runs);
}

function rateOf(type: ComputeType, tensorCore: boolean, { tensor, cuda, float64 }: Rates): number {
  if (type === "fp64") return float64;
  return tensorCore && type !== "fp32" ? (tensor(type) ?? cuda) : cuda;
}
