/** @file What FP32 between half-precision neighbours costs. */
import { addSavings, type LintContext, type Saving, type Step } from "./context.ts";
import { dtypeOf } from "./graph.ts";
import type { Island } from "./islands.ts";
import { stepSavingAt, stepTimeAt } from "./precision.ts";

/** As the types stand, less the same kernels in half without those that only convert. What takes no time where it runs saves none. */
export function islandSaving({ scope, casts, nodes }: Island, context: LintContext): Saving {
  const steps = stepsOf([...casts, ...nodes], scope, context);
  const half = casts.some((cast) => [...cast.inputs, ...cast.outputs].some((value) => isBfloat(value, scope)))
    ? "bf16"
    : "fp16";
  const isConversion = conversionsIn(casts);
  return addSavings(
    steps.map((step) =>
      isConversion(step) ? stepTimeAt(step, "as-is", context) : stepSavingAt(step, "as-is", half, context),
    ),
  );
}

/** Of its Casts alone, as far as they are kernels of their own. */
export function castTime({ scope, casts }: Island, context: LintContext): Saving {
  return addSavings(
    stepsOf(casts, scope, context)
      .filter(conversionsIn(casts))
      .map((step) => stepTimeAt(step, "as-is", context)),
  );
}

function stepsOf(nodes: Island["nodes"], scope: Island["scope"], { timeline }: LintContext): Step[] {
  const steps = new Set(nodes.flatMap((node) => timeline.stepsOf(node, scope)));
  return [...steps].filter(({ microseconds }) => microseconds > 0);
}

function conversionsIn(casts: Island["casts"]): (step: Step) => boolean {
  const converts = new Set(casts);
  return (step) => step.nodes.every((node) => converts.has(node));
}

function isBfloat(value: Parameters<typeof dtypeOf>[0], scope: Island["scope"]): boolean {
  return dtypeOf(value, scope) === "bfloat16";
}
