/** @file A plan as `bench --plan` reports it. */
import type { Plan, PlanTarget, Step } from "../../cuda-runtime/ir/step.ts";
import { describeView } from "../../cuda-runtime/ir/view.ts";
import { groupsOf, placementOf } from "../../cuda-runtime/session/memory.ts";
import type { KernelManifest } from "../../cuda-runtime/session/store.ts";
import { describedHost, describedStep } from "./describe.ts";
import { openPartsOf, type PlannedSizes, plansOf, sizesOf } from "./plan.ts";
import { plannedTime } from "./planned-time.ts";
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
  /** Of that, in launches that multiply on Tensor Cores: 0 to 1, as lint says on `tc-runtime`. */
  readonly tensorCoreShare: number;
  /** CUDA graphs that a run replays; between them the host works (steps of the kernel "host"). */
  readonly graphs: number;
  /** What cannot be planned before there is data, by node. */
  readonly open: readonly string[];
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
  planned: PlannedSizes,
  { model, gpu, precision, target, manifest }: PlanFor,
): PlanReport {
  const described = (step: Step) => describedStep(step, manifest, target);
  const { sizes, staged } = planned;
  const plans = plansOf(planned);
  const parts = staged?.parts ?? plans.map((plan) => ({ kind: "segment", plan }) as const);
  const steps = parts.flatMap((part) => {
    if (part.kind === "segment") return part.plan.steps.map(described);
    return part.kind === "host" ? [describedHost(part)] : [];
  });
  const { microseconds: predicted, onTensorCores } = plannedTime(planned, target);
  return {
    model,
    gpu,
    precision,
    sizes: sizesOf(sizes),
    inputs: portsOf(planned, "inputs"),
    outputs: portsOf(planned, "outputs"),
    prepare: plans.flatMap(({ prepare }) => prepare.map(described)),
    steps,
    weightBytes: sumOf(plans, (plan) =>
      [...groupsOf(plan).constants].reduce((total, { bytes }) => total + bytes, 0),
    ),
    arenaBytes: sumOf(plans, (plan) => placementOf(plan).bytes),
    predictedMicroseconds: predicted,
    tensorCoreShare: predicted > 0 ? onTensorCores / predicted : 0,
    graphs: plans.length,
    open: openPartsOf(planned),
  };
}

/** Of the model: what its parts hand to each other is neither. A size that data decides is the largest that it may be. */
function portsOf(planned: PlannedSizes, role: "inputs" | "outputs"): string[] {
  const plans = plansOf(planned);
  const ports = plans.flatMap((plan) => plan[role]);
  if (planned.staged === undefined) return ports.map(({ name, view }) => `${name} ${describeView(view)}`);
  const { entering, source } = planned.staged.program;
  const values = role === "inputs" ? [...entering.keys()] : source.outputs;
  return values.map(({ name }) => {
    const port = ports.findLast((own) => own.name === name);
    return port === undefined ? `${name}, of the host` : `${name} ${describeView(port.view)}`;
  });
}

function sumOf(plans: readonly Plan[], of: (plan: Plan) => number): number {
  return plans.reduce((total, plan) => total + of(plan), 0);
}
