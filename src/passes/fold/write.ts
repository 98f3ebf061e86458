/** @file The difference between a draft and its model, as a patch. */
import type { Node } from "../../ir/model.ts";
import { type NodeSpec, Patch } from "../../ir/patch.ts";
import type { Draft } from "./draft.ts";

/** Empty where nothing changed. `unread` are initializers to drop. */
export function writePatch(draft: Draft, unread: ReadonlySet<string>): Patch {
  const patch = new Patch();
  if (draft.removed.size + draft.edits.size + draft.made.size + unread.size === 0) return patch;
  const graph = patch.of(draft.graph);
  for (const node of draft.graph.nodes) {
    if (draft.removed.has(node)) graph.nodes.set(node, []);
    else if (draft.edits.has(node)) graph.nodes.set(node, [specOf(draft, node)]);
  }
  for (const [name, { spec }] of draft.made) {
    if (!draft.isNeeded(name)) continue;
    const isStored = draft.graph.values.get(name)?.initializer !== undefined;
    (isStored ? graph.tensors : graph.added).set(name, spec);
  }
  for (const name of unread) graph.tensors.set(name, null);
  for (const { name, declared, initializer, isInput, isOutput } of draft.graph.values.values()) {
    if (declared === undefined || isInput || isOutput || draft.producerOf(name) !== undefined) continue;
    if (initializer === undefined || unread.has(name)) graph.declared.set(name, null);
  }
  return patch;
}

function specOf(draft: Draft, node: Node): NodeSpec {
  const { opType, inputs, outputs, attributes } = draft.edits.get(node) ?? { attributes: new Map() };
  return {
    base: node,
    attributes,
    ...(opType !== undefined && { opType }),
    ...(inputs && { inputs }),
    ...(outputs && { outputs }),
  };
}
