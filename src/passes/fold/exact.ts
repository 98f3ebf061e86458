/**
 * @file Which known elements may be wrong: 64-bit integers beyond 2^53 are known as the nearest double only, and runtimes
 * differ in the sign of a zero that is the larger or the smaller of two.
 */
import { isFloat, isIntegral } from "../../ir/dtype.ts";
import type { Node } from "../../ir/model.ts";
import { capturesOf } from "./captures.ts";
import type { Draft } from "./draft.ts";

/** Names of values that are not to be relied on, nor what is computed from them; nodes must come in order. */
export function doubtfulValues(draft: Draft): ReadonlySet<string> {
  const doubtful = new Set<string>();
  for (const node of draft.nodes) {
    const captured = capturesOf(node);
    const own = draft.inputsOf(node);
    const inputs = captured.size === 0 ? own : [...own, ...captured];
    const isInDoubt = inputs.some(
      (name, index) => doubtful.has(name) || (isRounded(draft, name) && !isClamped(draft, node, index)),
    );
    // A rounded number that is only moved stays one that is seen to be rounded.
    for (const name of draft.outputsOf(node)) {
      if (isInDoubt ? !isRounded(draft, name) : isZeroOfUnknownSign(draft, node, name)) doubtful.add(name);
    }
  }
  return doubtful;
}

const comparing: ReadonlySet<string> = new Set(["Clip", "Max", "Min", "Relu"]);

function isZeroOfUnknownSign(draft: Draft, node: Node, name: string): boolean {
  if (!draft.isStandard(node) || !comparing.has(node.opType)) return false;
  const fact = draft.factOf(name);
  return isFloat(fact.dtype) && fact.elements?.includes(0) === true;
}

/** Asking for the elements of a stored tensor reads them: of floats, all of a network's weights. */
function isRounded(draft: Draft, name: string): boolean {
  const fact = draft.factOf(name);
  return (
    isIntegral(fact.dtype) &&
    fact.elements?.some((value) => typeof value === "number" && !Number.isSafeInteger(value)) === true
  );
}

/** "To the end" is written as the largest integer: Slice takes it for the end of the axis, rounded or not. */
function isClamped(draft: Draft, node: Node, index: number): boolean {
  return draft.isStandard(node) && node.opType === "Slice" && (index === 1 || index === 2);
}
