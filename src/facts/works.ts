/** @file The work of a node, as its operator describes it with what inference found. */
import type { Node } from "../ir/model.ts";
import { type BodyKernel, type OpDefinition, ShapeError, type WorkContext } from "../ops/op.ts";
import { findOp } from "../ops/registry.ts";
import { missingBefore } from "../ops/since.ts";
import type { GemmWork, Work } from "../ops/work.ts";
import { NodeContext } from "./context.ts";
import type { Scope } from "./scope.ts";

/** The description of a node that is an operator here: not a call of a function, nor of an opset that does not have it. */
export function operatorIn(node: Node, scope: Scope): OpDefinition | undefined {
  const isCall = scope.children.get(node)?.some((child) => child.functionName !== undefined) ?? false;
  const { domain, opType } = node;
  return isCall || missingBefore(domain, opType, scope.opsets.get(domain)) !== undefined
    ? undefined
    : findOp(domain, opType);
}

/** Undefined where the operator describes none, or cannot: sizes not known, or contradictory (then it is skipped). */
export function worksOf(node: Node, scope: Scope): readonly Work[] | undefined {
  return described(node, scope, operatorIn(node, scope)?.work);
}

/** What the nodes of the function do that defines an operator; undefined where it is no function, or sizes are not known. */
export function bodyOf(node: Node, scope: Scope): readonly BodyKernel[] | undefined {
  return described(node, scope, operatorIn(node, scope)?.body);
}

function described<Result>(
  node: Node,
  scope: Scope,
  describe: ((context: WorkContext) => Result | undefined) | undefined,
): Result | undefined {
  try {
    return describe?.(new NodeContext(node, scope, scope.outputsOf(node)));
  } catch (error) {
    if (error instanceof ShapeError) return undefined;
    throw error;
  }
}

/** The one matrix product that a node is; undefined for anything more or less. */
export function matrixProductOf(node: Node, scope: Scope): GemmWork | undefined {
  if (operatorIn(node, scope)?.product !== true) return undefined;
  const [work, ...more] = worksOf(node, scope) ?? [];
  return work?.kind === "gemm" && more.length === 0 ? work : undefined;
}
