/** @file Which QuantizeLinear read floats, and codes that whoever makes the floats writes for them. */
import type { Node, Value } from "../../src/ir/model.ts";
import { type CodeNumbers, isSameCodes } from "../kernels/gemm-int8/codes.ts";
import type { CodesWanted } from "../lower/context.ts";
import { PatternGraph } from "../patterns/graph.ts";
import { quantizerOf } from "../patterns/quantized-tail.ts";
import type { Place } from "./concat-layout.ts";
import type { Frame } from "./frame.ts";
import type { FusionGraph } from "./fused.ts";
import type { PlanValues } from "./values.ts";

/** All that quantize one value by the same numbers. */
export interface Quantizers {
  readonly numbers: CodeNumbers;
  readonly nodes: readonly Node[];
}

/** By the value; where it is quantized in several ways, the first. */
export function quantizersIn(
  graph: FusionGraph,
  places: ReadonlyMap<Value, Place>,
): ReadonlyMap<Value, Quantizers> {
  const found = new Map<Value, Quantizers>();
  for (const node of graph.scope.graph.nodes) {
    const [value] = node.inputs;
    const numbers = freeQuantizerOf(node, graph, places);
    if (value === undefined || numbers === undefined) continue;
    const known = found.get(value);
    if (known === undefined) found.set(value, { numbers, nodes: [node] });
    else if (isSameCodes(known.numbers, numbers))
      found.set(value, { numbers, nodes: [...known.nodes, node] });
  }
  return found;
}

/** Of nodes that are no part of a fusion, and whose codes may lie anywhere. */
function freeQuantizerOf(
  node: Node,
  graph: FusionGraph,
  places: ReadonlyMap<Value, Place>,
): CodeNumbers | undefined {
  const [codes] = node.outputs;
  const { live, macros, scope } = graph;
  if (codes === undefined || !live.has(node) || macros.has(node) || live.isSeen(codes) || places.has(codes))
    return undefined;
  return quantizerOf(node, PatternGraph.of(scope));
}

/** Codes that the float's maker may write; those that it asks memory for are made then. */
export function codesBehind(value: Value, frame: Frame, values: PlanValues): CodesWanted | undefined {
  const quantizers = frame.quantizers.get(value);
  if (quantizers === undefined || value.graph !== frame.scope.graph) return undefined;
  const { numbers, nodes } = quantizers;
  const isOther = (reader: Node) => !nodes.includes(reader);
  return {
    numbers,
    areFloatsRead: frame.live.isSeen(value) || frame.live.readersOf(value).some(isOther),
    output(order) {
      const view = values.emitter.temporary(numbers.type, values.slotOf(value, frame).shape, order);
      for (const node of nodes) {
        const [codes] = node.outputs;
        if (codes !== undefined) values.setView(codes, view, frame);
        frame.done.add(node);
      }
      return view;
    },
  };
}
