/** @file Operators that move elements and may move nothing. */
import type { Node } from "../ir/model.ts";

/** Exporters also write these where there is nothing to move. */
const movers: ReadonlySet<string> = new Set(["Pad", "Slice", "Expand", "Concat"]);

/** Whether a node gives out its first input's elements, all of them in their order where the shapes are the same. */
export function movesOneInput({ opType, inputs }: Node): boolean {
  return movers.has(opType) && (opType !== "Concat" || inputs.length === 1);
}
