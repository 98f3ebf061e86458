/** @file Bodies of the local functions that the layout pass writes: an operator on NHWC values, spelled out. */
import type { Node } from "../ir/model.ts";
import { isOp } from "../ops/ask.ts";
import { emitted } from "../ops/emitted.ts";
import { nhwcDomain } from "../ops/nhwc.ts";
import type { Scope } from "./scope.ts";

export function isNhwcBody(scope: Scope): boolean {
  return scope.functionName !== undefined && scope.owner?.domain === nhwcDomain;
}

export function isNhwcCall({ domain }: Node): boolean {
  return domain === nhwcDomain;
}

/** The Transposes at both ends of such a body, which only say a layout: a stack that knows it runs what is between them alone. */
export function spellsLayout(node: Node, scope: Scope): boolean {
  if (!isNhwcBody(scope) || !isOp(node, emitted.Transpose)) return false;
  return node.inputs[0]?.isInput === true || node.outputs[0]?.isOutput === true;
}

/** Where a reader of the file knows a node: in such a body by the call, which has the name of the operator that it stands for. */
export function siteOf(node: Node, scope: Scope): { readonly node: Node; readonly scope: Scope } {
  const { owner, parent } = scope;
  return isNhwcBody(scope) && owner !== undefined && parent !== undefined
    ? { node: owner, scope: parent }
    : { node, scope };
}
