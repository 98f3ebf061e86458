/**
 * @file What a whole number is made of: an index, a size, a count. Half counts to 2048 (bfloat16: to 256) without gaps, so
 * 4095 is 4096 there, which is another row of a table; everything that such a number is computed from stays FP32.
 */

import { floatAttributeIn } from "../../facts/attributes.ts";
import type { Scope } from "../../facts/scope.ts";
import { isIntegral } from "../../ir/dtype.ts";
import { pushAll } from "../../ir/lists.ts";
import type { Value } from "../../ir/model.ts";
import { carriesElements, isOp, traitsOf } from "../../ops/ask.ts";
import { findOp } from "../../ops/registry.ts";
import type { InputUse } from "../../ops/traits.ts";
import type { FloatGraph, FloatNode } from "./graph.ts";
import { dtypeIn, subgraphsOf } from "./slots.ts";

export interface WholeNumbers {
  readonly nodes: ReadonlySet<FloatNode>;
  /** Inputs of the model among what they are computed from. */
  readonly inputs: ReadonlySet<Value>;
}

export function findWholeNumbers(graph: FloatGraph): WholeNumbers {
  const nodes = new Set<FloatNode>();
  const starts = graph.nodes.flatMap((entry) => {
    const made = operandsOf(entry);
    // A Resize only reads sizes.
    if (made.length > 0 && isOp(entry.node, "Equal", "Cast", "CastLike")) nodes.add(entry);
    return made;
  });
  return withSources(graph, nodes, starts);
}

/** Normalizations without an epsilon divide by how far values are apart, which half may make nothing: 0/0. */
export function findBareNormalizations(graph: FloatGraph): WholeNumbers {
  const bare = graph.nodes.filter(isBare);
  const starts = bare.flatMap(({ node: { inputs } }) => inputs[0] ?? []);
  return withSources(graph, new Set(bare), starts);
}

/** What a BatchNormalization divides by is stored, and judged as a constant. */
function isBare({ node, scope }: FloatNode): boolean {
  const isLanewise = findOp(node.domain, node.opType)?.traffic === "elementwise";
  return !isLanewise && floatAttributeIn(node, "epsilon", scope) === 0;
}

/** `nodes`, and what makes `starts`, back to where numbers are made anew. */
function withSources(graph: FloatGraph, nodes: Set<FloatNode>, starts: readonly Value[]): WholeNumbers {
  const inputs = new Set<Value>();
  const seen = new Set<Value>();
  const pending = [...starts];
  for (let value = pending.pop(); value !== undefined; value = pending.pop()) {
    if (seen.has(value)) continue;
    seen.add(value);
    const known = graph.values.get(value);
    if (known === undefined) continue;
    if (value.isInput && known.scope.parent === undefined) inputs.add(value);
    const maker = known.producer?.user;
    if (maker !== undefined) nodes.add(maker);
    if (maker === undefined || carries(maker)) pushAll(pending, sourcesOf(value, known.scope));
  }
  return { nodes, inputs };
}

/** Float operands of a node that makes whole numbers, or truth, of their last digit. */
function operandsOf({ node, scope }: FloatNode): Value[] {
  if (node.domain !== "") return [];
  const all = node.inputs.flatMap((value) => value ?? []);
  if (node.opType === "Equal") return all;
  if (isOp(node, "Cast", "CastLike")) {
    const dtype = dtypeIn(node.outputs[0], scope);
    const isWhole = dtype !== undefined && dtype !== "bool" && isIntegral(dtype);
    return isWhole ? all.slice(0, 1) : [];
  }
  const uses = traitsOf(node)?.uses ?? {};
  return node.inputs.flatMap((value, position) => (isWhole(uses[position]) ? (value ?? []) : []));
}

/** Indices, lengths and sizes are no other number than they say. */
function isWhole(use: InputUse | undefined): boolean {
  return use !== undefined && use.kind !== "mask" && use.kind !== "scores";
}

/** Others make numbers of their own, and what is read there is as good as any. */
function carries({ node }: FloatNode): boolean {
  return carriesElements(node) || traitsOf(node)?.keepsDigits === true;
}

/** What a value is computed from: operands of its maker, results of a body, or what a loop carries. */
function sourcesOf(value: Value, scope: Scope): Value[] {
  const { producer } = value;
  if (producer === undefined) return carriedOf(value, scope);
  const bodies = subgraphsOf(producer);
  if (bodies.length === 0) return producer.inputs.flatMap((input) => input ?? []);
  const position = producer.outputs.indexOf(value) + (isOp(producer, "Loop") ? 1 : 0);
  return bodies.flatMap(({ outputs }) => outputs[position] ?? []);
}

/** Of a loop's body: what goes in at first, and what the iteration before has left. */
function carriedOf(value: Value, { owner, graph }: Scope): Value[] {
  const position = graph.inputs.indexOf(value);
  if (!isOp(owner, "Loop") || position < 2) return [];
  return [owner?.inputs[position], graph.outputs[position - 1]].flatMap((each) => each ?? []);
}
