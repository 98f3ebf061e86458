/** @file LayerNorm and RMSNorm written out: mean, difference, square, mean, root, quotient, scale and shift. */
import { intAttributeIn, intsAttributeIn } from "../facts/attributes.ts";
import type { Scope } from "../facts/scope.ts";
import type { Node, Value } from "../ir/model.ts";
import { isSquare } from "../ops/ask.ts";
import { volume } from "../ops/work.ts";
import { type Bound, constantElements, sizesOf } from "./values.ts";
import { normWork, WrittenGraph, type WrittenOut } from "./written-out.ts";

/** A norm whatever its sizes are. */
export interface NormPattern extends Pick<WrittenOut, "node" | "scope" | "nodes"> {
  readonly kind: "LayerNorm" | "RMSNorm";
  /** What is normalized, and all that the nodes read but constants. */
  readonly x: Value;
  /** How many of its last axes are normalized together. */
  readonly axes: number;
  /** Without the scale and the shift behind it. */
  readonly core: readonly Node[];
}

export interface WrittenNorm extends WrittenOut, NormPattern {}

/** Those whose sizes are known. */
export function writtenNorms(scope: Scope, context: Bound): WrittenNorm[] {
  return normPatterns(scope).flatMap((norm) => {
    const sizes = sizesOf(norm.x, scope, context);
    const fused = sizes && normWork(norm.x, volume(sizes.slice(-norm.axes)), scope, context);
    return fused === undefined ? [] : [{ ...norm, fused }];
  });
}

/** Prices, relations of axes and lanes ask for those of the same graph. */
const known = new WeakMap<Scope, readonly NormPattern[]>();

/** Recognised by the root of the variance. */
export function normPatterns(scope: Scope): readonly NormPattern[] {
  const found = known.get(scope) ?? foundIn(scope);
  known.set(scope, found);
  return found;
}

function foundIn(scope: Scope): NormPattern[] {
  const graph = new WrittenGraph(scope);
  return graph.nodes("Sqrt", "Pow").flatMap((node) => normAround(node, graph) ?? []);
}

function normAround(root: Node, graph: WrittenGraph): NormPattern | undefined {
  const exponent = root.opType === "Pow" ? graph.number(root.inputs[1]) : 0.5;
  if (exponent !== 0.5 && exponent !== -0.5) return undefined;
  const statistics = statisticsBefore(root.inputs[0], graph);
  if (statistics === undefined) return undefined;
  const { x, centred, axes, kind } = statistics;
  const quotient = quotientBehind(root, centred, exponent < 0, graph);
  const result = quotient?.at(-1)?.outputs[0];
  if (quotient === undefined || result === undefined) return undefined;
  const scaled = parameterBehind(result, "Mul", graph);
  const shifted = parameterBehind(scaled?.outputs[0] ?? result, "Add", graph);
  const tail = [scaled, shifted].filter((each) => each !== undefined);
  const core = [...statistics.nodes, root, ...quotient];
  const nodes = graph.closed([...core, ...tail]);
  return nodes && { node: root, scope: graph.scope, nodes, kind, x, axes, core };
}

interface Statistics extends Pick<NormPattern, "kind" | "x" | "axes" | "nodes"> {
  /** What is divided by the root: x, or its distance from the mean. */
  readonly centred: Value;
}

/** mean(centred²) + epsilon. */
function statisticsBefore(value: Value | undefined, graph: WrittenGraph): Statistics | undefined {
  const add = graph.makerOf(value, "Add");
  const mean = graph.makerOf(add && graph.variable(add), "ReduceMean");
  const square = graph.makerOf(mean?.inputs[0], "Pow", "Mul");
  const [centred] = square?.inputs ?? [];
  if (add === undefined || mean === undefined || square === undefined || centred === undefined)
    return undefined;
  const isSquared = isSquare(square) || graph.number(square.inputs[1]) === 2;
  const axes = lastAxesOf(mean, graph);
  if (!isSquared || axes === undefined) return undefined;
  const nodes = [add, mean, square];
  const sub = graph.makerOf(centred, "Sub");
  const [x, average] = sub?.inputs ?? [];
  const outer = graph.makerOf(average, "ReduceMean");
  if (sub === undefined || x === undefined || outer?.inputs[0] !== x)
    return { kind: "RMSNorm", x: centred, centred, axes, nodes };
  return { kind: "LayerNorm", x, centred, axes, nodes: [...nodes, sub, outer] };
}

/** How many of the last axes a mean is over; undefined for other axes, whose rows do not lie together. */
function lastAxesOf(mean: Node, { scope }: WrittenGraph): number | undefined {
  const [input, axesInput] = mean.inputs;
  const rank = scope.shape(input)?.length;
  const axes =
    axesInput === undefined ? intsAttributeIn(mean, "axes", scope) : constantElements(axesInput, scope);
  if (rank === undefined || axes === undefined || axes.length === 0) return undefined;
  if (intAttributeIn(mean, "keepdims", scope) === 0) return undefined;
  const ordered = axes.map((axis) => (axis < 0 ? axis + rank : axis)).sort((a, b) => a - b);
  return ordered.every((axis, at) => axis === rank - ordered.length + at) ? ordered.length : undefined;
}

/** centred / root, or centred · (1 / root). */
function quotientBehind(
  root: Node,
  centred: Value,
  isInverse: boolean,
  graph: WrittenGraph,
): Node[] | undefined {
  const [result] = root.outputs;
  const reader = graph.readerOf(result, "Div", "Reciprocal", "Mul");
  if (reader === undefined || result === undefined) return undefined;
  const [left, right] = reader.inputs;
  if (isInverse) return reader.opType === "Mul" && reader.inputs.includes(centred) ? [reader] : undefined;
  if (reader.opType === "Div" && left === centred && right === result) return [reader];
  const inverts =
    reader.opType === "Reciprocal" ||
    (reader.opType === "Div" && right === result && graph.number(left) === 1);
  const rest = inverts ? quotientBehind(reader, centred, true, graph) : undefined;
  return rest && [reader, ...rest];
}

function parameterBehind(value: Value, type: "Mul" | "Add", graph: WrittenGraph): Node | undefined {
  const reader = graph.readerOf(value, type);
  return reader !== undefined && graph.variable(reader) === value ? reader : undefined;
}
