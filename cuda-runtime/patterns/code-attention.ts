/**
 * @file Attention between codes: where queries, keys and values are made of codes of a byte and the result becomes such codes again,
 * the floats between are kept as halves, whose last place is far below a code's step, and the Tensor Cores take them.
 */
import { maxOf, minOf } from "../../src/ir/lists.ts";
import { type Node, operatorOf, type Value } from "../../src/ir/model.ts";
import { isCodeType } from "../kernels/gemm-int8/tail.ts";
import type { Quantized } from "../lower/quantized-products.ts";
import { type AttentionMatch, attentionsOf } from "./attention.ts";
import type { PatternGraph } from "./graph.ts";

/** What half holds with room to spare. */
const largest = 60_000;
/** Of codes: a step below is lost among halves that are not normal. */
const leastStep = 2 ** -18;

/** Operators that hand on the elements of their first input, in its type. */
const movers: ReadonlySet<string> = new Set([
  ...["Expand", "Flatten", "Identity", "Reshape", "Slice", "Split", "Squeeze", "Transpose", "Unsqueeze"],
]);

/**
 * Float32 values to be stored as float16: sources of queries, keys and values, what moves their elements, and results.
 * @param products Products of codes, by the values that they make.
 */
export function halvesOf(graph: PatternGraph, products: ReadonlyMap<Value, Quantized>): ReadonlySet<Value> {
  let found = attentionsOf(graph.scope).flatMap((match) => betweenCodes(match, graph, products) ?? []);
  for (;;) {
    const own = new Set(found.flatMap(({ match }) => match.nodes));
    const kept = found.filter(({ sources }) =>
      sources.every((source) => leadsOnlyTo(source, (node) => own.has(node), graph)),
    );
    if (kept.length === found.length) break;
    found = kept;
  }
  return new Set(found.flatMap(({ match, sources }) => [...sources, match.output]));
}

interface Between {
  readonly match: AttentionMatch;
  readonly sources: readonly Value[];
}

function betweenCodes(
  match: AttentionMatch,
  graph: PatternGraph,
  products: ReadonlyMap<Value, Quantized>,
): Between | undefined {
  const { q, k, v } = match.pattern;
  const sources = [q, k, v].map(({ value }) => sourceOf(value, graph));
  const isOfCodes = sources.every((source) => {
    const { most, step } = rangeOf(source, graph, products);
    return graph.dtype(source) === "float32" && most <= largest && step >= leastStep;
  });
  if (!isOfCodes || graph.dtype(match.output) !== "float32") return undefined;
  return leadsOnlyTo(match.output, (node) => makesBytes(node, graph), graph) ? { match, sources } : undefined;
}

/** The value whose elements these are. */
function sourceOf(value: Value, graph: PatternGraph): Value {
  const producer = graph.producerOf(value);
  const from = producer !== undefined && movers.has(operatorOf(producer)) ? producer.inputs[0] : undefined;
  return from === undefined ? value : sourceOf(from, graph);
}

/** Whether all that reads the value, or a copy of its elements, is such a node. */
function leadsOnlyTo(value: Value, isEnd: (node: Node) => boolean, graph: PatternGraph): boolean {
  const readers = graph.readersOf(value);
  if (value.isOutput || value.graph !== graph.scope.graph || readers.length === 0) return false;
  return readers.every((node) => {
    if (isEnd(node)) return true;
    return (
      movers.has(operatorOf(node)) &&
      node.inputs[0] === value &&
      node.outputs.every(
        (output) => output === undefined || isUnread(output, graph) || leadsOnlyTo(output, isEnd, graph),
      )
    );
  });
}

function isUnread(value: Value, graph: PatternGraph): boolean {
  return !value.isOutput && graph.readersOf(value).length === 0;
}

function makesBytes(node: Node, graph: PatternGraph): boolean {
  const [scale] = (node.inputs[1] && graph.constants(node.inputs[1])) ?? [];
  return (
    operatorOf(node) === "QuantizeLinear" &&
    isCodeType(graph.dtype(node.outputs[0])) &&
    scale !== undefined &&
    scale >= leastStep
  );
}

interface Range {
  /** The largest magnitude. */
  readonly most: number;
  /** Between neighbouring numbers. */
  readonly step: number;
}

const unknown: Range = { most: Number.POSITIVE_INFINITY, step: 0 };

function rangeOf(value: Value, graph: PatternGraph, products: ReadonlyMap<Value, Quantized>): Range {
  const product = products.get(value);
  if (product !== undefined) return rangeOfProduct(product, graph);
  const producer = graph.producerOf(value);
  const [codes, scale, zero] = producer?.inputs ?? [];
  const isOwn = producer !== undefined && operatorOf(producer) === "DequantizeLinear";
  return isOwn ? rangeOfCodes(codes, scale, zero, graph) : unknown;
}

function rangeOfCodes(
  codes: Value | undefined,
  scale: Value | undefined,
  zero: Value | undefined,
  graph: PatternGraph,
): Range {
  const type = graph.dtype(codes);
  const scales = (scale && graph.constants(scale))?.map(Math.abs);
  const zeros = zero === undefined ? [0] : graph.constants(zero);
  if (!isCodeType(type) || scales === undefined || zeros === undefined) return unknown;
  const [low, high] = type === "int8" ? [-128, 127] : [0, 255];
  const distance = maxOf(zeros.map((each) => Math.max(each - low, high - each)));
  return { most: distance * maxOf(scales), step: minOf(scales) };
}

/** Every sum is within as many products of the largest codes as there are terms. */
function rangeOfProduct({ x, w, bias, kind, to, tail }: Quantized, graph: PatternGraph): Range {
  const depth = graph.shape(x.codes)?.at(-1);
  if (kind !== "product" || to !== undefined || tail !== undefined || depth === undefined) return unknown;
  const activation = rangeOfCodes(x.codes, x.scale, x.zero, graph);
  const weight = rangeOfCodes(w.codes, w.scale, w.zero, graph);
  const added = bias === undefined ? [] : graph.constants(bias.value);
  const unit = bias?.kind === "codes" ? activation.step * largestOf(w.scale, graph) : 1;
  if (added === undefined) return unknown;
  const most = depth * activation.most * weight.most + unit * maxOf([0, ...added.map(Math.abs)]);
  return { most, step: activation.step * weight.most };
}

function largestOf(value: Value, graph: PatternGraph): number {
  return maxOf(graph.constants(value)?.map(Math.abs) ?? [Number.POSITIVE_INFINITY]);
}
