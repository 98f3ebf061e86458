/** @file What a plan takes in all: added up in one place, in the order in which it runs, so that lint and `bench --plan` say one number. */
import { predictedMicroseconds } from "../../cuda-runtime/cost/predict.ts";
import type { PlanTarget } from "../../cuda-runtime/ir/step.ts";
import type { PlannedTime } from "../workload/timeline.ts";
import { isOnTensorCores } from "./describe.ts";
import { type Planned, plansOf } from "./plan.ts";

export function plannedTime(planned: Planned, target: PlanTarget): PlannedTime {
  const parts = planned.staged?.parts ?? plansOf(planned).map((plan) => ({ kind: "segment", plan }) as const);
  let [microseconds, onTensorCores, kernels] = [0, 0, 0];
  for (const part of parts) {
    if (part.kind === "host") microseconds += part.predictedMicroseconds;
    if (part.kind !== "segment") continue;
    for (const { action } of part.plan.steps) {
      const time = predictedMicroseconds(action, target);
      microseconds += time;
      if (isOnTensorCores(action)) onTensorCores += time;
      kernels++;
    }
  }
  return { microseconds, onTensorCores, kernels };
}
