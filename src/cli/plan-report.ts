/** @file A plan as `bench --plan` reports it. */
import type { PlanTarget, Step } from "../../cuda-runtime/ir/step.ts";
import { describeView } from "../../cuda-runtime/ir/view.ts";
import { groupsOf, placementOf } from "../../cuda-runtime/session/memory.ts";
import type { KernelManifest } from "../../cuda-runtime/session/store.ts";
import type { PlanReport } from "./bench-text.ts";
import { describedStep } from "./gpu-describe.ts";
import { type PlannedSizes, sizesOf } from "./gpu-plan.ts";

export interface PlanFor {
  readonly model: string;
  readonly gpu: string;
  /** In words. */
  readonly precision: string;
  readonly target: PlanTarget;
  readonly manifest: KernelManifest;
}

export function planReportOf(
  { plan, sizes }: PlannedSizes,
  { model, gpu, precision, target, manifest }: PlanFor,
): PlanReport {
  const described = (step: Step) => describedStep(step, manifest, target);
  const steps = plan.steps.map(described);
  return {
    model,
    gpu,
    precision,
    sizes: sizesOf(sizes),
    inputs: plan.inputs.map(({ name, view }) => `${name} ${describeView(view)}`),
    outputs: plan.outputs.map(({ name, view }) => `${name} ${describeView(view)}`),
    prepare: plan.prepare.map(described),
    steps,
    weightBytes: [...groupsOf(plan).constants].reduce((total, { bytes }) => total + bytes, 0),
    arenaBytes: placementOf(plan).bytes,
    predictedMicroseconds: steps.reduce((total, step) => total + step.predictedMicroseconds, 0),
  };
}
