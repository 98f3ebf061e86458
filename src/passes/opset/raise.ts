/** @file A file relabelled as a newer opset of ai.onnx, where every node in it means the same there. */
import { labelOf, type Model, type Node } from "../../ir/model.ts";
import { nodesIn } from "../../ir/nodes.ts";
import type { Patch } from "../../ir/patch.ts";
import { keepsMeaning } from "./meaning.ts";

/** What would mean something else, or may. */
export interface Hurdle {
  readonly node: Node | undefined;
  readonly reason: string;
}

/** The IR version that ONNX released an opset with. Source: the table of released versions in ONNX's documentation. */
const irVersionOf: Readonly<Record<number, number>> = { 20: 9, 22: 10 };

/** Puts into the patch what makes the file one of `opset`; the patch stays as it is where something is in the way. */
export function raiseTo(opset: number, model: Model, patch: Patch): Hurdle | undefined {
  const hurdle = hurdleOf(model, opset);
  if (hurdle !== undefined) return hurdle;
  patch.opsets.set("", opset);
  patch.leastIrVersion = Math.max(patch.leastIrVersion, irVersionOf[opset] ?? 0);
  return undefined;
}

function hurdleOf(model: Model, opset: number): Hurdle | undefined {
  for (const { domain, name, opsets } of model.functions.values()) {
    const own = opsets.get("");
    if (own !== undefined && own !== opset)
      return { node: undefined, reason: `its function ${domain}::${name} is written in opset ${own}` };
  }
  const now = model.opsets.get("") ?? 1;
  for (const each of model.graph.nodes) {
    for (const node of [each, ...nodesIn(each)]) {
      if (node.domain !== "" || keepsMeaning(node, now)) continue;
      const reason = `${node.opType} "${labelOf(node)}" is not known to mean the same in both`;
      return { node, reason };
    }
  }
  return undefined;
}
