/** @file A plan as `bench --plan` reports it. */
import type { PlanTarget, Step } from "../../cuda-runtime/ir/step.ts";
import { describeView } from "../../cuda-runtime/ir/view.ts";
import { groupsOf, placementOf } from "../../cuda-runtime/session/memory.ts";
import type { KernelManifest } from "../../cuda-runtime/session/store.ts";
import { describedStep } from "./describe.ts";
import { type PlannedSizes, sizesOf } from "./plan.ts";
import type { StepFacts } from "./protocol.ts";

/** Sizes in bytes; times are predictions. */
export interface PlanReport {
  readonly model: string;
  readonly gpu: string;
  readonly precision: string;
  readonly sizes: Readonly<Record<string, number>>;
  readonly inputs: readonly string[];
  readonly outputs: readonly string[];
  /** Once, at load. */
  readonly prepare: readonly StepFacts[];
  readonly steps: readonly StepFacts[];
  readonly weightBytes: number;
  readonly arenaBytes: number;
  readonly predictedMicroseconds: number;
}

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
