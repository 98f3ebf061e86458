/**
 * @file Attention between codes: where queries, keys and values are made of codes of a byte and the result becomes such codes again,
 * the floats between are kept as halves, whose last place is far below a code's step, and the Tensor Cores take them.
 */
import { maxOf, minOf } from "../../src/ir/lists.ts";
import { type Node, operatorOf, type Value } from "../../src/ir/model.ts";
import type { StorageType } from "../ir/storage.ts";
import { type CodeNumbers, isCodeType, isSameCodes } from "../kernels/gemm-int8/tail.ts";
import type { Quantized } from "../lower/quantized-products.ts";
import { type AttentionMatch, attentionsOf } from "./attention.ts";
import type { PatternGraph } from "./graph.ts";
import { quantizerOf } from "./quantized-tail.ts";

/** What half holds with room to spare. */
const largest = 60_000;
/** Of codes: a step below is lost among halves that are not normal. */
const leastStep = 2 ** -18;

/** Keys that Hopper's own kernels, which store floats alone, do not take less for than a launch that quantizes. */
const mostKeysOfCodes = 256;

/** Float32 values that are stored as something else. */
export interface StoredAs {
  readonly type: StorageType;
  /** What they are rounded to already. */
  readonly codes?: CodeNumbers;
}

/** Operators that hand on the elements of their first input, in its type. */
const movers: ReadonlySet<string> = new Set([
  ...["Expand", "Flatten", "Identity", "Reshape", "Slice", "Split", "Squeeze", "Transpose", "Unsqueeze"],
]);

/**
 * Sources of queries, keys and values, and results with whatever moves their elements.
 * @param products Products of codes.
 */
export function storedBetweenCodes(
  graph: PatternGraph,
  products: readonly CodeProduct[],
): ReadonlyMap<Value, StoredAs> {
  const byValue = new Map(products.map(({ output, quantized }) => [output, quantized]));
  const taken = new Set(products.flatMap(({ nodes }) => nodes));
  let found = attentionsOf(graph.scope).flatMap((match) => betweenCodes(match, graph, byValue) ?? []);
  for (;;) {
    const own = new Set(found.flatMap(({ match }) => match.nodes));
    const kept = found.filter(({ sources }) =>
      sources.every((source) => endsOf(source, (node) => own.has(node), graph) !== undefined),
    );
    if (kept.length === found.length) break;
    found = kept;
  }
  const half: StoredAs = { type: "float16" };
  return new Map(
    found.flatMap(({ match, sources, ends }) => [
      ...sources.map((source) => [source, half] as const),
      [match.output, half] as const,
      ...codesOf(match, ends, taken, graph),
    ]),
  );
}

/** The result and what moves its elements as the codes that all of `ends` make, where attention may write them. */
function codesOf(
  { pattern, output }: AttentionMatch,
  { nodes, values }: Ends,
  taken: ReadonlySet<Node>,
  graph: PatternGraph,
): (readonly [Value, StoredAs])[] {
  const all = nodes.map((node) => (taken.has(node) ? undefined : quantizerOf(node, graph)));
  const [codes] = all;
  const isOne = all.every((each) => isSameCodes(each, codes));
  const isMasked = pattern.masks.some(({ value }) => graph.elements(value) === undefined);
  const [keys = 0, size = 1] = pattern.v.shape.slice(-2);
  const mayWrite = size % 2 === 0 && (isMasked || keys <= mostKeysOfCodes);
  if (codes === undefined || !isOne || !mayWrite) return [];
  return [output, ...values].map((value) => [value, { type: codes.type, codes }] as const);
}

interface Between {
  readonly match: AttentionMatch;
  readonly sources: readonly Value[];
  readonly ends: Ends;
}

/** A product of codes as it was recognised. */
export interface CodeProduct {
  readonly quantized: Quantized;
  readonly output: Value;
  readonly nodes: readonly Node[];
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
  const ends = endsOf(match.output, (node) => makesBytes(node, graph), graph);
  return ends && { match, sources, ends };
}

/** The value whose elements these are. */
function sourceOf(value: Value, graph: PatternGraph): Value {
  const producer = graph.producerOf(value);
  const from = producer !== undefined && movers.has(operatorOf(producer)) ? producer.inputs[0] : undefined;
  return from === undefined ? value : sourceOf(from, graph);
}

interface Ends {
  readonly nodes: readonly Node[];
  /** Copies of the value's elements on the way. */
  readonly values: readonly Value[];
}

/** The nodes that read the value, or a copy of its elements, where all of them are such nodes. */
function endsOf(value: Value, isEnd: (node: Node) => boolean, graph: PatternGraph): Ends | undefined {
  const readers = graph.readersOf(value);
  if (value.isOutput || value.graph !== graph.scope.graph || readers.length === 0) return undefined;
  const nodes: Node[] = [];
  const values: Value[] = [];
  for (const node of readers) {
    if (isEnd(node)) nodes.push(node);
    else if (!movers.has(operatorOf(node)) || node.inputs[0] !== value) return undefined;
    else {
      for (const output of node.outputs) {
        if (output === undefined || isUnread(output, graph)) continue;
        const behind = endsOf(output, isEnd, graph);
        if (behind === undefined) return undefined;
        nodes.push(...behind.nodes);
        values.push(output, ...behind.values);
      }
    }
  }
  return { nodes, values };
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
