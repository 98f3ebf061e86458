/**
 * @file What a residual block does to a product's codes, or to its floats: Add of dequantized codes of the same shape, a Relu, and
 * QuantizeLinear, which the product's kernel does before it stores. Codes between are rounded to as the graph says.
 */
import { intAttributeIn } from "../../src/facts/attributes.ts";
import { type Node, operatorOf, type Value } from "../../src/ir/model.ts";
import { noActivation } from "../ir/epilogue.ts";
import { type CodeNumbers, isCodeType, tailQuantizes } from "../kernels/gemm-int8/tail.ts";
import type { QuantizedTail } from "../lower/quantized-products.ts";
import type { PatternGraph } from "./graph.ts";

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
  const sum = back?.outputs[0] ?? value;
  const add = graph.onlyReader(sum);
  const [total] = add?.outputs ?? [];
  if (add === undefined || total === undefined || operatorOf(add) !== "Add" || spent.has(add))
    return undefined;
  const other = add.inputs[0] === sum ? add.inputs[1] : add.inputs[0];
  const residual = other === sum ? undefined : residualOf(other, sum, graph);
  if (residual === undefined || graph.shape(total)?.join() !== graph.shape(sum)?.join()) return undefined;
  const relu = readerThatIs("Relu", total, graph);
  const end = relu?.outputs[0] ?? total;
  const quantize = readerThatIs("QuantizeLinear", end, graph);
  const to = quantize && numbersOf(quantize.inputs, quantize.outputs[0], graph);
  const isRounded = to !== undefined && tailQuantizes(to);
  const nodes = [back, add, relu, isRounded ? quantize : undefined].filter((node) => node !== undefined);
  const last = relu === undefined ? noActivation : { kind: "relu" as const, a: 0, b: 0 };
  return {
    tail: { between, activation: noActivation, residual, last, to: isRounded ? to : undefined },
    value: (isRounded ? quantize?.outputs[0] : undefined) ?? end,
    nodes,
  };
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

function residualOf(
  value: Value | undefined,
  like: Value,
  graph: PatternGraph,
): QuantizedTail["residual"] | undefined {
  const node = graph.producerOf(value);
  if (node === undefined || operatorOf(node) !== "DequantizeLinear" || !isPlain(node, graph))
    return undefined;
  const [stored] = node.inputs;
  const codes = numbersOf(node.inputs, stored, graph);
  const isWhole = graph.shape(stored)?.join() === graph.shape(like)?.join();
  const isBlocked = (intAttributeIn(node, "block_size", graph.scope) ?? 0) !== 0;
  return stored === undefined || codes === undefined || !isWhole || isBlocked
    ? undefined
    : { value: stored, codes };
}

function readerThatIs(operator: string, value: Value, graph: PatternGraph): Node | undefined {
  const node = graph.onlyReader(value);
  return node !== undefined && operatorOf(node) === operator && node.inputs[0] === value ? node : undefined;
}
