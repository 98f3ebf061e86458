/** @file Which known elements may be wrong: 64-bit integers beyond 2^53 are known as the nearest double only. */
import { isIntegral } from "../../ir/dtype.ts";
import type { Node } from "../../ir/model.ts";
import { capturesOf } from "./captures.ts";
import type { Draft } from "./draft.ts";

/** Names of values computed from numbers that were rounded when read; nodes must come in order. */
export function doubtfulValues(draft: Draft): ReadonlySet<string> {
  const doubtful = new Set<string>();
  for (const node of draft.nodes) {
    const inputs = [...draft.inputsOf(node), ...capturesOf(node)];
    const isInDoubt = inputs.some(
      (name, index) => doubtful.has(name) || (isRounded(draft, name) && !isClamped(draft, node, index)),
    );
    // A rounded number that is only moved stays one that is seen to be rounded.
    if (isInDoubt) for (const name of draft.outputsOf(node)) if (!isRounded(draft, name)) doubtful.add(name);
  }
  return doubtful;
}

function isRounded(draft: Draft, name: string): boolean {
  const { dtype, elements } = draft.factOf(name);
  return (
    isIntegral(dtype) &&
    elements?.some((value) => typeof value === "number" && !Number.isSafeInteger(value)) === true
  );
}

/** "To the end" is written as the largest integer: Slice takes it for the end of the axis, rounded or not. */
function isClamped(draft: Draft, node: Node, index: number): boolean {
  return draft.isStandard(node) && node.opType === "Slice" && (index === 1 || index === 2);
}
