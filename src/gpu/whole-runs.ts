/**
 * @file How far the planner's account of whole runs is off, as measured: bench/results/truth-runtime.md. TF32 and BF16 were not measured with the present
 * kernels, nor any GPU of another compute capability: there a run is as unsure as its kernels.
 */
import type { Range } from "../cost/calibration.ts";
import { sameGenerationWidening } from "../cost/fitted.ts";
import type { Gpu } from "../hardware/gpu.ts";
import { sharesCapability } from "../hardware/gpus.ts";
import type { WholeRuns } from "../workload/whole-runs.ts";

/** Natural logarithms of measured / predicted that enclose nine of ten, and the GPUs that they are of. */
interface MeasuredRange extends Range {
  readonly on: readonly string[];
}

/** Batch 1 on both, and 8 and 32 on an H100, where runs may be a quarter longer. */
const runInFp16: MeasuredRange = { low: -0.13, high: 0.25, on: ["h100", "h200"] };
/** Batch 1. Its products are priced too low. */
const runInFp32: MeasuredRange = { low: -0.22, high: 0.4, on: ["h200"] };
/** Batch 1: no more than 0.15 longer. A tenth is added for what larger batches add to FP16 alone. */
const leftInFp16: MeasuredRange = { low: -0.34, high: 0.25, on: ["h200"] };

/** Of one compute capability all of them. */
const measured = [runInFp16, runInFp32, leftInFp16];

export function wholeRunsOn(gpu: Pick<Gpu, "id" | "computeCapability">): WholeRuns | undefined {
  const isLike = measured.some(({ on }) => on.some((id) => sharesCapability(gpu, id)));
  if (!isLike) return undefined;
  const here = ({ low, high, on }: MeasuredRange): Range => {
    const factor = on.includes(gpu.id) ? 1 : sameGenerationWidening;
    return { low: factor * low, high: factor * high };
  };
  return { runs: { fp16: here(runInFp16), fp32: here(runInFp32) }, fromFp32: { fp16: here(leftInFp16) } };
}
