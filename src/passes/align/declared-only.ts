/** @file Values whose shape only the file tells: behind operators that are not known, or that contradict their operands. */
import type { Scope } from "../../facts/scope.ts";
import { labelOf, type Node, operatorOf, type Value } from "../../ir/model.ts";

/**
 * What such an operator gives may have any shape, whatever is declared, and so may everything computed from it: an axis
 * declared as 1 may be six, and meet an axis that was padded to eight.
 */
export class Hearsay {
  readonly #scope: Scope;
  readonly #sources: ReadonlySet<Node>;
  readonly #reasons = new Map<Value, string>();
  /** Where a subgraph reads such a value, no later node with a subgraph is followed. */
  #captured: string | undefined;

  constructor(scope: Scope) {
    this.#scope = scope;
    this.#sources = new Set(scope.skipped.map(({ node }) => node));
  }

  /** Why the shapes at a node cannot be relied on; nodes come in graph order. */
  at(node: Node): string | undefined {
    const reason = this.#ownReason(node) ?? this.#inheritedReason(node);
    if (reason === undefined) return undefined;
    for (const value of node.outputs) {
      if (value === undefined) continue;
      this.#reasons.set(value, reason);
      if (value.consumers.some(({ graph }) => graph !== value.graph)) this.#captured ??= reason;
    }
    return reason;
  }

  #ownReason(node: Node): string | undefined {
    if (this.#sources.has(node)) return unknownShape(node);
    const inner = (this.#scope.children.get(node) ?? []).flatMap((child) => skippedIn(child));
    return inner[0] === undefined ? undefined : unknownShape(inner[0]);
  }

  #inheritedReason(node: Node): string | undefined {
    if (this.#captured !== undefined && this.#scope.children.has(node)) return this.#captured;
    for (const value of node.inputs) {
      const reason = value === undefined ? undefined : this.#reasons.get(value);
      if (reason !== undefined) return reason;
    }
    return undefined;
  }
}

function unknownShape(node: Node): string {
  return `depends on what shape ${operatorOf(node)} "${labelOf(node)}" gives, which is not known`;
}

function skippedIn(scope: Scope): readonly Node[] {
  const own = scope.skipped.map(({ node }) => node);
  return [...own, ...[...scope.children.values()].flat().flatMap((child) => skippedIn(child))];
}
