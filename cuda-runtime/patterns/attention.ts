/** @file Attention written out as products, scales, masks and softmax: found by src/facts, taken only if all of it is understood. */

import { type DecomposedAttention, findAttention } from "../../src/facts/attention.ts";
import { intAttributeIn } from "../../src/facts/attributes.ts";
import type { Scope } from "../../src/facts/scope.ts";
import { type Node, operatorOf, type Value } from "../../src/ir/model.ts";
import { maxHeadDim } from "../kernels/attention/attention.ts";
import { type AttentionPattern, lowerAttention } from "./attention-lower.ts";
import { keyOperand, type Operand, plainOperand, swapLast, withoutCopies } from "./attention-operand.ts";
import { sameSizes, scorePath, weightPath } from "./attention-scores.ts";
import { scoreAxes, valueAxes } from "./einsum.ts";
import { PatternGraph } from "./graph.ts";
import type { Macro } from "./macro.ts";

/** All nodes of one attention, the last of which makes `output`. */
export interface AttentionMatch {
  readonly pattern: AttentionPattern;
  readonly nodes: readonly Node[];
  readonly output: Value;
}

const matches = new WeakMap<Scope, readonly AttentionMatch[]>();

export function attentionsOf(scope: Scope): readonly AttentionMatch[] {
  const known = matches.get(scope);
  if (known !== undefined) return known;
  const { found } = findAttention(scope);
  const graph = PatternGraph.of(scope);
  const all = [...found.values()].flatMap((attention) => matchOf(attention, graph) ?? []);
  matches.set(scope, all);
  return all;
}

export function recogniseAttention(scope: Scope): readonly Macro[] {
  return attentionsOf(scope).map(({ pattern, nodes, output }) => ({
    name: "Attention",
    nodes,
    output,
    lower: (context) => lowerAttention(context, pattern),
  }));
}

function matchOf(attention: DecomposedAttention, graph: PatternGraph): AttentionMatch | undefined {
  const { scores, softmax, output } = attention;
  const up = scorePath(scores.outputs[0], softmax, graph);
  const down = weightPath(softmax, output, graph);
  const result = output.outputs[0];
  if (up === undefined || down === undefined || result === undefined || !isLastAxis(softmax, graph))
    return undefined;
  const [q, k] = scoreOperands(scores, graph) ?? [];
  const weighted = valueOperand(output, down.weights, graph);
  if (q === undefined || k === undefined || weighted === undefined) return undefined;
  const [keys, v] = sharedHeads(k, weighted.values, graph);
  const leading = leadingOf(scores, up.masks, graph);
  if (leading === undefined) return undefined;
  const pattern: AttentionPattern = {
    q,
    k: keys,
    v,
    leading,
    scoresLeading: graph.shape(scores.outputs[0])?.slice(0, -2) ?? [],
    scale: up.scale * q.scale * keys.scale,
    softcap: up.softcap,
    masks: up.masks,
    resultAxes: weighted.axes,
  };
  if (!isPossible(pattern, scores, graph)) return undefined;
  const parts = [scores, ...up.nodes, softmax, ...down.nodes, output, ...q.nodes, ...keys.nodes, ...v.nodes];
  const nodes = graph.closed(parts, result);
  return nodes && { pattern, nodes, output: result };
}

/** Softmax over keys alone, which are last. */
function isLastAxis(softmax: Node, graph: PatternGraph): boolean {
  const rank = graph.shape(softmax.outputs[0])?.length;
  const axis = intAttributeIn(softmax, "axis", graph.scope) ?? (graph.opset < 13 ? 1 : -1);
  return rank !== undefined && (axis === -1 || axis === rank - 1);
}

/** Q · Kᵀ as a plain product, or an Einsum of one. */
function scoreOperands(node: Node, graph: PatternGraph): [Operand, Operand] | undefined {
  const [left, right] = node.inputs;
  if (left === undefined || right === undefined || left === right) return undefined;
  const axes = scoreAxes(node, graph.scope);
  if (axes === undefined && operatorOf(node) !== "MatMul") return undefined;
  const queries = plainOperand(left, graph, { takesScale: true, axes: axes?.queries });
  const keys =
    axes === undefined
      ? keyOperand(right, graph)
      : plainOperand(right, graph, { takesScale: true, axes: axes.keys });
  return queries && keys && [queries, keys];
}

interface Weighted {
  readonly values: Operand;
  /** Axes of the result in the order [leading…, queries, size]; undefined where that is their order. */
  readonly axes: readonly number[] | undefined;
}

function valueOperand(node: Node, weights: Value, graph: PatternGraph): Weighted | undefined {
  const [left, right] = node.inputs;
  if (left !== weights || right === undefined || right === left) return undefined;
  const axes = valueAxes(node, graph.scope);
  if (axes === undefined && operatorOf(node) !== "MatMul") return undefined;
  const values = plainOperand(right, graph, { takesScale: false, axes: axes?.values });
  return values && { values, axes: axes?.result };
}

/** K and V before their heads were copied, where both were, and equally often. */
function sharedHeads(k: Operand, v: Operand, graph: PatternGraph): [Operand, Operand] {
  const [keys, values] = [withoutCopies(k, graph), withoutCopies(v, graph)];
  return keys.copies === values.copies ? [keys, values] : [k, v];
}

/**
 * Axes before the last two, as finely told apart as anywhere on the way: [], [batch], [batch, heads] or
 * [outer batch, inner batch, heads]. Undefined for more.
 */
function leadingOf(
  scores: Node,
  masks: AttentionPattern["masks"],
  graph: PatternGraph,
): readonly number[] | undefined {
  const own = graph.shape(scores.outputs[0]);
  if (own === undefined) return undefined;
  const all = [own, ...masks.map(({ shape }) => shape)].map((shape) => shape.slice(0, -2));
  const finest = all.reduce((a, b) => (b.length > a.length ? b : a));
  const count = (leading: readonly number[]) => leading.reduce((total, size) => total * size, 1);
  return finest.length <= 3 && all.every((leading) => count(leading) === count(finest)) ? finest : undefined;
}

/** Sizes that the kernel takes, in shapes that fit together. */
function isPossible({ q, k, v, leading }: AttentionPattern, scores: Node, graph: PatternGraph): boolean {
  const [queryShape, valueShape] = [q.shape, v.shape];
  const keyShape = k.isSwapped ? swapLast(k.shape) : k.shape;
  const scoreShape = graph.shape(scores.outputs[0]);
  if (scoreShape === undefined) return false;
  if (queryShape.length < 2 || keyShape.length < 2 || valueShape.length < 2) return false;
  const [queries, dim] = queryShape.slice(-2);
  const [keys, keyDim] = keyShape.slice(-2);
  const [valueKeys, valueDim] = valueShape.slice(-2);
  if (dim === undefined || valueDim === undefined || keys === undefined) return false;
  const isSmall = Math.max(dim, valueDim) <= maxHeadDim && Math.min(dim, valueDim, keys) > 0;
  const fits = dim === keyDim && keys === valueKeys && sameSizes(scoreShape.slice(-2), [queries ?? 0, keys]);
  // Copied heads are heads of their own axis: [batch, heads].
  const isShared = k.copies === 1 || (leading.length === 2 && scoreShape.length === 4);
  return isSmall && fits && isShared && [q, k, v].every(({ value }) => graph.isFloat(value));
}
