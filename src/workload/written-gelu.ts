/** @file GELU written out: half of x by one more than erf(x/√2), or than tanh of a cubic of x. */
import type { Scope } from "../facts/scope.ts";
import type { Node, Value } from "../ir/model.ts";
import { ConstantValues } from "./constants.ts";
import { chainWork, patternOf } from "./traffic.ts";
import type { Bound } from "./values.ts";
import { WrittenGraph, type WrittenOut } from "./written-out.ts";

export interface WrittenGelu extends WrittenOut {
  readonly form: "erf" | "tanh";
}

/** The tanh form has six nodes in front of it at most. */
const maxBefore = 8;

export function writtenGelus(scope: Scope, context: Bound): WrittenGelu[] {
  const graph = new WrittenGraph(scope);
  return graph.nodes("Erf", "Tanh").flatMap((node) => geluAround(node, graph, context) ?? []);
}

function geluAround(node: Node, graph: WrittenGraph, context: Bound): WrittenGelu | undefined {
  const { scope } = graph;
  const plus = graph.readerOf(node.outputs[0], "Add");
  const isOneMore = plus?.inputs.some((each) => graph.number(each) === 1) ?? false;
  const product = graph.readerOf(plus?.outputs[0], "Mul");
  const gate = product?.inputs.find((each) => each !== plus?.outputs[0]);
  if (plus === undefined || product === undefined || gate === undefined || !isOneMore) return undefined;
  const before = halved(graph.makerOf(gate, "Mul"), graph);
  const behind = before ?? halved(graph.readerOf(product.outputs[0], "Mul"), graph);
  const x = before === undefined ? gate : graph.variable(before);
  const inner = x === undefined ? undefined : between(node, x, graph);
  if (behind === undefined || inner === undefined) return undefined;
  const nodes = graph.closed([...inner, node, plus, product, behind]);
  const fused = nodes && chainWork(nodes, scope, ConstantValues.of(scope), context.bindings);
  return nodes && fused && { node, scope, nodes, fused, form: node.opType === "Erf" ? "erf" : "tanh" };
}

/** A product with the constant ½. */
function halved(node: Node | undefined, graph: WrittenGraph): Node | undefined {
  return node?.inputs.some((each) => graph.number(each) === 0.5) ? node : undefined;
}

/** Elementwise nodes that make a node's input of x and constants alone; undefined where something else has a part in it. */
function between(node: Node, x: Value, graph: WrittenGraph): Node[] | undefined {
  const found = new Set<Node>();
  const pending: (Value | undefined)[] = [...node.inputs];
  while (pending.length > 0) {
    const value = pending.pop();
    if (value === undefined || value === x || graph.isFixed(value)) continue;
    const { producer } = value;
    if (producer === undefined || producer.graph !== graph.scope.graph) return undefined;
    if (patternOf(producer, graph.scope) !== "elementwise") return undefined;
    if (found.has(producer)) continue;
    found.add(producer);
    if (found.size > maxBefore) return undefined;
    pending.push(...producer.inputs);
  }
  return [...found];
}
