/**
 * @file Products between DequantizeLinear and QuantizeLinear, which are products of codes: Conv, MatMul and Gemm, a bias, a
 * Relu. What dequantizes is read through, and computed for its other readers alone.
 */
import {
  floatAttributeIn,
  intAttributeIn,
  intsAttributeIn,
  stringAttributeIn,
} from "../../src/facts/attributes.ts";
import type { Scope } from "../../src/facts/scope.ts";
import { type Node, operatorOf, type Value } from "../../src/ir/model.ts";
import type { PlanTarget } from "../ir/step.ts";
import { isCodeStorage, isStorageType, type StorageType } from "../ir/storage.ts";
import { elementCount } from "../ir/view.ts";
import { multipliesCodes } from "../kernels/gemm-int8/code-product.ts";
import { hasTail } from "../kernels/gemm-int8/tail.ts";
import { takesRows } from "../lower/code-products.ts";
import { lowerQuantized, type Quantized, type Quantizer } from "../lower/quantized-products.ts";
import { type StoredBetween, storedBetweenCodes } from "./code-attention.ts";
import { PatternGraph } from "./graph.ts";
import type { Macro, MacroContext } from "./macro.ts";
import { groupsOf } from "./quantized-groups.ts";
import { numbersOf, tailBehind } from "./quantized-tail.ts";

/** Codes with one scale and zero point, or one for each position of `axis`. */
interface Codes extends Quantizer {
  readonly codes: Value;
  readonly type: StorageType;
  readonly axis: number;
}

export interface QuantizedMatches {
  readonly macros: readonly Macro[];
  /** Float32 values that are stored as something else. */
  readonly stored: StoredBetween;
}

export function recogniseQuantized(scope: Scope, target: PlanTarget): QuantizedMatches {
  const graph = PatternGraph.of(scope);
  const spent = new Set<Node>();
  const found = graph.nodes().flatMap((node) => {
    const operands = operandsOf(node, graph);
    if (operands === undefined || !multipliesCodes(operands.x.type, operands.w.type, target)) return [];
    const product = productOf(node, operands, graph, spent);
    if (product === undefined) return [];
    for (const each of product.nodes) spent.add(each);
    return product;
  });
  const stored = target.features.half ? storedBetweenCodes(graph, found) : { types: new Map(), results: [] };
  const groups = groupsOf(found, stored.types, graph);
  const macros = found.map(({ quantized, ...macro }) => {
    const group = groups.get(quantized);
    const lower = (context: MacroContext) =>
      group === undefined ? lowerQuantized(context, quantized) : group.lower(context, quantized);
    return { ...macro, lower };
  });
  return { macros, stored };
}

interface Product extends Omit<Macro, "lower"> {
  readonly quantized: Quantized;
}

interface Operands {
  readonly x: Codes;
  readonly w: Codes;
  /** Elements of the output along the axis that scales of w run along. */
  readonly columns: number;
}

function operandsOf(node: Node, graph: PatternGraph): Operands | undefined {
  const operator = operatorOf(node);
  if (operator !== "Conv" && operator !== "MatMul" && operator !== "Gemm") return undefined;
  const [x, w] = [dequantized(node.inputs[0], graph), dequantized(node.inputs[1], graph)];
  const [shapeX, shapeW] = [graph.shape(node.inputs[0]), graph.shape(node.inputs[1])];
  if (x === undefined || w === undefined || shapeX === undefined || shapeW === undefined) return undefined;
  const columnAxis = columnAxisOf(node, shapeW.length, graph.scope);
  const columns = shapeW[columnAxis] ?? 0;
  const scales = elementCount(graph.shape(w.scale) ?? [0]);
  const isOfColumns = scales === 1 || (scales === columns && w.axis === columnAxis);
  const isOne = elementCount(graph.shape(x.scale) ?? [0]) === 1;
  const isTaken = isOne && isOfColumns && elementCount(shapeX) > 0 && columns > 0;
  return isTaken && fits(node, operator, { x, w }, [shapeX, shapeW], graph) ? { x, w, columns } : undefined;
}

/** The axis of the weights that becomes the output's channels. */
function columnAxisOf(node: Node, rank: number, scope: Scope): number {
  if (operatorOf(node) === "Conv") return 0;
  const isTurned = operatorOf(node) === "Gemm" && intAttributeIn(node, "transB", scope) === 1;
  return isTurned ? 0 : rank - 1;
}

/** What the kernels do. */
function fits(
  node: Node,
  operator: "Conv" | "MatMul" | "Gemm",
  { x, w }: Pick<Operands, "x" | "w">,
  [shapeX, shapeW]: readonly [readonly number[], readonly number[]],
  graph: PatternGraph,
): boolean {
  const { scope } = graph;
  if (operator === "Conv") {
    const isPlain = (intAttributeIn(node, "group", scope) ?? 1) === 1 && !isCodeStorage(x.type);
    const isWhole = (shapeX[1] ?? 0) % 16 === 0 || isZero(w, graph);
    return isPlain && isWhole && (shapeX.length === 3 || shapeX.length === 4);
  }
  if (operator === "Gemm") {
    const isOne = (name: string) => (floatAttributeIn(node, name, scope) ?? 1) === 1;
    return isOne("alpha") && isOne("beta") && intAttributeIn(node, "transA", scope) !== 1;
  }
  const isShared = elementCount(shapeW.slice(0, -2)) === 1;
  const isAlike = shapeX.slice(0, -2).join() === shapeW.slice(0, -2).join() && isZero(x, graph);
  return shapeX.length >= 2 && shapeW.length >= 2 && (isShared || isAlike);
}

function isZero({ zero, type }: Codes, graph: PatternGraph): boolean {
  return zero === undefined || isCodeStorage(type) || graph.isZero(zero);
}

function dequantized(value: Value | undefined, graph: PatternGraph): Codes | undefined {
  const node = graph.producerOf(value);
  if (node === undefined || operatorOf(node) !== "DequantizeLinear") return undefined;
  const [codes, scale, zero] = node.inputs;
  const type = typeOf(codes, graph);
  const [shape, scales] = [graph.shape(codes), graph.shape(scale)];
  if (codes === undefined || scale === undefined || shape === undefined || scales === undefined)
    return undefined;
  if (!isStorageType(type) || scales.length > 1 || !graph.isFloat(scale)) return undefined;
  const named = intAttributeIn(node, "axis", graph.scope) ?? 1;
  return { codes, scale, zero, type, axis: named < 0 ? named + shape.length : named };
}

function typeOf(value: Value | undefined, graph: PatternGraph): string | undefined {
  const fact = value === undefined ? undefined : graph.scope.fact(value);
  return fact?.kind === "tensor" ? fact.dtype : undefined;
}

interface Tail {
  readonly value: Value;
  readonly nodes: readonly Node[];
}

/** `spent`: nodes of products before. */
function productOf(
  node: Node,
  { x, w, columns }: Operands,
  graph: PatternGraph,
  spent: ReadonlySet<Node>,
): Product | undefined {
  const [output] = node.outputs;
  if (output === undefined) return undefined;
  const stated = biasOf(node.inputs[2], columns, graph);
  if (node.inputs[2] !== undefined && stated === undefined) return undefined;
  const added = stated === undefined ? addBehind(output, columns, graph) : undefined;
  const bias = stated ?? added?.bias;
  const sum: Tail = added ?? { value: output, nodes: [] };
  const codes = quantizedBehind(sum.value, graph);
  const first: Tail = codes ?? { value: sum.value, nodes: [] };
  const behind = hasTail(x.type, w.type) ? residualBehind(first.value, codes, graph, spent) : undefined;
  const end: Tail = behind ?? first;
  const known = knownCodes(node, x, w, graph);
  const own = [...(known?.nodes ?? []), node, ...sum.nodes, ...first.nodes, ...(behind?.nodes ?? [])];
  const nodes = graph.closed(own, end.value);
  if (nodes === undefined) return undefined;
  const attributes = {
    ints: (name: string) => intsAttributeIn(node, name, graph.scope),
    string: (name: string) => stringAttributeIn(node, name, graph.scope),
  };
  const isTurned = operatorOf(node) === "Gemm" && intAttributeIn(node, "transB", graph.scope) === 1;
  const kind = operatorOf(node) === "Conv" ? "convolution" : "product";
  const quantized: Quantized = {
    ...{ kind, attributes, isTurned, bias },
    x: { ...withoutZero(x, graph), known: known?.codes },
    w: withoutZero(w, graph),
    to: codes?.to,
    low: codes?.low,
    tail: behind?.tail,
  };
  const name = kind === "convolution" ? "QLinearConv" : "QLinearMatMul";
  return { name, nodes, output: end.value, quantized };
}

/**
 * What a convolution of few channels knows of its input's codes: their zero point, and where it is all that reads them, the floats that
 * they are made of, which its kernel quantizes.
 */
function knownCodes(node: Node, x: Codes, w: Codes, graph: PatternGraph) {
  const numbers = numbersOf([undefined, x.scale, x.zero], x.codes, graph);
  const [shapeX, shapeW] = [graph.shape(x.codes), graph.shape(w.codes)];
  const isRows =
    operatorOf(node) === "Conv" &&
    shapeX !== undefined &&
    shapeW !== undefined &&
    takesRows(shapeX, shapeW, intsAttributeIn(node, "dilations", graph.scope) ?? []);
  if (numbers === undefined || !isRows) return undefined;
  const back = graph.onlyReader(x.codes);
  const quantize = graph.producerOf(x.codes);
  const isOwn =
    quantize !== undefined &&
    operatorOf(quantize) === "QuantizeLinear" &&
    back !== undefined &&
    operatorOf(back) === "DequantizeLinear" &&
    graph.onlyReader(back.outputs[0]) === node &&
    graph.dtype(quantize.inputs[0]) === "float32";
  const quantizer = isOwn ? numbersOf(quantize.inputs, x.codes, graph) : undefined;
  const [value] = quantize?.inputs ?? [];
  const isSame = quantizer?.zero === numbers.zero;
  const from = value === undefined || quantizer === undefined || !isSame ? undefined : { value, quantizer };
  const nodes = from === undefined ? [] : [quantize, back].filter((each) => each !== undefined);
  return { codes: { zero: numbers.zero, from }, nodes };
}

/** A residual and what follows it, of codes whose scale and zero point are known, or of floats. */
function residualBehind(
  value: Value,
  codes: ReturnType<typeof quantizedBehind>,
  graph: PatternGraph,
  spent: ReadonlySet<Node>,
) {
  if (codes === undefined)
    return graph.dtype(value) === "float32" ? tailBehind(value, undefined, graph, spent) : undefined;
  const between = numbersOf([undefined, codes.to.scale, codes.to.zero], codes.value, graph);
  return between && tailBehind(value, between, graph, spent);
}

function withoutZero(codes: Codes, graph: PatternGraph): Codes {
  return isZero(codes, graph) ? { ...codes, zero: undefined } : codes;
}

/** int32 in units of both scales, or floats: one a column. */
function biasOf(value: Value | undefined, columns: number, graph: PatternGraph): Quantized["bias"] {
  if (value === undefined) return undefined;
  const isList = (each: Value | undefined) => {
    const shape = graph.shape(each);
    return (
      shape !== undefined && elementCount(shape) === columns && (shape.at(-1) === columns || columns === 1)
    );
  };
  const codes = dequantized(value, graph);
  if (codes?.type === "int32" && isList(codes.codes)) return { kind: "codes", value: codes.codes };
  return isList(value) && graph.isFloat(value) ? { kind: "floats", value } : undefined;
}

/** An Add of one number a column, which is all that reads the product. */
function addBehind(value: Value, columns: number, graph: PatternGraph) {
  const node = graph.onlyReader(value);
  const [result] = node?.outputs ?? [];
  if (node === undefined || result === undefined || operatorOf(node) !== "Add") return undefined;
  const other = node.inputs[0] === value ? node.inputs[1] : node.inputs[0];
  const bias = other === value ? undefined : biasOf(other, columns, graph);
  return bias && { value: result, nodes: [node], bias };
}

/** A QuantizeLinear to one scale, a Relu before it taken along where the zero point is known. */
function quantizedBehind(value: Value, graph: PatternGraph) {
  const next = graph.onlyReader(value);
  const relu = next !== undefined && operatorOf(next) === "Relu" ? next : undefined;
  const node = relu === undefined ? next : graph.onlyReader(relu.outputs[0]);
  const [result] = node?.outputs ?? [];
  if (node === undefined || result === undefined || operatorOf(node) !== "QuantizeLinear") return undefined;
  const [, scale, zero] = node.inputs;
  const type = typeOf(result, graph);
  const isOne = scale !== undefined && elementCount(graph.shape(scale) ?? [0]) === 1;
  if (!isOne || (type !== "int8" && type !== "uint8")) return undefined;
  const [least] = zero === undefined ? [0] : (graph.elements(zero) ?? []);
  if (relu !== undefined && least === undefined) return undefined;
  const nodes = relu === undefined ? [node] : [relu, node];
  return { value: result, nodes, to: { scale, zero }, low: relu === undefined ? undefined : least };
}
