/**
 * @file Slices and single elements of one value that together are all of it: what ONNX Runtime makes one Split of
 * (gather_fusion.cc, GatherSliceToSplitFusion, at the default level).
 */
import { NodeContext } from "../facts/context.ts";
import type { Scope } from "../facts/scope.ts";
import { attributeOf } from "../ir/attributes.ts";
import type { Node, Value } from "../ir/model.ts";
import { isOp } from "../ops/ask.ts";
import { clampedBounds } from "../ops/movement/slice-extent.ts";
import { extentOf, passOver } from "./extent.ts";
import { type Bound, constantElements } from "./values.ts";
import { WrittenGraph, type WrittenOut } from "./written-out.ts";

/** The schemas that the transformer knows begin here. */
const leastOpset = 13;

export function writtenSplits(scope: Scope, { bindings }: Bound): WrittenOut[] {
  const graph = new WrittenGraph(scope);
  const found: WrittenOut[] = [];
  const seen = new Set<Value>();
  for (const node of graph.nodes("Slice", "Gather")) {
    const [of] = node.inputs;
    if (of === undefined || seen.has(of) || graph.isFixed(of)) continue;
    seen.add(of);
    const nodes = partsOf(of, graph);
    const extent = nodes && extentOf(scope.fact(of), bindings);
    if (nodes && extent) found.push({ node, scope, nodes, fused: passOver(extent, "copy") });
  }
  return found;
}

/** In graph order; undefined where they overlap, leave something out, or something else is taken of the value. */
function partsOf(of: Value, graph: WrittenGraph): readonly Node[] | undefined {
  const { scope } = graph;
  if (of.producer !== undefined && (of.producer.outputs.length > 1 || isOp(of.producer, "Shape")))
    return undefined;
  const nodes = graph.readersOf(of).filter((node) => isOp(node, "Slice", "Gather") && node.inputs[0] === of);
  const parts = nodes.map((node) => partOf(node, of, scope));
  const axis = parts[0]?.axis;
  const taken: (readonly [from: number, to: number])[] = [];
  for (const part of parts) {
    if (part === undefined || part.axis !== axis) return undefined;
    taken.push([part.from, part.to]);
  }
  if (nodes.length < 2 || nodes.some((node) => node.graph !== scope.graph)) return undefined;
  taken.sort(([a], [b]) => a - b);
  const isWhole = taken.every(([from], index) => from === (taken[index - 1]?.[1] ?? 0));
  const ends = isWhole && taken.at(-1)?.[1] === parts[0]?.size;
  return ends ? nodes.toSorted((a, b) => a.id - b.id) : undefined;
}

interface Part {
  readonly axis: number;
  /** Of the axis. */
  readonly size: number;
  readonly from: number;
  readonly to: number;
}

/** What is taken, where the file says so in numbers: one range of one axis. */
function partOf(node: Node, of: Value, scope: Scope): Part | undefined {
  const fact = scope.fact(of);
  const shape = fact?.kind === "tensor" ? fact.shape : undefined;
  if (shape === undefined || new NodeContext(node, scope, []).opset < leastOpset) return undefined;
  const range = isOp(node, "Slice") ? sliceOf(node, scope) : elementOf(node, scope);
  if (range === undefined) return undefined;
  const axis = range.axis < 0 ? range.axis + shape.length : range.axis;
  const size = shape[axis];
  if (typeof size !== "number") return undefined;
  const [from, end] = clampedBounds(size, range.start, range.end ?? size, 1);
  const to = range.end === undefined ? from + 1 : end;
  return from < to && to <= size ? { axis, size, from, to } : undefined;
}

interface Range {
  readonly axis: number;
  readonly start: number;
  /** Undefined for one element. */
  readonly end: number | undefined;
}

function sliceOf({ inputs }: Node, scope: Scope): Range | undefined {
  const [start, end, axis] = [1, 2, 3].map((at) => only(inputs[at], scope));
  const isDense = inputs[4] === undefined || only(inputs[4], scope) === 1;
  return start === undefined || end === undefined || axis === undefined || !isDense
    ? undefined
    : { axis, start, end };
}

function elementOf(node: Node, scope: Scope): Range | undefined {
  const start = only(node.inputs[1], scope);
  const axis = attributeOf(node, "axis");
  return start === undefined
    ? undefined
    : { axis: axis?.type === "int" ? axis.value : 0, start, end: undefined };
}

/** The one element of a constant. */
function only(value: Value | undefined, scope: Scope): number | undefined {
  const elements = constantElements(value, scope);
  return elements?.length === 1 ? elements[0] : undefined;
}
