/** @file LayerNorm and RMSNorm written out: mean, difference, square, mean, root, quotient, scale and shift. */
import { intAttributeIn, intsAttributeIn } from "../facts/attributes.ts";
import type { Scope } from "../facts/scope.ts";
import type { Node, Value } from "../ir/model.ts";
import { isSquare } from "../ops/ask.ts";
import { volume } from "../ops/work.ts";
import { type Bound, constantElements, sizesOf } from "./values.ts";
import { normWork, WrittenGraph, type WrittenOut } from "./written-out.ts";

export interface WrittenNorm extends WrittenOut {
  readonly kind: "LayerNorm" | "RMSNorm";
  /** Without the scale and the shift behind it. */
  readonly core: readonly Node[];
}

/** Recognised by the root of the variance. */
export function writtenNorms(scope: Scope, context: Bound): WrittenNorm[] {
  const graph = new WrittenGraph(scope);
  return graph.nodes("Sqrt", "Pow").flatMap((node) => normAround(node, graph, context) ?? []);
}

function normAround(root: Node, graph: WrittenGraph, context: Bound): WrittenNorm | undefined {
  const exponent = root.opType === "Pow" ? graph.number(root.inputs[1]) : 0.5;
  if (exponent !== 0.5 && exponent !== -0.5) return undefined;
  const statistics = statisticsBefore(root.inputs[0], graph, context);
  if (statistics === undefined) return undefined;
  const { x, centred, columns, kind } = statistics;
  const quotient = quotientBehind(root, centred, exponent < 0, graph);
  const result = quotient?.at(-1)?.outputs[0];
  if (quotient === undefined || result === undefined) return undefined;
  const scaled = parameterBehind(result, "Mul", graph);
  const shifted = parameterBehind(scaled?.outputs[0] ?? result, "Add", graph);
  const tail = [scaled, shifted].filter((each) => each !== undefined);
  const core = [...statistics.nodes, root, ...quotient];
  const nodes = graph.closed([...core, ...tail]);
  const fused = normWork(x, columns, graph.scope, context);
  return nodes && fused && { node: root, scope: graph.scope, nodes, fused, kind, core };
}

interface Statistics {
  readonly kind: WrittenNorm["kind"];
  readonly x: Value;
  /** What is divided by the root: x, or its distance from the mean. */
  readonly centred: Value;
  /** Elements that are normalized together. */
  readonly columns: number;
  readonly nodes: readonly Node[];
}

/** mean(centred²) + epsilon. */
function statisticsBefore(
  value: Value | undefined,
  graph: WrittenGraph,
  context: Bound,
): Statistics | undefined {
  const add = graph.makerOf(value, "Add");
  const mean = graph.makerOf(add && graph.variable(add), "ReduceMean");
  const square = graph.makerOf(mean?.inputs[0], "Pow", "Mul");
  const [centred] = square?.inputs ?? [];
  if (add === undefined || mean === undefined || square === undefined || centred === undefined)
    return undefined;
  const isSquared = isSquare(square) || graph.number(square.inputs[1]) === 2;
  const columns = columnsOf(mean, graph, context);
  if (!isSquared || columns === undefined) return undefined;
  const nodes = [add, mean, square];
  const sub = graph.makerOf(centred, "Sub");
  const [x, average] = sub?.inputs ?? [];
  const outer = graph.makerOf(average, "ReduceMean");
  if (sub === undefined || x === undefined || outer?.inputs[0] !== x)
    return { kind: "RMSNorm", x: centred, centred, columns, nodes };
  return { kind: "LayerNorm", x, centred, columns, nodes: [...nodes, sub, outer] };
}

/** Elements of the last axes that a mean is over; undefined for other axes, whose rows do not lie together. */
function columnsOf(mean: Node, graph: WrittenGraph, context: Bound): number | undefined {
  const { scope } = graph;
  const [input, axesInput] = mean.inputs;
  const sizes = input === undefined ? undefined : sizesOf(input, scope, context);
  const axes =
    axesInput === undefined ? intsAttributeIn(mean, "axes", scope) : constantElements(axesInput, scope);
  if (sizes === undefined || axes === undefined || axes.length === 0) return undefined;
  if (intAttributeIn(mean, "keepdims", scope) === 0) return undefined;
  const rank = sizes.length;
  const ordered = axes.map((axis) => (axis < 0 ? axis + rank : axis)).sort((a, b) => a - b);
  const areLast = ordered.every((axis, at) => axis === rank - ordered.length + at);
  return areLast ? volume(sizes.slice(rank - ordered.length)) : undefined;
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
