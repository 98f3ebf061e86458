/** @file Instances of the graphs inside nodes: their inputs and outputs are slots that both sides know. */
import type { Scope } from "../../src/facts/scope.ts";
import type { Graph, Node, Value } from "../../src/ir/model.ts";
import { loopKind } from "../../src/ops/ask.ts";
import type { Fact } from "../../src/ops/op.ts";
import { nodeError } from "../graph/check.ts";
import { elementsOfFact } from "../graph/known.ts";
import { binary, load, select, toBool } from "../ir/expr-build.ts";
import { isLargeChain } from "../ir/expr-walk.ts";
import { elementCount, type View } from "../ir/view.ts";
import { type Frame, ownerOf } from "./frame.ts";
import type { Slot } from "./slots.ts";
import type { GraphLowering, PlanValues } from "./values.ts";

/** Throws PlanError for a node that inference could make nothing of. Bodies of loops come later, one iteration at a time. */
export function refuseSkipped(scope: Scope): void {
  const [first] = scope.skipped;
  if (first !== undefined) throw nodeError(first.node, first.reason);
  for (const [node, children] of scope.children) {
    if (loopKind(node) === undefined) for (const child of children) refuseSkipped(child);
  }
}

/** What an iteration is given. */
export interface BodyInput {
  readonly fact: Fact | undefined;
  /** Asked for where the fact does not tell the elements. */
  readonly slot: () => Slot;
}

/** The instance of a loop's body for these inputs, its facts known and nothing lowered yet. */
export function instanceOf(
  node: Node,
  graph: Graph,
  inputs: readonly BodyInput[],
  frame: Frame,
  planner: GraphLowering,
): Scope {
  const facts = inputs.map(({ fact }) => fact);
  const scope = planner.inferBody(graph, facts, node, frame.scope);
  refuseSkipped(scope);
  return scope;
}

/** Outputs of the graph inside that are outputs of the node which somebody reads. */
export function wantedOutputs(node: Node, graph: Graph, frame: Frame): Value[] {
  return graph.outputs.filter((_, index) => isWanted(node.outputs[index], frame));
}

export function isWanted(output: Value | undefined, frame: Frame): output is Value {
  return output !== undefined && frame.live.isLive(output);
}

/** Hands the slots to the inputs of an instance. What is read more than once there is stored before. */
export function bindInputs(
  body: Frame,
  inputs: readonly (Pick<BodyInput, "slot"> | undefined)[],
  values: PlanValues,
): void {
  const bound = new Set<Slot>();
  body.scope.graph.inputs.forEach((value, index) => {
    const input = inputs[index];
    if (input === undefined || !body.live.isLive(value)) return;
    if (elementsOfFact(body.scope.fact(value)) !== undefined) return;
    const slot = input.slot();
    body.slots.set(value, slot);
    if (slot.state.kind === "lazy" && (bound.has(slot) || !values.mayWait(slot, value, body)))
      values.deferred.settle(slot);
    bound.add(slot);
  });
}

/** The node's outputs are these slots; where one is undefined, nobody asks. */
export function bindOutputs(
  node: Node,
  slots: readonly (Slot | undefined)[],
  frame: Frame,
  values: PlanValues,
): void {
  const bound = new Set<Slot>();
  node.outputs.forEach((output, index) => {
    const slot = slots[index];
    if (slot === undefined || !isWanted(output, frame)) return;
    frame.slots.set(output, slot);
    const isShared = frame.live.readersOf(output).length > 1 || bound.has(slot);
    const { state } = slot;
    if (state.kind === "lazy" && (isShared || isLargeChain(state.expr))) values.deferred.settle(slot);
    bound.add(slot);
  });
}

/** Stores what waits around the node and is read inside it: always, or where an instance reads it more than once. */
export function settleCaptured(node: Node, frame: Frame, values: PlanValues, only?: Frame): void {
  for (const value of capturedBy(node)) {
    const slot = ownerOf(value, frame)?.slots.get(value);
    const isReadOnce = only !== undefined && only.live.readersOf(value).length < 2;
    if (slot?.state.kind === "lazy" && !isReadOnce) values.deferred.settle(slot);
  }
}

/** Values of all graphs around that the graphs inside the node read. */
export function capturedBy(node: Node): Set<Value> {
  const inner = new Set<Graph>();
  const read = new Set<Value>();
  const visit = (graph: Graph): void => {
    inner.add(graph);
    for (const output of graph.outputs) read.add(output);
    for (const each of graph.nodes) {
      for (const input of each.inputs) if (input !== undefined) read.add(input);
      for (const inside of graphsOf(each)) visit(inside);
    }
  };
  for (const graph of graphsOf(node)) visit(graph);
  return new Set([...read].filter((value) => !inner.has(value.graph)));
}

export function graphsOf(node: Node): Graph[] {
  return node.attributes.flatMap(({ value }) => {
    if (value.type === "graph") return [value.graph];
    return value.type === "graphs" ? value.graphs : [];
  });
}

/** One of two values of one shape, by a condition that is known only when the model runs. */
export function selected(condition: Slot, whenTrue: Slot, whenFalse: Slot, values: PlanValues): Slot {
  const count = elementCount(whenTrue.shape);
  const read = (slot: Slot) => {
    values.deferred.launchProduct(slot);
    return values.exprOf(slot, count);
  };
  const asked = toBool(load(scalarView(values.viewOf(condition))));
  const expr = select(asked, read(whenTrue), read(whenFalse));
  const types = [values.typeOf(whenTrue), values.typeOf(whenFalse)] as const;
  const type = types[0] === types[1] ? types[0] : "float32";
  return { ...whenTrue, type, state: { kind: "lazy", expr }, converted: new Map(), isRoot: false };
}

/** Both of two conditions. */
export function bothOf(a: Slot, b: Slot, values: PlanValues): Slot {
  const read = (slot: Slot) => toBool(load(scalarView(values.viewOf(slot))));
  const expr = binary("and", read(a), read(b));
  return { ...a, type: "bool", state: { kind: "lazy", expr }, converted: new Map(), isRoot: false };
}

/** A condition may have axes, all of one element. */
function scalarView(view: View): View {
  return { ...view, shape: [], strides: [] };
}
