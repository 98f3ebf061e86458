/** @file What a prediction rests on, as its report says. */
import { computeTypeOn, isUnmeasured } from "../cost/precision.ts";
import type { Workload } from "../workload/workload.ts";
import type { ModelReport } from "./result.ts";
import type { LintSettings } from "./run.ts";

/** Of the time: where most of it is in products of formats that nothing was measured in, measurements decide little. */
const most = 0.5;

export function basisOf(
  workload: Workload,
  { cost, profile }: Pick<LintSettings, "cost" | "profile">,
): ModelReport["predicted"]["basis"] {
  const { timeline, target } = workload;
  if (profile !== undefined) return "profile";
  if (timeline.planned !== undefined) return "planned";
  const kinship = cost.kinship(target);
  if (kinship === "datasheet" || isMostlyUnmeasured(workload)) return "datasheet";
  if (kinship === "same-generation") return "scaled";
  return target.stack.known === "measured" ? "measured" : "kernels";
}

function isMostlyUnmeasured({ timeline: { steps, microseconds }, target }: Workload): boolean {
  let unmeasured = 0;
  for (const { product, microseconds: time } of steps) {
    const format = product && computeTypeOn(product.sizes.dtype, target);
    if (format !== undefined && isUnmeasured(format)) unmeasured += time;
  }
  return unmeasured > most * microseconds;
}
