/** @file From work to microseconds, with an interval, for one target. */
import type { Target } from "../hardware/target.ts";
import type { Work } from "../ops/work.ts";
import type { Calibration } from "./calibration.ts";
import { rooflineOf } from "./roofline.ts";

export type Bound = "tensor-core" | "cuda-core" | "dram" | "l2" | "launch";

/** One kernel (or the few a stack launches for one piece of work), replayed without gaps. */
export interface Estimate {
  readonly microseconds: number;
  /** The truth lies between `low` and `high` in nine cases of ten. */
  readonly low: number;
  readonly high: number;
  /** The largest term of the analytic model. */
  readonly bound: Bound;
  /** Whether Tensor Cores do the multiplications. */
  readonly tensorCore: boolean;
  /** Multiply-adds counted as two. */
  readonly flops: number;
  /** Compulsory traffic: each operand once. */
  readonly bytes: number;
  /**
   * Of `microseconds`, the pass that adds a convolution's bias on a stack that does not fuse it: subtract it for
   * a convolution without bias. 0 for other work.
   */
  readonly biasMicroseconds: number;
}

/** Microseconds that a change saves; negative where it costs. */
export interface Saving {
  readonly microseconds: number;
  readonly low: number;
  readonly high: number;
}

export interface CostModel {
  /** Whether coefficients were fitted on this GPU and stack; else the terms use the datasheet's rates. */
  measured(target: Target): boolean;
  estimate(work: Work<number>, target: Target): Estimate;
  /** `before` and `after` are what one change replaces by what; their errors move together, so the interval is tighter. */
  savingOf(before: readonly Work<number>[], after: readonly Work<number>[], target: Target): Saving;
}

export interface CostModelOptions {
  /** Coefficients of a machine that someone measured; they replace the committed ones where they match. */
  readonly calibration?: Calibration;
}

export function createCostModel(_options: CostModelOptions = {}): CostModel {
  const estimate = (work: Work<number>, target: Target) => rooflineOf(work, target);
  return {
    measured: (target) => target.gpu.id === "h200" && target.stack.id === "cudnn",
    estimate,
    savingOf(before, after, target) {
      const from = total(before.map((work) => estimate(work, target)));
      const to = total(after.map((work) => estimate(work, target)));
      const microseconds = from - to;
      const spread = 0.1 * Math.max(from, to);
      return { microseconds, low: microseconds - spread, high: microseconds + spread };
    },
  };
}

function total(estimates: readonly Estimate[]): number {
  return estimates.reduce((sum, { microseconds }) => sum + microseconds, 0);
}
