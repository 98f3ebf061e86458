/** @file `--fix --prove`: what a repair finds is measured on the GPU, by the bundled runtime, and what gains is kept. */
import type { FixChoice } from "../fix/choice.ts";
import type { Prove } from "../fix/fix.ts";
import { planPrecisions } from "../gpu/planned-timeline.ts";
import { askGpu, type GpuLimits, kernelsUrl } from "../gpu/process.ts";
import type { ProveTask } from "../gpu/protocol.ts";
import { InputError } from "../ir/errors.ts";
import type { Ranges } from "../passes/pass.ts";
import type { LintPlan } from "../settings/lint-plan.ts";
import { priceSizes } from "./runs.ts";

export interface ProveRequest {
  readonly plan: LintPlan;
  /** Which GPU, as CUDA numbers them. */
  readonly device: number;
  readonly choice: FixChoice;
  readonly ranges: Ranges | undefined;
}

/** Asks the GPU about one model. The function throws InputError `gpu-…` where it cannot be measured. */
export function proverOf({ plan, device, choice, ranges }: ProveRequest, limits: GpuLimits): Prove {
  return async () => {
    const { path, settings } = plan;
    const task: ProveTask = {
      kind: "prove",
      device,
      kernels: kernelsUrl,
      plan,
      choice: choiceOf(choice),
      ranges,
      precision: precisionOf(plan, choice),
      sizes: priceSizes(path, settings.dims).sizes,
    };
    return await askGpu(task, limits);
  };
}

/** Nothing but the choice: what a process is sent is plain data. */
function choiceOf(options: FixChoice): FixChoice {
  const { half, halfOnlyWhereFaster, halfIo, nhwc, nhwcOnlyWhereFaster, nhwcIo, nhwcForm, batch } = options;
  return { half, halfOnlyWhereFaster, halfIo, nhwc, nhwcOnlyWhereFaster, nhwcIo, nhwcForm, batch };
}

/** What changes the types that are stored is measured in these; padding alone in what the model is to run in. */
function precisionOf({ path, settings: { precision } }: LintPlan, { half }: FixChoice) {
  const own = half === undefined ? planPrecisions[precision] : "model";
  if (own !== undefined) return own;
  const known = Object.keys(planPrecisions).join(", ");
  throw new InputError("usage", `${path}: --prove measures in ${known}, found --precision ${precision}`);
}
