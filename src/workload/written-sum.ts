/**
 * @file A sum that a norm or a softmax reads, and nobody else: ONNX Runtime adds in the kernel behind it (SkipLayerNormFusion of skip_layer_norm_fusion.cc,
 * BiasSoftmaxFusion of bias_softmax_fusion.cc, both at its default level and for its CUDA provider).
 */
import { intAttributeIn } from "../facts/attributes.ts";
import type { Scope } from "../facts/scope.ts";
import type { Node, Value } from "../ir/model.ts";
import { isMatrixProduct } from "../ops/ask.ts";
import type { TrafficWork } from "../ops/work.ts";
import { extentOf } from "./extent.ts";
import { boundMemoryWork } from "./traffic.ts";
import { type Bound, sizesOf } from "./values.ts";
import type { WrittenNorm } from "./written-norm.ts";
import { WrittenGraph, type WrittenOut } from "./written-out.ts";

/** What reads the sum: all nodes of it, and what it does by itself. */
interface Reader {
  readonly x: Value;
  readonly nodes: readonly Node[];
  readonly work: TrafficWork<number>;
}

/** Whether values may be added in the kernel that reads the sum. */
type Joins = (left: readonly number[], right: readonly number[]) => boolean;

/** Those whose sizes are known; `norms` are what an exporter wrote out of the graph's. */
export function writtenSums(scope: Scope, norms: readonly WrittenNorm[], bound: Bound): WrittenOut[] {
  const graph = new WrittenGraph(scope);
  const written = norms.flatMap(({ kind, axes, x, nodes, fused }) =>
    kind === "LayerNorm" && axes === 1 && !("opType" in fused) ? [{ x, nodes, work: fused }] : [],
  );
  const layerNorms = [...operators("LayerNormalization", graph, bound), ...written];
  const softmaxes = operators("Softmax", graph, bound).filter(({ work }) => work.columns <= longestBiased);
  return [
    ...layerNorms.flatMap((norm) => joined(norm, areAlike, graph, bound) ?? []),
    ...softmaxes.flatMap((softmax) => joined(softmax, isBias, graph, bound) ?? []),
  ];
}

/** Longer rows are added and then given to cuDNN (bias_softmax.cc). */
const longestBiased = 1024;

/** Nodes of a type that go along the last axis. */
function operators(type: "LayerNormalization" | "Softmax", graph: WrittenGraph, bound: Bound): Reader[] {
  const { scope } = graph;
  return graph.nodes(type).flatMap((node) => {
    const [x] = node.inputs;
    const rank = scope.shape(x)?.length;
    const axis = intAttributeIn(node, "axis", scope) ?? (isOfMatrix(node, scope) ? 1 : -1);
    if (x === undefined || rank === undefined || (axis < 0 ? axis + rank : axis) !== rank - 1) return [];
    const [work] = boundMemoryWork(node, scope, "normalization", bound.bindings);
    return work?.kind === "traffic" ? [{ x, nodes: [node], work }] : [];
  });
}

/** Before opset 13 a softmax is one of a matrix, whose columns begin at the second axis. */
function isOfMatrix({ opType }: Node, { opsets }: Scope): boolean {
  return opType === "Softmax" && (opsets.get("") ?? 1) < 13;
}

function joined(
  { x, nodes, work }: Reader,
  joins: Joins,
  graph: WrittenGraph,
  bound: Bound,
): WrittenOut | undefined {
  const { scope } = graph;
  const add = graph.makerOf(x, "Add");
  if (add === undefined || graph.isFixed(x) || x.isOutput || !readAlone(x, nodes, graph)) return undefined;
  if (isEpilogue(add, graph)) return undefined;
  const [left, right] = add.inputs.map((value) => value && sizesOf(value, scope, bound));
  if (left === undefined || right === undefined || !joins(left, right)) return undefined;
  const read = (value: Value | undefined) => {
    const fact = value && scope.fact(value);
    return extentOf(fact, bound.bindings)?.bytes;
  };
  const [sum, ...added] = [x, ...add.inputs].map(read);
  if (sum === undefined || added.some((bytes) => bytes === undefined)) return undefined;
  const bytesRead = added.reduce<number>((total, bytes = 0) => total + bytes, work.bytesRead - sum);
  return { node: add, scope, nodes: [add, ...nodes], fused: { ...work, bytesRead } };
}

function readAlone(x: Value, nodes: readonly Node[], graph: WrittenGraph): boolean {
  return graph.readersOf(x).every((reader) => nodes.includes(reader));
}

/** A constant row behind a matrix product is added there. */
function isEpilogue({ inputs }: Node, graph: WrittenGraph): boolean {
  const isBehind = inputs.some((value) => value?.producer !== undefined && isMatrixProduct(value.producer));
  return isBehind && inputs.some((value) => graph.isFixedRow(value));
}

/** Three axes of the same sizes. */
function areAlike(left: readonly number[], right: readonly number[]): boolean {
  return left.length === 3 && right.length === 3 && left.every((dim, axis) => dim === right[axis]);
}

/** Rows as long, and one of the two repeated over axes that lie together: those in front, or those up to the last. */
function isBias(left: readonly number[], right: readonly number[]): boolean {
  if (left.at(-1) !== right.at(-1)) return false;
  return [left, right].some((whole) => {
    const bias = whole === left ? right : left;
    return isRepeatedWithin(whole, bias) || isRepeatedInFront(whole, bias);
  });
}

/** [a, b, 1, 1, d] beside [a, b, …, …, d]. */
function isRepeatedWithin(whole: readonly number[], bias: readonly number[]): boolean {
  if (whole.length !== bias.length) return false;
  const from = bias.findIndex((dim, axis) => dim !== whole[axis]);
  return from < 0 || bias.slice(from, -1).every((dim) => dim === 1);
}

/** [1, 1, c, d] or [c, d] beside [a, b, c, d]. */
function isRepeatedInFront(whole: readonly number[], bias: readonly number[]): boolean {
  if (bias.length > whole.length) return false;
  const padded = [...new Array<number>(whole.length - bias.length).fill(1), ...bias];
  const until = padded.findLastIndex((dim, axis) => dim !== whole[axis]);
  return padded.slice(0, until + 1).every((dim) => dim === 1);
}
