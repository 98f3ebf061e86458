/** @file A model that is broken: an operator whose inputs contradict its definition. */
import { describeNode } from "../ir/model.ts";
import type { Facts } from "./infer.ts";

export interface InvalidNode {
  readonly code: "invalid-node";
  readonly message: string;
}

/** The first such node by name, whatever else was found; null where there is none. */
export function invalidNode({ model, skipped }: Facts): InvalidNode | null {
  const wrong = skipped.filter(({ kind }) => kind === "shape-error");
  const [first] = wrong;
  if (first === undefined) return null;
  const more = wrong.length > 1 ? ` (and ${wrong.length - 1} more)` : "";
  return {
    code: "invalid-node",
    message: `${model.path}: ${describeNode(first.node)}: ${first.reason}${more}`,
  };
}
