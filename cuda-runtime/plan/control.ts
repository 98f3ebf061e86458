/** @file Nodes with a graph inside: calls, branches and loops become part of the graph around. */

import type { Scope } from "../../src/facts/scope.ts";
import { graphAttributeOf } from "../../src/ir/attributes.ts";
import { type Node, operatorOf, type Value } from "../../src/ir/model.ts";
import { own } from "../../src/ir/own.ts";
import type { Fact } from "../../src/ops/op.ts";
import { dataError, nodeError } from "../graph/check.ts";
import { describeFact, elementsOfFact, sizesOfFact } from "../graph/known.ts";
import {
  bindInputs,
  bindOutputs,
  isWanted,
  selected,
  settleCaptured,
  wantedOutputs,
} from "./control-body.ts";
import { lowerLoop } from "./control-loop.ts";
import { lowerScan } from "./control-scan.ts";
import type { Frame } from "./frame.ts";
import type { Slot } from "./slots.ts";
import type { GraphLowering } from "./values.ts";

/** Whether the node is one of these, and lowered. */
export function lowerControl(node: Node, frame: Frame, planner: GraphLowering): boolean {
  const call = frame.scope.children.get(node)?.find(({ functionName }) => functionName !== undefined);
  if (call !== undefined) {
    lowerCall(node, call, frame, planner);
    return true;
  }
  const lower = own(controls, operatorOf(node));
  lower?.(node, frame, planner);
  return lower !== undefined;
}

const controls: Readonly<Record<string, (node: Node, frame: Frame, planner: GraphLowering) => void>> = {
  If: lowerIf,
  Loop: lowerLoop,
  Scan: lowerScan,
};

function lowerCall(node: Node, scope: Scope, frame: Frame, planner: GraphLowering): void {
  const body = planner.frameOf(scope, undefined, wantedOutputs(node, scope.graph, frame));
  const inputs = node.inputs.map((value) =>
    value === undefined ? undefined : { slot: () => planner.values.slotOf(value, frame) },
  );
  bindInputs(body, inputs, planner.values);
  planner.lowerGraph(body);
  bindOutputs(node, outputsOf(node, body, frame, planner), frame, planner.values);
}

function lowerIf(node: Node, frame: Frame, planner: GraphLowering): void {
  const { scope } = frame;
  const [condition] = node.inputs;
  if (condition === undefined) throw nodeError(node, "has no condition");
  const [known] = elementsOfFact(scope.fact(condition)) ?? [];
  if (known === undefined) {
    lowerBoth(node, condition, frame, planner);
    return;
  }
  const branch = branchOf(node, known === 0 ? "else_branch" : "then_branch", scope);
  const body = planner.frameOf(branch, frame, wantedOutputs(node, branch.graph, frame));
  settleCaptured(node, frame, planner.values, body);
  planner.lowerGraph(body);
  bindOutputs(node, outputsOf(node, body, frame, planner), frame, planner.values);
}

/**
 * No operator of ONNX does anything but make its outputs, so that a branch may run whose result nobody takes: both do,
 * and the condition chooses between their elements. That costs the other branch; a plan cannot leave steps out, as
 * it is replayed as one CUDA graph, and asking the GPU for the condition would stop it for longer than most branches take.
 */
function lowerBoth(node: Node, condition: Value, frame: Frame, planner: GraphLowering): void {
  const branches = [
    branchOf(node, "then_branch", frame.scope),
    branchOf(node, "else_branch", frame.scope),
  ] as const;
  refuseDifferent(node, condition, branches, frame);
  settleCaptured(node, frame, planner.values);
  const { origin } = planner.values.emitter.draft;
  const [onTrue, onFalse] = branches.map((branch) => {
    const body = planner.frameOf(branch, frame, wantedOutputs(node, branch.graph, frame));
    planner.lowerGraph(body);
    return outputsOf(node, body, frame, planner);
  });
  planner.values.emitter.draft.during(origin, () => {
    const chosen = planner.values.slotOf(condition, frame);
    const slots = node.outputs.map((_, index) => {
      const [a, b] = [onTrue?.[index], onFalse?.[index]];
      return a === undefined || b === undefined ? undefined : selected(chosen, a, b, planner.values);
    });
    bindOutputs(node, slots, frame, planner.values);
  });
}

/** Elements can be chosen between tensors of one type and shape, nothing else. */
function refuseDifferent(
  node: Node,
  condition: Value,
  [onTrue, onFalse]: readonly [Scope, Scope],
  frame: Frame,
): void {
  for (const [index, output] of node.outputs.entries()) {
    if (!isWanted(output, frame)) continue;
    const facts = [onTrue, onFalse].map((branch) => factOfOutput(branch, index));
    if (isSameTensor(facts[0], facts[1])) continue;
    const [a, b] = facts.map(describeFact);
    throw dataError(
      node,
      `its condition ("${condition.name}") has to be known while planning, and depends on data: "${output.name}" is ${a} in one branch, ${b} in the other`,
      [condition],
    );
  }
}

function factOfOutput(branch: Scope, index: number): Fact | undefined {
  const value = branch.graph.outputs[index];
  return value === undefined ? undefined : branch.fact(value);
}

function isSameTensor(a: Fact | undefined, b: Fact | undefined): boolean {
  const [left, right] = [sizesOfFact(a), sizesOfFact(b)];
  if (left === undefined || right === undefined || a?.kind !== "tensor" || b?.kind !== "tensor") return false;
  return (
    a.dtype === b.dtype && left.length === right.length && left.every((size, axis) => size === right[axis])
  );
}

function branchOf(node: Node, name: string, scope: Scope): Scope {
  const branch = graphAttributeOf(node, name);
  const children = scope.children.get(node) ?? [];
  const found = branch && children.find(({ graph }) => graph === branch);
  if (found === undefined) throw nodeError(node, `has no ${name}`);
  return found;
}

/** Slots of the outputs that somebody reads. */
function outputsOf(node: Node, body: Frame, frame: Frame, planner: GraphLowering): (Slot | undefined)[] {
  return node.outputs.map((output, index) => {
    const value = body.scope.graph.outputs[index];
    return value === undefined || !isWanted(output, frame) ? undefined : planner.values.slotOf(value, body);
  });
}
