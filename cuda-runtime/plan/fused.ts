/**
 * @file The fused operators of a graph, in order: what is lowered in one go.
 *
 * Passes make the list, each from the one before, and ask nothing but the graph and its facts. Where memory decides
 * whether a fusion comes about, lowering does.
 */
import type { Scope } from "../../src/facts/scope.ts";
import { type Node, operatorOf, type Value } from "../../src/ir/model.ts";
import { own } from "../../src/ir/own.ts";
import { isCall } from "../graph/calls.ts";
import type { LiveNodes } from "../graph/liveness.ts";
import { elementwiseLowerings } from "../lower/index.ts";
import type { Macro } from "../patterns/macro.ts";

/** An instance of a graph as passes see it. */
export interface FusionGraph {
  readonly scope: Scope;
  readonly live: LiveNodes;
  /** By each of their nodes. */
  readonly macros: ReadonlyMap<Node, Macro>;
}

/** One of several products that are computed as one. */
export interface ProductMember {
  readonly product: Node;
  readonly weight: Value;
  /** The weight is stored [N, K]. */
  readonly isTransposed: boolean;
  readonly columns: number;
  /** Of a weight of 4-bit codes in blocks along k: its sizes, a scale a block, and zero points. */
  readonly bits:
    | {
        readonly n: number;
        readonly k: number;
        readonly blockSize: number;
        readonly scales: Value;
        readonly zeros: Value | undefined;
      }
    | undefined;
  readonly bias: Value | undefined;
  /** What the member makes: the Add's output where there is a bias, else the product's. */
  readonly result: Value;
  readonly nodes: readonly Node[];
}

/** Products of one activation, in place of the first. */
export interface FusedProducts {
  readonly kind: "products";
  readonly node: Node;
  readonly activation: Value;
  readonly members: readonly ProductMember[];
}

export type FusedOperator =
  | { readonly kind: "node"; readonly node: Node }
  | { readonly kind: "macro"; readonly macro: Macro }
  | FusedProducts;

/** The live nodes, each macro in place of its last. */
export function listOperators({ scope, live, macros }: FusionGraph): FusedOperator[] {
  return scope.graph.nodes.flatMap((node): FusedOperator[] => {
    if (!live.has(node)) return [];
    const macro = macros.get(node);
    if (macro === undefined) return [{ kind: "node", node }];
    return macro.nodes.at(-1) === node ? [{ kind: "macro", macro }] : [];
  });
}

/** Whether the node is computed element by element, as part of whatever reads it. */
export function isElementwise(node: Node, graph: FusionGraph): boolean {
  if (graph.macros.has(node) || isCall(node, graph.scope)) return false;
  return own(elementwiseLowerings, operatorOf(node)) !== undefined;
}
