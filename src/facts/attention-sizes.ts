/** @file Batch, heads and head sizes of attention written out, read off the axes its operands went through. */
import { type Dim, divideExactly, mulDims, product, type Shape, sameDim, unknownDim } from "../ir/dim.ts";
import type { Node, Value } from "../ir/model.ts";
import { isOp, isView } from "../ops/ask.ts";
import type { AttentionWork, GemmWork } from "../ops/work.ts";
import type { Scope } from "./scope.ts";

export interface AttentionSizesInput {
  readonly scope: Scope;
  /** Axes of the scores before queries and keys. */
  readonly leading: Shape;
  readonly queryLength: Dim;
  readonly scores: GemmWork;
  readonly values: GemmWork;
  readonly operands: { readonly queries: Value; readonly keys: Value; readonly values: Value };
  /** softmax · V. */
  readonly result: Value | undefined;
}

export interface AttentionSizes {
  readonly work: Pick<AttentionWork, "batch" | "heads" | "kvHeads" | "headDim" | "valueHeadDim">;
  /** Products of Q and K with a number. */
  readonly scaling: readonly Node[];
  /** Reshapes, transposes and copies before Q, K and V and behind the result. */
  readonly around: readonly Node[];
}

export function attentionSizes(input: AttentionSizesInput): AttentionSizes {
  const { scope, leading, queryLength, scores, values } = input;
  const queries = operandChain(input.operands.queries, scope);
  const keys = operandChain(input.operands.keys, scope);
  const valueChain = operandChain(input.operands.values, scope);
  const merge = resultChain(input.result, scope);
  const chains = [queries, keys, valueChain];
  const { batch, heads } = headsOf(input, [...chains.flatMap(({ moves }) => moves), ...merge], scope);
  const rows = product([...leading, queryLength]);
  const valueHeadDim = divideExactly(product([values.batch, values.m, values.n]), rows) ?? unknownDim();
  return {
    work: {
      batch,
      heads,
      kvHeads: kvHeadsOf(input, heads, keys.moves, scope),
      headDim: scores.k,
      valueHeadDim,
    },
    scaling: [...queries.scaling, ...keys.scaling],
    around: [...chains.flatMap(({ moves }) => moves), ...merge],
  };
}

interface Chain {
  /** Views and copies, the nearest first. */
  readonly moves: readonly Node[];
  readonly scaling: readonly Node[];
}

/** Nodes that are looked through on a way to or from attention. */
export const maxChain = 16;
const repeating: ReadonlySet<string> = new Set(["Expand", "Tile"]);

/** What lies between a projection and the product that reads it. */
function operandChain(operand: Value, scope: Scope): Chain {
  const moves: Node[] = [];
  const scaling: Node[] = [];
  let value: Value | undefined = operand;
  for (let step = 0; step < maxChain && value !== undefined; step++) {
    const node: Node | undefined = value.producer;
    if (node === undefined || node.graph !== scope.graph || node.domain !== "") break;
    const scaled = scaledInput(node, scope);
    if (scaled !== undefined) scaling.push(node);
    else if (isView(node) || repeating.has(node.opType)) moves.push(node);
    else break;
    value = scaled ?? node.inputs[0];
  }
  return { moves, scaling };
}

/** The input that a node multiplies with, or divides by, one number. */
function scaledInput(node: Node, scope: Scope): Value | undefined {
  const isNumber = (value: Value | undefined) => scope.shape(value)?.every((dim) => dim === 1) ?? false;
  const [a, b] = node.inputs;
  if (isOp(node, "Mul") || isOp(node, "Div")) {
    if (isNumber(b)) return a;
    if (isNumber(a) && isOp(node, "Mul")) return b;
  }
  return undefined;
}

/** Views behind a result, while one node alone reads them; the nearest first. */
export function resultChain(result: Value | undefined, scope: Scope): Node[] {
  const moves: Node[] = [];
  let value = result;
  for (let step = 0; step < maxChain && value?.consumers.length === 1; step++) {
    const [node]: readonly Node[] = value.consumers;
    if (node === undefined || node.graph !== scope.graph || !isView(node)) break;
    moves.push(node);
    value = node.outputs[0];
  }
  return moves;
}

interface Heads {
  readonly batch: Dim;
  readonly heads: Dim;
}

/** The last leading axis counts heads, unless batch and heads are one axis, which a Reshape nearby may tell apart. */
function headsOf({ leading, operands }: AttentionSizesInput, moves: readonly Node[], scope: Scope): Heads {
  const last = leading.at(-1);
  if (last === undefined) return { batch: 1, heads: 1 };
  if (leading.length === 1) return mergedHeads(last, moves, scope) ?? { batch: last, heads: 1 };
  const rest = leading.slice(0, -1);
  // [batch, kvHeads, group, queries, keys]: every group reads the same keys.
  const group = keyLeading(operands.keys, scope)?.at(-1);
  const groupOwner = rest.at(-1);
  if (leading.length >= 3 && group === 1 && last !== 1 && groupOwner !== undefined) {
    return { batch: product(rest.slice(0, -1)), heads: mulDims(groupOwner, last) };
  }
  return { batch: product(rest), heads: last };
}

function mergedHeads(merged: Dim, moves: readonly Node[], scope: Scope): Heads | undefined {
  for (const node of moves) {
    if (!isOp(node, "Reshape")) continue;
    const shapes = [scope.shape(node.inputs[0]), scope.shape(node.outputs[0])];
    const folded = shapes.find((shape) => shape?.length === 3);
    const [batch, heads] = shapes.find((shape) => shape?.length === 4) ?? [];
    if (folded === undefined || batch === undefined || heads === undefined) continue;
    if (sameDim(folded[0] ?? -1, merged) && sameDim(mulDims(batch, heads), merged)) return { batch, heads };
  }
  return undefined;
}

function keyLeading(keys: Value, scope: Scope): Shape | undefined {
  return scope.shape(keys)?.slice(0, -2);
}

/** Fewer than heads where keys are shared by groups of heads: by broadcasting, or by copies made before. */
function kvHeadsOf(
  { leading, operands }: AttentionSizesInput,
  heads: Dim,
  moves: readonly Node[],
  scope: Scope,
): Dim {
  const own = keyLeading(operands.keys, scope);
  const last = leading.at(-1);
  if (own?.at(-1) === 1 && last !== undefined && last !== 1) {
    return leading.length >= 3 ? (leading.at(-2) ?? 1) : 1;
  }
  for (const node of moves) {
    const before = copiedFrom(node, heads, scope);
    if (before !== undefined) return before;
  }
  return heads;
}

/** How many heads there were before a node copied them, where that is what it does. */
function copiedFrom(node: Node, heads: Dim, scope: Scope): Dim | undefined {
  if (!isOp(node, "Expand") && !isOp(node, "Tile")) return undefined;
  const [from, to] = [scope.shape(node.inputs[0]), scope.shape(node.outputs[0])];
  if (from === undefined || to === undefined || from.length !== to.length) return undefined;
  const grown = to.flatMap((dim, axis) => (sameDim(dim, from[axis] ?? -1) ? [] : [axis]));
  const [axis, ...more] = grown;
  // Axis 0 is the batch.
  if (axis === undefined || axis === 0 || more.length > 0 || from[axis] !== 1) return undefined;
  const copies = to[axis] ?? 1;
  const owner = from[axis - 1] ?? 1;
  if (axis >= 2 && sameDim(mulDims(owner, copies), heads)) return owner;
  return sameDim(copies, heads) ? 1 : undefined;
}
