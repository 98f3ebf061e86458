/** @file Where Q, K and V come from: scales, swapped axes and copies for shared heads that attention takes on itself. */
import { intsAttributeIn } from "../../src/facts/attributes.ts";
import { type Node, operatorOf, type Value } from "../../src/ir/model.ts";
import { imaginedView, permuted, reshaped, type View } from "../ir/view.ts";
import { sameSizes } from "./attention-scores.ts";
import type { PatternGraph } from "./graph.ts";

/** An operand as it is to be read. */
export interface Operand {
  readonly value: Value;
  /** Its axes in this order, before anything else. */
  readonly axes?: readonly number[];
  /** Its elements seen in this shape: [..., length, size], or [..., size, length] where they are swapped. */
  readonly shape: readonly number[];
  readonly isSwapped: boolean;
  readonly scale: number;
  /** How many heads read one of its heads. */
  readonly copies: number;
  /** Nodes that are then not needed. */
  readonly nodes: readonly Node[];
}

/** [..., length, size], its axes in this order where they are not. Factors of V stay. */
export function plainOperand(
  value: Value,
  graph: PatternGraph,
  { takesScale, axes }: { readonly takesScale: boolean; readonly axes?: readonly number[] | undefined },
): Operand | undefined {
  const scaled = takesScale ? withoutScale(value, graph) : { value, scale: 1, nodes: [] };
  const sizes = graph.shape(scaled.value);
  const rest = { ...scaled, isSwapped: false, copies: 1 };
  if (sizes === undefined || axes === undefined) return sizes && { ...rest, shape: sizes };
  return sizes.length === axes.length
    ? { ...rest, axes, shape: axes.map((axis) => sizes[axis] ?? 1) }
    : undefined;
}

/** Kᵀ as the product reads it, [..., size, length]: K itself, where a swap of axes made it. */
export function keyOperand(transposed: Value, graph: PatternGraph): Operand | undefined {
  const outer = withoutScale(transposed, graph);
  const shape = graph.shape(outer.value);
  if (shape === undefined || shape.length < 2) return undefined;
  const source = swappedSource(outer.value, shape, graph);
  if (source === undefined) return { ...outer, shape, isSwapped: true, copies: 1 };
  const inner = withoutScale(source.value, graph);
  return {
    value: inner.value,
    shape: swapLast(shape),
    isSwapped: false,
    scale: outer.scale * inner.scale,
    copies: 1,
    nodes: [...outer.nodes, ...source.nodes, ...inner.nodes],
  };
}

export function swapLast(shape: readonly number[]): readonly number[] {
  const [row = 0, column = 0] = shape.slice(-2);
  return [...shape.slice(0, -2), column, row];
}

/** The same operand before its heads were copied for groups of query heads. */
export function withoutCopies(operand: Operand, graph: PatternGraph): Operand {
  const source = operand.isSwapped || operand.axes !== undefined ? undefined : beforeCopies(operand, graph);
  return source === undefined
    ? operand
    : { ...operand, ...source, nodes: [...operand.nodes, ...source.nodes] };
}

interface Scaled {
  readonly value: Value;
  readonly scale: number;
  readonly nodes: readonly Node[];
}

/** The value before products with numbers. */
function withoutScale(value: Value, graph: PatternGraph): Scaled {
  const nodes: Node[] = [];
  let [at, scale] = [value, 1];
  for (;;) {
    const node = graph.innerProducer(at, "Mul", "Div");
    const [a, b] = node?.inputs ?? [];
    if (node === undefined || a === undefined || b === undefined) break;
    const [left, right] = [graph.number(a), graph.number(b)];
    const isDivision = operatorOf(node) === "Div";
    const factor = right ?? (isDivision ? undefined : left);
    const next = right === undefined ? b : a;
    if (factor === undefined || (isDivision && factor === 0)) break;
    if (!sameSizes(graph.shape(next) ?? [], graph.shape(at) ?? [-1])) break;
    scale *= isDivision ? 1 / factor : factor;
    nodes.push(node);
    at = next;
  }
  return { value: at, scale, nodes };
}

const maxChain = 6;

/** The value of which `value` is a copy with the last two axes swapped, by whatever Reshapes and Transposes. */
function swappedSource(
  value: Value,
  shape: readonly number[],
  graph: PatternGraph,
): { value: Value; nodes: readonly Node[] } | undefined {
  const nodes: Node[] = [];
  let [at, best]: [Value, { value: Value; nodes: readonly Node[] } | undefined] = [value, undefined];
  for (let step = 0; step < maxChain; step++) {
    const node = graph.innerProducer(
      at,
      "Transpose",
      "Reshape",
      "Squeeze",
      "Unsqueeze",
      "Flatten",
      "Identity",
    );
    const source = node?.inputs[0];
    if (node === undefined || source === undefined) break;
    nodes.unshift(node);
    at = source;
    if (isSwap(source, nodes, shape, graph)) best = { value: source, nodes: [...nodes] };
  }
  return best;
}

/** Whether the nodes, one after another, do nothing but swap the last two axes of `source`, seen with the axes of `shape`. */
function isSwap(
  source: Value,
  nodes: readonly Node[],
  shape: readonly number[],
  graph: PatternGraph,
): boolean {
  const sizes = graph.shape(source);
  if (sizes === undefined) return false;
  let view: View | undefined = imagined(sizes);
  for (const node of nodes) view = view && through(node, view, graph);
  const last = shape.length - 1;
  const order = [...shape.keys()].with(last, last - 1).with(last - 1, last);
  const swapped = permuted(imagined(swapLast(shape)), order);
  return (
    view !== undefined &&
    sameSizes(view.shape, swapped.shape) &&
    view.strides.every((stride, axis) => view?.shape[axis] === 1 || stride === swapped.strides[axis])
  );
}

/** Its strides tell the axes apart. */
function imagined(shape: readonly number[]): View {
  return imaginedView("uint8", shape);
}

function through(node: Node, view: View, graph: PatternGraph): View | undefined {
  if (operatorOf(node) === "Transpose") {
    return permuted(view, intsAttributeIn(node, "perm", graph.scope) ?? [...view.shape.keys()].reverse());
  }
  const shape = graph.shape(node.outputs[0]);
  return shape && reshaped(view, shape);
}

/** Expand or Tile(Unsqueeze(x)), and mostly a Reshape: [B, kv, length, size] with every head `copies` times. */
function beforeCopies(
  { value, shape }: Operand,
  graph: PatternGraph,
): Pick<Operand, "value" | "shape" | "copies" | "nodes"> | undefined {
  const merge = graph.innerProducer(value, "Reshape");
  const copy = graph.innerProducer(merge === undefined ? value : merge.inputs[0], "Expand", "Tile");
  const apart = graph.innerProducer(copy?.inputs[0], "Unsqueeze", "Reshape");
  const source = apart?.inputs[0];
  if (copy === undefined || apart === undefined || source === undefined) return undefined;
  const [own, wide] = [graph.shape(source), graph.shape(copy.outputs[0])];
  if (own?.length !== 4 || wide?.length !== 5) return undefined;
  const [batch = 0, heads = 0, length = 0, size = 0] = own;
  const copies = wide[2] ?? 0;
  const isCopied =
    sameSizes(graph.shape(apart.outputs[0]) ?? [], [batch, heads, 1, length, size]) &&
    sameSizes(wide, [batch, heads, copies, length, size]) &&
    sameSizes(shape, [batch, heads * copies, length, size]);
  const nodes = [apart, copy, ...(merge === undefined ? [] : [merge])];
  return isCopied ? { value: source, shape: own, copies, nodes } : undefined;
}
