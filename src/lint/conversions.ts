/** @file Conversions between codes and numbers, as kernels of their own. */
import type { Scope } from "../facts/scope.ts";
import type { Node } from "../ir/model.ts";
import { traitsOf } from "../ops/ask.ts";
import { addSavings, type LintContext, type Saving } from "./context.ts";
import { stepTimeAt } from "./precision.ts";

export interface Conversions {
  /** In one run of the model. */
  readonly kernels: number;
  /** All of their time. */
  readonly saves: Saving;
  /** What they compute. */
  readonly covers: readonly { readonly node: Node; readonly scope: Scope }[];
}

/** Kernels of the timeline that do nothing but quantize and dequantize. */
export function conversionsOf(context: LintContext): Conversions {
  const { precision } = context.target;
  const steps = context.timeline.steps.filter(
    ({ product, nodes }) =>
      product === undefined && nodes.every((node) => traitsOf(node)?.layout === "scaled"),
  );
  return {
    kernels: steps.reduce((total, { runs }) => total + runs, 0),
    covers: steps.flatMap(({ nodes, scope }) => nodes.map((node) => ({ node, scope }))),
    saves: addSavings(steps.map((step) => stepTimeAt(step, precision, context))),
  };
}
