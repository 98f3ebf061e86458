/** @file Keys and values that a decoder takes as inputs and gives as outputs, longer by what it has just seen. */
import { intAttributeOf } from "../ir/attributes.ts";
import { type Graph, type Node, operatorOf, type Value } from "../ir/model.ts";
import { isConcat } from "./ask.ts";

export interface CachePair {
  readonly past: Value;
  readonly present: Value;
  /**
   * "buffer": new rows go where a length says, so that both may be one piece of memory that is long enough;
   * "grown": they stand behind all of the past's.
   */
  readonly kind: "buffer" | "grown";
  /** Of the positions. */
  readonly axis: number;
}

interface CacheOperator {
  readonly kind: CachePair["kind"];
  /** From inputs to outputs. */
  readonly places: readonly (readonly [input: number, output: number])[];
}

/** Caches of these have positions as their third axis of four. */
const operators: Readonly<Record<string, CacheOperator>> = {
  "com.microsoft::GroupQueryAttention": {
    kind: "buffer",
    places: [
      [3, 1],
      [4, 2],
    ],
  },
  "com.microsoft::MultiHeadAttention": {
    kind: "grown",
    places: [
      [6, 1],
      [7, 2],
    ],
  },
  Attention: {
    kind: "grown",
    places: [
      [4, 1],
      [5, 2],
    ],
  },
};

/** Inputs of the graph that come back as its outputs, in the order of its inputs. */
export function cachesOf(graph: Graph): CachePair[] {
  return graph.inputs.flatMap((past) => past.consumers.flatMap((node) => pairsAt(node, past)).slice(0, 1));
}

function pairsAt(node: Node, past: Value): CachePair[] {
  const { kind, axis, places } = cachingOf(node, past);
  return places.flatMap(([input, output]) => {
    const present = node.outputs[output];
    return node.inputs[input] === past && present?.isOutput === true ? [{ past, present, kind, axis }] : [];
  });
}

function cachingOf(node: Node, past: Value): CacheOperator & { readonly axis: number } {
  const known = Object.hasOwn(operators, operatorOf(node)) ? operators[operatorOf(node)] : undefined;
  if (known !== undefined) return { ...known, axis: 2 };
  if (!isConcat(node)) return { kind: "grown", places: [], axis: 0 };
  const rank = past.declared?.kind === "tensor" ? (past.declared.shape?.length ?? 0) : 0;
  const axis = intAttributeOf(node, "axis") ?? 0;
  return { kind: "grown", places: [[0, 0]], axis: axis < 0 ? axis + rank : axis };
}
