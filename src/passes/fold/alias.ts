/** @file A value that is another under a second name. */
import type { Node } from "../../ir/model.ts";
import type { Draft } from "./draft.ts";

/** Removes a node whose first output is `source` unchanged. False where both names have to stay. */
export function alias(draft: Draft, node: Node, source: string): boolean {
  const [output = ""] = draft.outputsOf(node);
  if (draft.isFree(output)) {
    draft.readInstead(output, source);
    draft.remove(node);
    return true;
  }
  const producer = draft.producerOf(source);
  if (producer === undefined || !draft.isFree(source)) return false;
  draft.remove(node);
  rename(draft, producer, source, output);
  return true;
}

/** The producer of `name` writes `other` instead, and everybody reads that. */
export function rename(draft: Draft, producer: Node, name: string, other: string): void {
  draft.setOutput(producer, draft.outputsOf(producer).indexOf(name), other);
  draft.readInstead(name, other);
}
