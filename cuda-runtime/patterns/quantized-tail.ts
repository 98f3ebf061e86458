/**
 * @file What follows a product's codes, or its floats, and its kernel does before it stores: an activation of floats, Add of something of
 * the same shape, a Relu, QuantizeLinear. Codes between are rounded to as the graph says.
 */
import { intAttributeIn } from "../../src/facts/attributes.ts";
import { type Node, operatorOf, type Value } from "../../src/ir/model.ts";
import { noActivation } from "../ir/epilogue.ts";
import { type CodeNumbers, isCodeType } from "../kernels/gemm-int8/codes.ts";
import { tailQuantizes } from "../kernels/gemm-int8/tail.ts";
import type { QuantizedTail } from "../lower/quantized-products.ts";
import type { PatternGraph } from "./graph.ts";
import { activationBehind } from "./written-activation.ts";

export interface TailMatch {
  readonly tail: QuantizedTail;
  readonly value: Value;
  readonly nodes: readonly Node[];
}

/**
 * @param value What the product makes: floats, or codes where `between` says what they stand for.
 * @param spent Adds that are another product's.
 */
export function tailBehind(
  value: Value,
  between: CodeNumbers | undefined,
  graph: PatternGraph,
  spent: ReadonlySet<Node>,
): TailMatch | undefined {
  const back = between === undefined ? undefined : dequantizedAgain(value, between, graph);
  if (between !== undefined && back === undefined) return undefined;
  const curve = between === undefined ? activationBehind(value, graph) : undefined;
  const sum = back?.outputs[0] ?? curve?.value ?? value;
  const added = addBehind(sum, graph, spent);
  const total = added?.value ?? sum;
  const relu = added === undefined ? undefined : readerThatIs("Relu", total, graph);
  const end = relu?.outputs[0] ?? total;
  const quantize = readerThatIs("QuantizeLinear", end, graph);
  const to = quantize && numbersOf(quantize.inputs, quantize.outputs[0], graph);
  const isRounded = to !== undefined && tailQuantizes(to);
  if (added === undefined && curve === undefined) return undefined;
  const own = [back, ...(curve?.nodes ?? []), added?.node, relu, isRounded ? quantize : undefined];
  return {
    tail: {
      between,
      activation: curve?.activation ?? noActivation,
      residual: added?.residual,
      hasRelu: relu !== undefined,
      to: isRounded ? to : undefined,
    },
    value: (isRounded ? quantize?.outputs[0] : undefined) ?? end,
    nodes: own.filter((node) => node !== undefined),
  };
}

/** An Add of something of the same shape, which is no other product's. */
function addBehind(sum: Value, graph: PatternGraph, spent: ReadonlySet<Node>) {
  const node = graph.onlyReader(sum);
  const [value] = node?.outputs ?? [];
  if (node === undefined || value === undefined || operatorOf(node) !== "Add" || spent.has(node))
    return undefined;
  const other = node.inputs[0] === sum ? node.inputs[1] : node.inputs[0];
  const residual = other === sum ? undefined : residualOf(other, sum, graph);
  const isAlike = graph.shape(value)?.join() === graph.shape(sum)?.join();
  return residual === undefined || !isAlike ? undefined : { node, value, residual };
}

/** Scale and zero point of inputs 1 and 2, one for all, where they are known. */
export function numbersOf(
  [, scale, zero]: readonly (Value | undefined)[],
  codes: Value | undefined,
  graph: PatternGraph,
): CodeNumbers | undefined {
  const type = graph.dtype(codes);
  const [factor, ...more] = graph.elements(scale) ?? [];
  const [shift, ...others] = zero === undefined ? [0] : (graph.elements(zero) ?? []);
  if (!isCodeType(type) || graph.dtype(scale) !== "float32") return undefined;
  if (factor === undefined || shift === undefined || more.length > 0 || others.length > 0) return undefined;
  return { type, scale: factor, zero: shift };
}

/** What a QuantizeLinear rounds to, where kernels that make its input can as well. */
export function quantizerOf(node: Node, graph: PatternGraph): CodeNumbers | undefined {
  const isBlocked = (intAttributeIn(node, "block_size", graph.scope) ?? 0) !== 0;
  if (operatorOf(node) !== "QuantizeLinear" || isBlocked) return undefined;
  const numbers = numbersOf(node.inputs, node.outputs[0], graph);
  return numbers !== undefined && tailQuantizes(numbers) ? numbers : undefined;
}

/** The node that makes real numbers of these codes again, by what they were made with, and is all that reads them. */
function dequantizedAgain(codes: Value, between: CodeNumbers, graph: PatternGraph): Node | undefined {
  const node = readerThatIs("DequantizeLinear", codes, graph);
  const own = node && numbersOf(node.inputs, codes, graph);
  const isSame = own?.scale === between.scale && own.zero === between.zero && own.type === between.type;
  return isSame && isPlain(node, graph) ? node : undefined;
}

/** Real numbers are float32. */
function isPlain(node: Node | undefined, graph: PatternGraph): boolean {
  return graph.dtype(node?.outputs[0]) === "float32";
}

/** Dequantized codes are read as codes. */
function residualOf(value: Value | undefined, like: Value, graph: PatternGraph): QuantizedTail["residual"] {
  const isAlike = (own: Value | undefined) => graph.shape(own)?.join() === graph.shape(like)?.join();
  if (value === undefined || graph.dtype(value) !== "float32" || !isAlike(value)) return undefined;
  const node = graph.producerOf(value);
  if (node === undefined || operatorOf(node) !== "DequantizeLinear") return { value, codes: undefined };
  const [stored] = node.inputs;
  const codes = numbersOf(node.inputs, stored, graph);
  const isBlocked = (intAttributeIn(node, "block_size", graph.scope) ?? 0) !== 0;
  if (stored === undefined || codes === undefined || isBlocked) return { value, codes: undefined };
  return { value: stored, codes };
}

function readerThatIs(operator: string, value: Value, graph: PatternGraph): Node | undefined {
  const node = graph.onlyReader(value);
  return node !== undefined && operatorOf(node) === operator && node.inputs[0] === value ? node : undefined;
}
