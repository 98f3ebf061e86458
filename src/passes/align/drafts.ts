/** @file What becomes of the nodes of a graph that is being padded, one by one. */
import { pushAll } from "../../ir/lists.ts";
import type { Node } from "../../ir/model.ts";
import type { AttributeSpec, GraphPatch, NodeSpec } from "../../ir/patch.ts";

interface NodeDraft {
  inputs: string[] | undefined;
  outputs: string[] | undefined;
  opType?: string;
  /** Nodes that compute what it reads. */
  readonly before: NodeSpec[];
  /** Nodes that convert what it gives. */
  readonly behind: NodeSpec[];
  readonly attributes: Map<string, AttributeSpec | null>;
}

export class Drafts {
  readonly #drafts = new Map<Node, NodeDraft>();

  of(node: Node): NodeDraft {
    const draft = this.#drafts.get(node) ?? {
      inputs: undefined,
      outputs: undefined,
      before: [],
      behind: [],
      attributes: new Map(),
    };
    this.#drafts.set(node, draft);
    return draft;
  }

  inputsOf(node: Node): string[] {
    const draft = this.of(node);
    draft.inputs ??= node.inputs.map((input) => input?.name ?? "");
    return draft.inputs;
  }

  outputsOf(node: Node): string[] {
    const draft = this.of(node);
    draft.outputs ??= node.outputs.map((output) => output?.name ?? "");
    return draft.outputs;
  }

  delete(node: Node): void {
    this.#drafts.delete(node);
  }

  writeTo({ nodes }: GraphPatch): void {
    for (const [node, draft] of this.#drafts) {
      const specs = [...draft.before, specOf(node, draft)];
      pushAll(specs, draft.behind);
      nodes.set(node, specs);
    }
  }
}

function specOf(node: Node, { inputs, outputs, opType, attributes }: NodeDraft): NodeSpec {
  return {
    base: node,
    attributes,
    ...(inputs && { inputs }),
    ...(outputs && { outputs }),
    ...(opType && { opType }),
  };
}
