/** @file What a node is given, looked at before anything is planned: kernels state what they take, and do not ask again. */

import type { Scope } from "../../src/facts/scope.ts";
import { graphAttributeOf } from "../../src/ir/attributes.ts";
import { textOf } from "../../src/ir/message.ts";
import { describeNode, type Node, operatorOf, type Value } from "../../src/ir/model.ts";
import { loopKind } from "../../src/ops/ask.ts";
import { mismatchOf, signatureOf } from "../../src/ops/signatures.ts";
import { DataError, PlanError } from "../ir/step.ts";
import { describeFact } from "./known.ts";

/** Attributes that kernels take as 32-bit integers. */
const small: ReadonlySet<string> = new Set([
  "dilations",
  "group",
  "ignore_index",
  "kernel_shape",
  "offset_group",
  "output_padding",
  "output_shape",
  "pads",
  "pooled_shape",
  "strides",
]);

/** Throws PlanError: which node, what it is given, what was expected. */
export function checkNode(node: Node, scope: Scope): void {
  for (const [index, input] of node.inputs.entries()) {
    if (input !== undefined && comesFromNowhere(input))
      throw nodeError(node, `input ${index} ("${input.name}") is computed by nothing`);
  }
  for (const { name, value } of node.attributes) {
    if (!small.has(name)) continue;
    const numbers = value.type === "int" ? [value.value] : value.type === "ints" ? value.values : [];
    const found = numbers.find((number) => !(number >= -(2 ** 31) && number < 2 ** 31));
    if (found !== undefined) throw nodeError(node, textOf`${name} has ${found}, expected 32-bit integers`);
    const isStep = name === "strides" || name === "dilations";
    if (isStep && numbers.some((number) => number < 1))
      throw nodeError(node, textOf`${name} is ${numbers}, expected 1 or more`);
  }
  checkBody(node);
  const signature = signatureOf(node.domain, node.opType);
  if (signature === undefined) return;
  for (const [index, value] of node.inputs.entries()) {
    const fact = value === undefined ? undefined : scope.fact(value);
    if (value === undefined && index < signature.inputs[0])
      throw nodeError(node, `input ${index} is left out, expected a tensor`);
    if (fact !== undefined && fact.kind !== "tensor")
      throw nodeError(node, `input ${index} is ${describeFact(fact)}, expected a tensor`);
  }
  const types = node.inputs.map((value) => {
    const fact = value === undefined ? undefined : scope.fact(value);
    return fact?.kind === "tensor" ? fact.dtype : undefined;
  });
  if (recurrent.has(node.opType)) checkRecurrent(node, scope);
  const reason = mismatchOf(signature, types);
  if (reason !== undefined) throw nodeError(node, reason);
}

const recurrent: ReadonlySet<string> = new Set(["GRU", "LSTM", "RNN"]);

/** Input and both weights have three axes. */
function checkRecurrent(node: Node, scope: Scope): void {
  for (const [index, value] of node.inputs.slice(0, 3).entries()) {
    const rank = value === undefined ? undefined : scope.shape(value)?.length;
    if (rank !== undefined && rank !== 3)
      throw nodeError(node, `input ${index} has rank ${rank}, expected 3`);
  }
}

/** What a loop hands to its body, and takes from it. */
function checkBody(node: Node): void {
  const kind = loopKind(node);
  if (kind === undefined) return;
  const body = graphAttributeOf(node, "body");
  if (body === undefined) throw nodeError(node, "the attribute body is missing");
  const { inputs, outputs } = body;
  // The body of a Loop gives a condition first, the node none.
  const given = kind === "loop" ? outputs.length - 1 : outputs.length;
  if (node.outputs.length > given)
    throw nodeError(node, `has ${node.outputs.length} outputs, expected ${given} as its body gives`);
  if (inputs.length > Math.max(node.inputs.length, kind === "loop" ? 2 : 0))
    throw nodeError(node, `has ${node.inputs.length} inputs, expected ${inputs.length} as its body takes`);
}

/** Throws PlanError for an output of a graph that nothing makes. */
export function checkOutputs(outputs: readonly Value[]): void {
  for (const output of outputs) {
    if (comesFromNowhere(output))
      throw new PlanError("output", `output "${output.name}" is computed by nothing`);
  }
}

function comesFromNowhere({ producer, isInput, initializer }: Value): boolean {
  return producer === undefined && !isInput && initializer === undefined;
}

export function nodeError(node: Node, reason: string): PlanError {
  return new PlanError(operatorOf(node), `${describeNode(node)}: ${reason}`);
}

/** As `nodeError`, where what is missing are elements of `values`. */
export function dataError(node: Node, reason: string, values?: readonly Value[]): DataError {
  return new DataError(operatorOf(node), `${describeNode(node)}: ${reason}`, node, values);
}
