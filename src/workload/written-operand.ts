/**
 * @file What ONNX Runtime computes inside a product of matrices that is written beside it: a factor of its operands or of its result (MatMulScaleFusion of
 * matmul_scale_fusion.cc) and the exchange of an operand's last two axes (MatmulTransposeFusion of matmul_transpose_fusion.cc), both at its default level
 * and for its CUDA provider.
 */
import type { Scope } from "../facts/scope.ts";
import type { Node, Value } from "../ir/model.ts";
import { isOneOf, isReshaping, isTranspose, permutationOf } from "../ops/ask.ts";
import { type Bound, sizesOf } from "./values.ts";
import { WrittenGraph } from "./written-out.ts";

/** Nodes that are no kernels of their own. */
export interface FoldedOperands {
  /** Read by products alone, each of which reads through them. */
  readonly before: ReadonlySet<Node>;
  /** The product whose kernel scales its result by each. */
  readonly behind: ReadonlyMap<Node, Node>;
}

/** With the sizes that symbols have. */
class BoundGraph extends WrittenGraph {
  readonly bound: Bound;

  constructor(scope: Scope, bound: Bound) {
    super(scope);
    this.bound = bound;
  }
}

export function foldedOperands(scope: Scope, bound: Bound): FoldedOperands {
  const graph = new BoundGraph(scope, bound);
  const before = new Set<Node>();
  const behind = new Map<Node, Node>();
  const folding = new Set(graph.nodes("MatMul").filter((node) => !hasBias(node, graph)));
  for (const product of folding) {
    for (const operand of product.inputs) foldBefore(operand, graph, { folding, before });
    const scale = graph.readerOf(product.outputs[0], "Mul", "Div");
    if (scale !== undefined && scaled(scale, graph) === product.outputs[0]) behind.set(scale, product);
  }
  return { before, behind };
}

/** Walks from a product to what makes an operand, as far as all that is on the way goes into products. */
function foldBefore(
  operand: Value | undefined,
  graph: BoundGraph,
  { folding, before }: { readonly folding: ReadonlySet<Node>; readonly before: Set<Node> },
): void {
  const views = new Set<Node>();
  let value = operand;
  for (;;) {
    const maker = graph.makerOf(value, "Mul", "Div", "Transpose", "Reshape");
    if (maker === undefined || value === undefined || value.isOutput || before.has(maker)) return;
    const from = readThrough(maker, graph);
    const isShared = graph
      .readersOf(value)
      .some((reader) => !folding.has(reader) && !before.has(reader) && !views.has(reader));
    if (from === undefined || isShared) return;
    (isReshaping(maker) ? views : before).add(maker);
    value = from;
  }
}

/** What a product reads in place of a node's result; undefined where it does not. */
function readThrough(node: Node, graph: BoundGraph): Value | undefined {
  if (isReshaping(node)) return keepsMatrices(node, graph) ? node.inputs[0] : undefined;
  return isTranspose(node) ? exchanged(node, graph) : scaled(node, graph);
}

/** Whether a Reshape splits or joins axes in front of the last two alone. */
function keepsMatrices({ inputs, outputs }: Node, { scope, bound }: BoundGraph): boolean {
  const [from, to] = [inputs[0], outputs[0]].map((value) => value && sizesOf(value, scope, bound));
  if (from === undefined || to === undefined || from.length < 2) return false;
  return [-2, -1].every((axis) => from.at(axis) === to.at(axis));
}

/** What a node multiplies by one number, or divides by it. */
function scaled({ opType, inputs }: Node, graph: WrittenGraph): Value | undefined {
  const [left, right] = inputs;
  const x = isFactor(right, left, graph) ? left : undefined;
  return x === undefined && opType === "Mul" && isFactor(left, right, graph) ? right : x;
}

/** One number, the same in every run, of no more axes than what it scales. */
function isFactor(value: Value | undefined, x: Value | undefined, graph: WrittenGraph): boolean {
  const [sizes, scaledSizes] = [graph.scope.shape(value), graph.scope.shape(x)];
  if (sizes === undefined || scaledSizes === undefined || scaledSizes.length === 0) return false;
  const isOne = sizes.length <= scaledSizes.length && sizes.every((dim) => dim === 1);
  return isOne && graph.isFixed(value) && !graph.isFixed(x);
}

/** What a Transpose takes in, where it exchanges the last two axes. */
function exchanged(node: Node, graph: BoundGraph): Value | undefined {
  const [x] = node.inputs;
  const rank = graph.scope.shape(x)?.length ?? 0;
  const perm = permutationOf(node) ?? Array.from({ length: rank }, (_, at) => rank - 1 - at);
  const isLastTwo = perm.every((from, at) => from === (at < rank - 2 ? at : 2 * rank - 3 - at));
  return rank >= 2 && perm.length === rank && isLastTwo && !isBehindAnother(x, graph) ? x : undefined;
}

/** Its Transpose optimizer, which goes first, brings another to this one and makes one of both: no exchange of two axes. */
function isBehindAnother(x: Value | undefined, graph: BoundGraph): boolean {
  let value = x;
  for (;;) {
    const maker = graph.makerOf(value, "Transpose", "Reshape", "Mul", "Div", ...parting);
    if (maker === undefined) return false;
    if (isTranspose(maker)) return true;
    value = isOneOf(maker, parting) ? maker.inputs[0] : readThrough(maker, graph);
  }
}

const parting = ["Split", "Slice", "Gather", "Squeeze", "Unsqueeze"];

/** What ONNX Runtime makes a Gemm of, which has no factor of operands. */
function hasBias(product: Node, graph: WrittenGraph): boolean {
  const [result] = product.outputs;
  const add = graph.readerOf(result, "Add");
  return add?.inputs.some((value) => value !== result && graph.isFixedRow(value)) === true;
}
