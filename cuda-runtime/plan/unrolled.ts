/** @file How many nodes unrolled loops may have. */
import { maxUnrolledNodes } from "../../src/facts/expansion.ts";
import type { Scope } from "../../src/facts/scope.ts";
import type { Node } from "../../src/ir/model.ts";
import { loopKind } from "../../src/ops/ask.ts";
import { nodeError } from "../graph/check.ts";

/** Bodies unrolled in one plan, all loops together: what a file of a few bytes may ask for has an end. */
export class UnrolledNodes {
  #nodes = 0;

  /** Before `iterations` more of the instance are lowered. `done`: of the same loop; `why`: there are so many. */
  take(node: Node, scope: Scope, iterations: number, { done = 0, why = "" } = {}): void {
    const size = sizeOf(scope);
    const nodes = this.#nodes + iterations * size;
    if (nodes > maxUnrolledNodes) {
      const others = this.#nodes - done * size;
      const beside = others > 0 ? `, beside ${counted(others)} nodes of other loops` : "";
      throw nodeError(
        node,
        `unrolls to ${counted(done + iterations)} iterations of ${size} nodes${why}${beside}; a plan holds up to ${counted(maxUnrolledNodes)} nodes of unrolled loops`,
      );
    }
    this.#nodes = nodes;
  }
}

function counted(count: number): string {
  return count.toLocaleString("en-US");
}

/** Nodes of an instance; loops inside it count for themselves. */
function sizeOf(scope: Scope): number {
  let size = scope.graph.nodes.length + 1;
  for (const [node, children] of scope.children) {
    if (loopKind(node) === undefined) for (const child of children) size += sizeOf(child);
  }
  return size;
}
