/** @file Operators that the target's stack has no kernel of in half precision: a file with them in it would not load. */
import { opsetOf } from "../../facts/context.ts";
import type { Scope } from "../../facts/scope.ts";
import { hasKernel } from "../../hardware/stacks.ts";
import type { Target } from "../../hardware/target.ts";
import { type Node, operatorOf } from "../../ir/model.ts";
import type { HalfType } from "./accepts.ts";
import { formats } from "./formats.ts";

const computeTypes = { float16: "fp16", bfloat16: "bf16" } as const satisfies Record<HalfType, string>;

/** Why a node cannot run in the type, itself or in the function that it calls; undefined where it can. */
export function kernelLack(
  node: Node,
  scope: Scope,
  type: HalfType,
  { stack }: Pick<Target, "stack">,
): string | undefined {
  const call = scope.children.get(node)?.find((child) => child.functionName !== undefined);
  if (call !== undefined) {
    for (const inner of call.graph.nodes) {
      const lack = kernelLack(inner, call, type, { stack });
      if (lack !== undefined) return lack;
    }
    return undefined;
  }
  return lackAt(opsetOf(node.domain, scope), node, type, { stack });
}

/** The same of the operator in any opset. */
export function kernelLackEver(
  node: Node,
  type: HalfType,
  target: Pick<Target, "stack">,
): string | undefined {
  return lackAt(Number.POSITIVE_INFINITY, node, type, target);
}

function lackAt(
  opset: number,
  node: Node,
  type: HalfType,
  { stack }: Pick<Target, "stack">,
): string | undefined {
  if (hasKernel(stack, computeTypes[type], node, opset)) return undefined;
  return `${stack.id} has no ${formats[type].label} kernel of ${operatorOf(node)}`;
}
