/** @file Number formats that a stack has kernels of for some operators alone. */
import { computeDtype } from "../cost/precision.ts";
import type { Facts } from "../facts/infer.ts";
import type { Scope } from "../facts/scope.ts";
import { hasKernel, type Stack } from "../hardware/stacks.ts";
import type { ComputeType, Target } from "../hardware/target.ts";
import { labelOf, type Node, operatorOf } from "../ir/model.ts";
import { isConstantNode } from "../ops/ask.ts";
import { dtypeOf } from "./graph.ts";
import type { NoticeReport } from "./result.ts";

/** What is stored in such a format and has none; else what is asked for in one: predicted, verified elsewhere, and perhaps not run at all. */
export function inPartNotices(facts: Facts, { precision, stack }: Target): NoticeReport[] {
  const known = Object.keys(stack.inPart) as ComputeType[];
  const [found] = known.flatMap((type) => storedWithout(type, facts, stack) ?? []);
  if (found !== undefined) return [{ code: "type-in-part", message: found }];
  if (precision === "as-is" || stack.inPart[precision] === undefined) return [];
  const name = precision.toUpperCase();
  const message = `${stack.name} has kernels in ${name} for some operators alone: a fix keeps the others in FP32, and what is verified on the CPU stands in for ${name}: run the file on it before anything rests on this`;
  return [{ code: "type-in-part", message }];
}

function storedWithout(type: ComputeType, facts: Facts, stack: Stack): string | undefined {
  const lacking: Node[] = [];
  for (const scope of facts.scopes()) {
    for (const node of scope.graph.nodes)
      if (isIn(type, node, scope) && !hasKernel(stack, type, node, scope.opsets.get(node.domain) ?? 1))
        lacking.push(node);
  }
  const [first, ...others] = lacking;
  if (first === undefined) return undefined;
  const more = others.length === 0 ? "" : `, and none of ${others.length} more`;
  return `${stack.name} has no ${type.toUpperCase()} kernel of ${operatorOf(first)}, in which "${labelOf(first)}" is stored${more}: the file may not load on it`;
}

/** What a call or a control node does, its own graphs do. */
function isIn(type: ComputeType, node: Node, scope: Scope): boolean {
  if (scope.children.has(node) || isConstantNode(node)) return false;
  return [...node.inputs, ...node.outputs].some((value) => {
    const dtype = value === undefined ? undefined : dtypeOf(value, scope);
    return dtype !== undefined && computeDtype(dtype, "as-is") === type;
  });
}
