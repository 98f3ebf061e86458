/** @file Sequence facts: one fact that holds for every element, and a length. */
import { type Dim, isUnknown, unknownDim } from "../../ir/dim.ts";
import { Join } from "../control/join.ts";
import type { Fact, OpContext } from "../op.ts";

export type SequenceFact = Extract<Fact, { kind: "sequence" }>;

const unknownSequence: SequenceFact = { kind: "sequence", element: undefined };

/** Input `index` as a sequence; anything else reads as one of unknown elements. */
export function sequenceAt(context: OpContext, index: number): SequenceFact {
  const fact = context.inputs[index];
  return fact?.kind === "sequence" ? fact : unknownSequence;
}

export function sequence(element: Fact | undefined, length: Dim | undefined): SequenceFact {
  return { kind: "sequence", element, length };
}

/** What holds for every fact; undefined for none at all. */
export function joinAll(facts: readonly (Fact | undefined)[]): Fact | undefined {
  const join = new Join();
  const [first, ...others] = facts;
  let result = first;
  for (const other of others) result = join.facts(result, other);
  return result;
}

/** A fact that holds for every element of the sequence and for one more. */
export function joinElement({ element, length }: SequenceFact, more: Fact | undefined): Fact | undefined {
  return length === 0 ? more : new Join().facts(element, more);
}

/**
 * One element taken out. Where elements may differ in a size it becomes an unknown of its own: two elements must not
 * look alike because one fact stands for both.
 */
export function oneElement({ element }: SequenceFact): Fact | undefined {
  if (element?.kind !== "tensor") return element;
  const own = (dim: Dim) => (isUnknown(dim) ? unknownDim() : dim);
  return { ...element, shape: element.shape?.map(own), elements: element.elements?.map(own) };
}
