/** @file LayerNorm and RMSNorm written out: mean, difference, square, mean, root, quotient, scale and shift. */
import { intAttributeIn, intsAttributeIn } from "../../src/facts/attributes.ts";
import type { Scope } from "../../src/facts/scope.ts";
import type { DType } from "../../src/ir/dtype.ts";
import { type Node, operatorOf, type Value } from "../../src/ir/model.ts";
import { permuted, type View } from "../ir/view.ts";
import { lowerRows } from "../lower/normalization-rows.ts";
import { PatternGraph } from "./graph.ts";
import type { Macro, MacroContext } from "./macro.ts";

interface RowNorm {
  readonly x: Value;
  /** Normalized together. */
  readonly axes: readonly number[];
  readonly isRms: boolean;
  readonly epsilon: number;
  readonly scale: Value | undefined;
  readonly bias: Value | undefined;
}

export function recogniseRowNorm(scope: Scope): readonly Macro[] {
  const graph = PatternGraph.of(scope);
  return graph.nodes().flatMap((node) => macroFrom(node, graph) ?? []);
}

/** `node` takes the root of the variance. */
function macroFrom(node: Node, graph: PatternGraph): Macro | undefined {
  const root = rootOf(node, graph);
  const statistics = root && statisticsBefore(root.variance, graph);
  if (root === undefined || statistics === undefined) return undefined;
  const { x, axes, centred, isRms, epsilon } = statistics;
  const quotient = quotientBehind(root, centred, graph);
  if (quotient === undefined) return undefined;
  const fits = (value: Value) => isAlong(value, x, new Set(axes), graph);
  const inner = [...statistics.nodes, node, ...quotient.nodes];
  const wide = widened(x, inner, graph);
  const tail = tailBehind(quotient.value, fits, wide !== undefined, graph);
  // A declaration may contradict what is computed.
  if (graph.shape(tail.value)?.join() !== graph.shape(x)?.join()) return undefined;
  const nodes = graph.closed([...(wide?.nodes ?? []), ...inner, ...tail.nodes], tail.value);
  const norm = { ...{ axes, isRms, epsilon }, x: wide?.value ?? x, scale: tail.scale, bias: tail.bias };
  return (
    nodes && {
      name: isRms ? "RMSNormalization" : "LayerNormalization",
      nodes,
      output: tail.value,
      lower: (context) => lowerNorm(context, norm),
    }
  );
}

/** Halves that are normalized as float32: the kernel computes so in any case. Undefined where others read the floats. */
function widened(x: Value, inner: readonly Node[], graph: PatternGraph): Step | undefined {
  const cast = graph.producerOf(x);
  const [value] = cast?.inputs ?? [];
  const isCast = cast !== undefined && value !== undefined && operatorOf(cast) === "Cast";
  if (!isCast || graph.dtype(x) !== "float32" || !isHalf(graph.dtype(value)) || x.isOutput) return undefined;
  const own = new Set(inner);
  return graph.readersOf(x).every((reader) => own.has(reader)) ? { value, nodes: [cast] } : undefined;
}

interface Parameters extends Step {
  readonly scale: Value | undefined;
  readonly bias: Value | undefined;
}

/** Scale and shift; where `narrows`, behind a cast back to halves as well, as exporters of RMSNorm write it. */
function tailBehind(
  value: Value,
  fits: (parameter: Value) => boolean,
  narrows: boolean,
  graph: PatternGraph,
): Parameters {
  const scaled = tailOf(value, "Mul", fits, graph);
  const shifted = tailOf(scaled.value, "Add", fits, graph);
  const [scale, bias] = [scaled.parameter, shifted.parameter];
  const own = { value: shifted.value, scale, bias, nodes: [...scaled.nodes, ...shifted.nodes] };
  const cast = narrows ? graph.onlyReader(shifted.value) : undefined;
  const [narrow] = cast?.outputs ?? [];
  if (cast === undefined || narrow === undefined || operatorOf(cast) !== "Cast") return own;
  if (!isHalf(graph.dtype(narrow))) return own;
  const rest = scale === undefined && bias === undefined ? tailBehind(narrow, fits, false, graph) : undefined;
  const nodes = [...own.nodes, cast, ...(rest?.nodes ?? [])];
  return { value: rest?.value ?? narrow, scale: scale ?? rest?.scale, bias: bias ?? rest?.bias, nodes };
}

const isHalf = (dtype: DType | undefined): boolean => dtype === "float16" || dtype === "bfloat16";

interface Root {
  /** Variance and epsilon. */
  readonly variance: Value;
  readonly result: Value;
  readonly isInverse: boolean;
}

function rootOf(node: Node, graph: PatternGraph): Root | undefined {
  const [variance, exponent] = node.inputs;
  const [result] = node.outputs;
  if (variance === undefined || result === undefined) return undefined;
  if (operatorOf(node) === "Sqrt") return { variance, result, isInverse: false };
  const power = operatorOf(node) === "Pow" ? graph.number(exponent) : undefined;
  return power === 0.5 || power === -0.5 ? { variance, result, isInverse: power < 0 } : undefined;
}

interface Statistics {
  readonly x: Value;
  readonly axes: readonly number[];
  /** What is divided by the root: x, or its distance from the mean. */
  readonly centred: Value;
  readonly isRms: boolean;
  readonly epsilon: number;
  readonly nodes: readonly Node[];
}

/** mean(centred²) + epsilon. */
function statisticsBefore(value: Value, graph: PatternGraph): Statistics | undefined {
  const add = graph.innerProducer(value, "Add");
  const [left, right] = add?.inputs ?? [];
  const epsilon = graph.number(right) ?? graph.number(left);
  const mean = graph.innerProducer(graph.number(right) === undefined ? right : left, "ReduceMean");
  const axes = mean && meanAxes(mean, graph);
  const square = graph.innerProducer(mean?.inputs[0], "Pow", "Mul");
  const centred = square && squared(square, graph);
  if (add === undefined || epsilon === undefined || mean === undefined || axes === undefined)
    return undefined;
  if (square === undefined || centred === undefined || !graph.isFloat(centred)) return undefined;
  const nodes = [add, mean, square];
  const sub = graph.producerOf(centred);
  const [x, average] = sub !== undefined && operatorOf(sub) === "Sub" ? sub.inputs : [];
  const outer = graph.innerProducer(average, "ReduceMean");
  const isCentred =
    x !== undefined && outer?.inputs[0] === x && sameAxes(meanAxes(outer, graph), axes) && graph.isFloat(x);
  if (!isCentred || sub === undefined) {
    return { x: centred, axes, centred, isRms: true, epsilon, nodes };
  }
  return { x, axes, centred, isRms: false, epsilon, nodes: [...nodes, sub, outer] };
}

function squared(node: Node, graph: PatternGraph): Value | undefined {
  const [base, other] = node.inputs;
  const isSquare = operatorOf(node) === "Pow" ? graph.number(other) === 2 : base === other;
  return isSquare ? base : undefined;
}

/** Axes, not negative and in order; undefined where they do not stay as single elements. */
function meanAxes(node: Node, graph: PatternGraph): readonly number[] | undefined {
  const rank = graph.shape(node.inputs[0])?.length;
  const given =
    node.inputs[1] === undefined
      ? intsAttributeIn(node, "axes", graph.scope)
      : graph.elements(node.inputs[1]);
  if (
    rank === undefined ||
    given === undefined ||
    given.length === 0 ||
    intAttributeIn(node, "keepdims", graph.scope) === 0
  )
    return undefined;
  return given.map((axis) => (axis < 0 ? axis + rank : axis)).sort((a, b) => a - b);
}

function sameAxes(a: readonly number[] | undefined, b: readonly number[]): boolean {
  return a !== undefined && a.length === b.length && a.every((axis, index) => axis === b[index]);
}

interface Step {
  readonly value: Value;
  readonly nodes: readonly Node[];
}

/** centred / root, or centred · (1 / root). */
function quotientBehind({ result, isInverse }: Root, centred: Value, graph: PatternGraph): Step | undefined {
  const reader = graph.onlyReader(result);
  const [output] = reader?.outputs ?? [];
  if (reader === undefined || output === undefined) return undefined;
  const [a, b] = reader.inputs;
  const operator = operatorOf(reader);
  const isPair = (a === centred && b === result) || (a === result && b === centred);
  if (isInverse) return operator === "Mul" && isPair ? { value: output, nodes: [reader] } : undefined;
  if (operator === "Div" && a === centred && b === result) return { value: output, nodes: [reader] };
  const isReciprocal =
    operator === "Reciprocal" || (operator === "Div" && b === result && graph.number(a) === 1);
  const rest = isReciprocal
    ? quotientBehind({ variance: result, result: output, isInverse: true }, centred, graph)
    : undefined;
  return rest && { value: rest.value, nodes: [reader, ...rest.nodes] };
}

interface Tail extends Step {
  readonly parameter: Value | undefined;
}

/** The value behind a product (or sum) with a parameter that fits, where that is all that reads it. */
export function tailOf(
  value: Value,
  operator: "Mul" | "Add",
  fits: (parameter: Value) => boolean,
  graph: PatternGraph,
): Tail {
  const reader = graph.onlyReader(value);
  const [a, b] = reader?.inputs ?? [];
  const parameter = a === value ? b : a;
  const output = reader?.outputs[0];
  const isTail =
    reader !== undefined &&
    output !== undefined &&
    parameter !== undefined &&
    operatorOf(reader) === operator &&
    a !== b &&
    fits(parameter);
  return isTail ? { value: output, parameter, nodes: [reader] } : { value, parameter: undefined, nodes: [] };
}

/** Whether a value, broadcast to x, differs along these axes alone. */
function isAlong(value: Value, x: Value, axes: ReadonlySet<number>, graph: PatternGraph): boolean {
  const [own, whole] = [graph.shape(value), graph.shape(x)];
  if (own === undefined || whole === undefined || own.length > whole.length || !graph.isFloat(value))
    return false;
  const missing = whole.length - own.length;
  return own.every((size, at) => size === 1 || (axes.has(at + missing) && size === whole[at + missing]));
}

function lowerNorm(context: MacroContext, { x, axes, isRms, epsilon, scale, bias }: RowNorm): void {
  const given = context.view(x);
  const rank = given.shape.length;
  const kept = [...given.shape.keys()].filter((axis) => !axes.includes(axis));
  const order = [...kept, ...axes];
  const parameter = (value: Value | undefined) => value && alongAxes(context.view(value), axes, rank);
  const inOrder = (wanted: readonly number[] | undefined) => wanted?.map((axis) => order[axis] ?? axis);
  const codes = context.codesBehind();
  lowerRows(context, {
    x: permuted(given, order),
    first: kept.length,
    scale: parameter(scale),
    bias: parameter(bias),
    isRms,
    epsilon,
    output: (wanted) => permuted(context.output(inOrder(wanted)), order),
    codes: codes && { ...codes, output: (wanted) => permuted(codes.output(inOrder(wanted)), order) },
  });
}

/** A parameter with one axis for each of `axes` of a value of `rank` that it is broadcast to. */
function alongAxes(view: View, axes: readonly number[], rank: number): View {
  const missing = rank - view.shape.length;
  const pick = (list: readonly number[], fill: number) => axes.map((axis) => list[axis - missing] ?? fill);
  return { ...view, shape: pick(view.shape, 1), strides: pick(view.strides, 0) };
}
