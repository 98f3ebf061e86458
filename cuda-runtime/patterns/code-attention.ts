/**
 * @file Attention between codes: where queries, keys and values are made of codes of a byte and the result becomes such codes again,
 * the floats between are kept as halves, whose last place is far below a code's step, and the Tensor Cores take them.
 */
import { pushAll } from "../../src/ir/lists.ts";
import { type Node, operatorOf, type Value } from "../../src/ir/model.ts";
import type { StorageType } from "../ir/storage.ts";
import { type CodeNumbers, isCodeType, isSameCodes } from "../kernels/gemm-int8/codes.ts";
import type { Quantized } from "../lower/quantized-products.ts";
import { type AttentionMatch, attentionsOf } from "./attention.ts";
import { rangeOf } from "./code-ranges.ts";
import type { PatternGraph } from "./graph.ts";
import type { Macro } from "./macro.ts";
import { quantizerOf } from "./quantized-tail.ts";

/** What half holds with room to spare. */
const largest = 60_000;
/** Of codes: a step below is lost among halves that are not normal. */
const leastStep = 2 ** -18;

/** Keys that Hopper's own kernels, which store floats alone, do not take less for than a launch that quantizes. */
const mostKeysOfCodes = 256;

export function isAttention(macro: Macro | undefined): boolean {
  return macro?.name === "Attention";
}

/** Float32 values that are stored as something else. */
export interface StoredAs {
  readonly type: StorageType;
  /** What they are rounded to already. */
  readonly codes?: CodeNumbers;
}

export interface StoredBetween {
  readonly types: ReadonlyMap<Value, StoredAs>;
  /** Of each attention that they are of. */
  readonly results: readonly Value[];
}

/** Operators that hand on the elements of their first input, in its type. */
const movers: ReadonlySet<string> = new Set([
  ...["Expand", "Flatten", "Identity", "Reshape", "Slice", "Split", "Squeeze", "Transpose", "Unsqueeze"],
]);

/**
 * Sources of queries, keys and values, and results with whatever moves their elements.
 * @param products Products of codes.
 */
export function storedBetweenCodes(graph: PatternGraph, products: readonly CodeProduct[]): StoredBetween {
  const byValue = new Map(products.map(({ output, quantized }) => [output, quantized]));
  const taken = new Set(products.flatMap(({ nodes }) => nodes));
  const free = attentionsOf(graph.scope).filter(({ nodes }) => !nodes.some((node) => taken.has(node)));
  const found = readAlone(
    free.flatMap((match) => betweenCodes(match, graph, byValue) ?? []),
    graph,
  );
  const half: StoredAs = { type: "float16" };
  const types = new Map(
    found.flatMap(({ match, sources, ends }) => [
      ...sources.flatMap(({ value, scaled }) => [value, ...scaled].map((each) => [each, half] as const)),
      [match.output, half] as const,
      ...codesOf(match, ends, taken, graph),
    ]),
  );
  return { types, results: found.map(({ match }) => match.output) };
}

/** Those whose sources nobody else reads. */
function readAlone(found: readonly Between[], graph: PatternGraph): readonly Between[] {
  const own = new Set(found.flatMap(({ match }) => match.nodes));
  const kept = found.filter(({ sources }) =>
    sources.every(({ value }) => endsOf(value, (node) => own.has(node), behindScale, graph) !== undefined),
  );
  return kept.length === found.length ? kept : readAlone(kept, graph);
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
  readonly sources: readonly Source[];
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
  const isOfCodes = sources.every(({ value, factor }) => {
    const { most, step } = rangeOf(value, graph, products);
    const [up, down] = [Math.max(1, factor), Math.min(1, factor)];
    return graph.dtype(value) === "float32" && most * up <= largest && step * down >= leastStep;
  });
  if (!isOfCodes || graph.dtype(match.output) !== "float32") return undefined;
  const ends = endsOf(match.output, (node) => makesBytes(node, graph), behindMove, graph);
  return ends && { match, sources, ends };
}

interface Source {
  readonly value: Value;
  /** Products of it with numbers on the way, and of these numbers their magnitude. */
  readonly scaled: readonly Value[];
  readonly factor: number;
}

/** The value whose elements these are, or are but for a factor. */
function sourceOf(value: Value, graph: PatternGraph): Source {
  const producer = graph.producerOf(value);
  const from = producer !== undefined && movers.has(operatorOf(producer)) ? producer.inputs[0] : undefined;
  if (from !== undefined) return sourceOf(from, graph);
  const scaling = producer && scalingOf(producer, graph);
  if (scaling === undefined) return { value, scaled: [], factor: 1 };
  const { value: first, scaled, factor } = sourceOf(scaling.value, graph);
  return { value: first, scaled: [...scaled, value], factor: factor * scaling.factor };
}

/** A product of a value with a number. */
function scalingOf(node: Node, graph: PatternGraph): { value: Value; factor: number } | undefined {
  const [a, b] = node.inputs;
  const operator = operatorOf(node);
  if (a === undefined || b === undefined || (operator !== "Mul" && operator !== "Div")) return undefined;
  const [left, right] = [operator === "Mul" ? graph.number(a) : undefined, graph.number(b)];
  const [value, number] = right === undefined ? [b, left] : [a, right];
  const isAlike = graph.shape(value)?.join() === graph.shape(node.outputs[0])?.join();
  if (number === undefined || number === 0 || !isAlike) return undefined;
  return { value, factor: Math.abs(operator === "Mul" ? number : 1 / number) };
}

/** What hands on the elements of the value that it reads: its outputs. */
type Behind = (node: Node, value: Value, graph: PatternGraph) => Node["outputs"] | undefined;

const behindMove: Behind = (node, value) =>
  movers.has(operatorOf(node)) && node.inputs[0] === value ? node.outputs : undefined;

const behindScale: Behind = (node, value, graph) =>
  behindMove(node, value, graph) ?? (scalingOf(node, graph)?.value === value ? node.outputs : undefined);

interface Ends {
  readonly nodes: readonly Node[];
  /** Copies of the value's elements on the way. */
  readonly values: readonly Value[];
}

/** The nodes that read the value, or a copy of its elements, where all of them are such nodes. */
function endsOf(
  value: Value,
  isEnd: (node: Node) => boolean,
  behind: Behind,
  graph: PatternGraph,
): Ends | undefined {
  const readers = graph.readersOf(value);
  if (value.isOutput || value.graph !== graph.scope.graph || readers.length === 0) return undefined;
  const nodes: Node[] = [];
  const values: Value[] = [];
  for (const node of readers) {
    if (isEnd(node)) {
      nodes.push(node);
      continue;
    }
    const outputs = behind(node, value, graph);
    if (outputs === undefined) return undefined;
    for (const output of outputs) {
      if (output === undefined || isUnread(output, graph)) continue;
      const further = endsOf(output, isEnd, behind, graph);
      if (further === undefined) return undefined;
      pushAll(nodes, further.nodes);
      values.push(output);
      pushAll(values, further.values);
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
