/** @file What one kernel would save for operators that exporters write as several nodes. */
import type { Detailed } from "../cost/model.ts";
import type { Stack } from "../hardware/stacks.ts";
import type { TrafficVariant, Work } from "../ops/work.ts";
import { ConstantValues } from "../workload/constants.ts";
import { chainWork } from "../workload/traffic.ts";
import type { WrittenOut } from "../workload/written-out.ts";
import { type LintContext, type Saving, type Step, scale } from "./context.ts";

/** A stack that joins chains computes norms and activations in one kernel, however they are spelt. */
export function recognisesPatterns({ fuses }: Stack): boolean {
  return fuses.elementwise === "chains" || fuses.elementwise === "loops";
}

export interface FusedSaving {
  /** Of its nodes, how many run now. */
  readonly kernels: number;
  readonly saves: Saving;
}

/**
 * The kernels that compute some of the nodes now, less the one for all of them and what those kernels do besides; undefined where a
 * product's kernel does a part on its way. `pass` is what the one kernel was measured as.
 */
export function fusedSaving(
  { nodes, scope, fused }: WrittenOut,
  context: LintContext,
  pass?: TrafficVariant,
): FusedSaving | undefined {
  const inside = new Set(nodes);
  const steps = new Set<Step>();
  for (const node of nodes) {
    const step = context.timeline.stepOf(node, scope);
    if (step?.product !== undefined) return undefined;
    if (step !== undefined) steps.add(step);
  }
  const [first] = steps;
  if (first === undefined || steps.size === 1) return undefined;
  const kept = "opType" in fused ? context.timeline.stepOf(fused, scope) : undefined;
  const after: (Work<number> | Detailed)[] =
    "opType" in fused ? [] : [{ work: fused, detail: { variant: pass } }];
  for (const step of steps) {
    const others = step.nodes.filter((node) => !inside.has(node));
    const rest = chainWork(others, scope, ConstantValues.of(scope), context.bindings);
    if (others.length > 0 && rest !== undefined) after.push(rest);
  }
  const before = [...steps].filter((step) => step !== kept);
  const times = first.runs * context.measure(nodes.map((node) => ({ node, scope })));
  return { kernels: steps.size, saves: scale(context.savingOf(before, after), times) };
}

export { asMeasuredJoined } from "../workload/joined.ts";
export { writtenGelus } from "../workload/written-gelu.ts";
export { type WrittenNorm, writtenNorms } from "../workload/written-norm.ts";
