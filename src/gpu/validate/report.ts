/** @file What a validation found, ready for JSON. */

import type { DeviceInfo } from "../../../cuda-runtime/driver/driver.ts";
import type { MemoryUse } from "../../../cuda-runtime/session/memory.ts";
import type { Times } from "../../../cuda-runtime/session/timing.ts";
import type { Overflow } from "../../passes/half/overflow.ts";
import type { Budget } from "../../verify/budget.ts";
import type { Difference } from "../../verify/compare.ts";
import type { DrawReport, OutputReport } from "../../verify/report.ts";
import type { AutotuneReport } from "../autotune/report.ts";
import type { StepReport } from "../protocol.ts";

/** One model and precision, timed. */
export interface TimedRun {
  /** `before, fp32`. */
  readonly name: string;
  readonly model: string;
  readonly precision: string;
  readonly times: Times | undefined;
  readonly launches: number;
  readonly memory: MemoryUse;
  /** Of the model that is validated, each step by itself. */
  readonly steps?: readonly StepReport[];
}

/** The first value inside the model, in the order of computation, that is off. */
export interface InnerDivergence {
  readonly value: string;
  readonly node: string;
  readonly operator: string;
  readonly difference: Difference;
}

export interface ValidateReport {
  readonly model: string;
  readonly against: string;
  readonly precision: string;
  readonly gpu: DeviceInfo;
  readonly driver: string;
  /** What the outputs were compared with: name and version. */
  readonly reference: string;
  readonly same: boolean;
  readonly budget: Budget;
  readonly draws: readonly DrawReport[];
  /** Of each output, the run where it came nearest to its limit. */
  readonly outputs: readonly OutputReport[];
  /** Where outputs differ in kind: where the model leaves the half type's range on these inputs, if it does. */
  readonly overflow: Overflow | undefined;
  /** With --layers: what was looked at, and the first that is off. */
  readonly layers: { readonly looked: number; readonly first: InnerDivergence | undefined } | undefined;
  readonly runs: readonly TimedRun[];
  /** Time before by time after; the original in FP32 is before. */
  readonly speedup: number | undefined;
  /** Of the steps' time, what kernels with Tensor Core instructions take. */
  readonly tensorCoreShare: number | undefined;
  /** Undefined where kernels were chosen by prediction alone. */
  readonly autotune: AutotuneReport | undefined;
  readonly notices: readonly string[];
  readonly seconds: Readonly<Record<string, number>>;
}
