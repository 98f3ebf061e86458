/** @file Calls of the model's own functions. */
import type { Scope } from "../../src/facts/scope.ts";
import type { Node } from "../../src/ir/model.ts";

/** A function of the model goes before an operator of the same name: such a node is none of the operators that are known. */
export function isCall(node: Node, scope: Scope): boolean {
  return scope.children.get(node)?.some(({ functionName }) => functionName !== undefined) ?? false;
}
