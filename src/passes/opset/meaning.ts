/**
 * @file Whether a node may be relabelled to opset 22, and nothing else: it has meant the same since an older one. Newer
 * versions that only take more types, or a new attribute whose default is the old meaning, change nothing. An operator
 * that does not say so is not known to be safe.
 *
 * Source of what operators say: ONNX's operator changelog, opsets 7 to 22.
 */
import type { Node } from "../../ir/model.ts";
import { traitsOf } from "../../ops/ask.ts";

/** The first opset in which every operator that it is about takes bfloat16. */
export const newestMeaning = 22;

/** Whether a node of ai.onnx at `opset` means in opset 22 what it means now. */
export function keepsMeaning(node: Node, opset: number): boolean {
  const { sameIf } = traitsOf(node) ?? {};
  if (alwaysKeepsMeaning(node, opset)) return true;
  return sameIf !== undefined && opset >= sameIf.since && sameIf.applies(node);
}

/** The same whatever its attributes are. */
export function alwaysKeepsMeaning(node: Node, opset: number): boolean {
  const { sameSince } = traitsOf(node) ?? {};
  return sameSince !== undefined && opset >= sameSince;
}
