/**
 * @file Attention written out as products, scaling, mask and softmax, recognised as one piece of work.
 *
 * From each Softmax two short searches run: up to the product of queries and keys, down to the product with the
 * values. What lies between may convert, scale, mask, drop, or fold and unfold leading axes, but has to keep the last
 * two axes (queries, keys), apart from swapping them. Both searches are bounded, so the whole is linear in the graph.
 */

import { type Dim, type Shape, sameDim } from "../ir/dim.ts";
import type { Node, Value } from "../ir/model.ts";
import { isOp } from "../ops/ask.ts";
import type { AttentionWork, GemmWork } from "../ops/work.ts";
import { isCausalMask } from "./attention-mask.ts";
import { type Found, mayMeet, type Position, searchDown, searchUp } from "./attention-path.ts";
import { attentionSizes } from "./attention-sizes.ts";
import { intAttributeIn } from "./attributes.ts";
import { opsetOf } from "./context.ts";
import { constantBehind } from "./origin.ts";
import type { Scope } from "./scope.ts";
import { matrixProductOf, operatorIn } from "./works.ts";

export interface DecomposedAttention {
  readonly work: AttentionWork;
  /** Q · Kᵀ. */
  readonly scores: Node;
  readonly softmax: Node;
  /** softmax · V. */
  readonly output: Node;
  /** From scores to output, and the scaling of Q and K before; in graph order. */
  readonly nodes: readonly Node[];
  /** What is added to the scores, or chooses among them; undefined for plain attention. */
  readonly mask: Value | undefined;
  /** Reshapes, transposes and copies that bring Q, K and V to their heads, and those that merge the heads again. */
  readonly around: readonly Node[];
}

export interface AttentionInScope {
  /** By `scores`. */
  readonly found: ReadonlyMap<Node, DecomposedAttention>;
  /** All products that are part of one. */
  readonly covered: ReadonlySet<Node>;
}

export function findAttention(scope: Scope): AttentionInScope {
  const found = new Map<Node, DecomposedAttention>();
  const covered = new Set<Node>();
  for (const node of scope.graph.nodes) {
    if (!isOp(node, "Softmax")) continue;
    const attention = attentionAround(node, scope);
    if (attention === undefined || covered.has(attention.scores) || covered.has(attention.output)) continue;
    found.set(attention.scores, attention);
    covered.add(attention.scores).add(attention.output);
  }
  return { found, covered };
}

function attentionAround(softmax: Node, scope: Scope): DecomposedAttention | undefined {
  const [logits] = softmax.inputs;
  const [weights] = softmax.outputs;
  if (logits === undefined || weights === undefined) return undefined;
  const keysLast = keysAreLast(softmax, scope);
  if (keysLast === undefined) return undefined;
  const up = searchUp({ value: logits, keysLast }, scope, (node, at) =>
    scoreProduct(node, at.keysLast, scope),
  );
  const down = searchDown({ value: weights, keysLast }, scope, (node, at) => valueProduct(node, at, scope));
  if (up === undefined || down === undefined || up.node === down.node) return undefined;
  return assemble({ softmax, scope, up, down });
}

/** Whether softmax runs over the last axis (true) or the one before (false); undefined for anything else. */
function keysAreLast(softmax: Node, scope: Scope): boolean | undefined {
  const rank = scope.shape(softmax.outputs[0])?.length;
  if (rank === undefined || rank < 2) return undefined;
  const opset = opsetOf("", scope);
  // Before opset 13 softmax ran over everything from `axis` on: the same thing only for the last axis.
  const axis = intAttributeIn(softmax, "axis", scope) ?? (opset < 13 ? 1 : -1);
  const fromEnd = axis < 0 ? axis : axis - rank;
  if (fromEnd === -1) return true;
  return fromEnd === -2 && opset >= 13 ? false : undefined;
}

interface Operands {
  readonly work: GemmWork;
  readonly queries: Value;
  readonly keys: Value;
}

/** Q · Kᵀ, its keys computed: constant ones are a classifier's weights. */
function scoreProduct(node: Node, keysLast: boolean, scope: Scope): Operands | undefined {
  const work = matrixProductOf(node, scope);
  const [left, right] = operandsOf(node, scope);
  if (work === undefined || left === undefined || right === undefined) return undefined;
  const [queries, keys] = keysLast ? [left, right] : [right, left];
  return constantBehind(keys, scope) !== undefined ? undefined : { work, queries, keys };
}

interface ValueOperands {
  readonly work: GemmWork;
  readonly values: Value;
}

/** The product that sums over keys, values computed. */
function valueProduct(node: Node, { value, keysLast }: Position, scope: Scope): ValueOperands | undefined {
  const work = matrixProductOf(node, scope);
  const [left, right] = operandsOf(node, scope);
  if (work === undefined || left === undefined || right === undefined || left === right) return undefined;
  const isLeft = left === value;
  if (!isLeft && right !== value) return undefined;
  const values = isLeft ? right : left;
  if (constantBehind(values, scope) !== undefined) return undefined;
  const shape = scope.shape(value);
  const keyLength = shape?.at(keysLast ? -1 : -2);
  if (keyLength === undefined) return undefined;
  // Einsum may name its operands' axes in any order, so that sizes tell; the others sum over the inner ones.
  if (isOp(node, "Einsum")) return sameDim(work.k, keyLength) ? { work, values } : undefined;
  const sumsLast = isLeft ? !work.transA : work.transB;
  return sumsLast === keysLast && mayMeet(work.k, keyLength) ? { work, values } : undefined;
}

function operandsOf(node: Node, scope: Scope): readonly (Value | undefined)[] {
  const [a, b] = operatorIn(node, scope)?.operands ?? [0, 1];
  return [node.inputs[a], node.inputs[b]];
}

interface Parts {
  readonly softmax: Node;
  readonly scope: Scope;
  readonly up: Found<Operands>;
  readonly down: Found<ValueOperands>;
}

function assemble({ softmax, scope, up, down }: Parts): DecomposedAttention | undefined {
  const scoresShape = scope.shape(up.node.outputs[0]);
  if (scoresShape === undefined || scoresShape.length < 2) return undefined;
  const lengths = lastTwo(scoresShape, up.at.keysLast);
  const sizes = attentionSizes({
    scope,
    leading: scoresShape.slice(0, -2),
    ...lengths,
    scores: up.match.work,
    values: down.match.work,
    operands: { queries: up.match.queries, keys: up.match.keys, values: down.match.values },
    result: down.node.outputs[0],
  });
  const masks = up.path.flatMap((step) => step.mask ?? []);
  const work: AttentionWork = {
    kind: "attention",
    ...sizes.work,
    ...lengths,
    causal: masks.some((mask) => isCausalMask(mask, scope, lengths)),
    masked: masks.length > 0,
    dtype: up.match.work.dtype,
  };
  const between = [...up.path, ...down.path].map(({ node }) => node);
  const nodes = inOrder([up.node, softmax, down.node, ...between, ...sizes.scaling]);
  return {
    work,
    scores: up.node,
    softmax,
    output: down.node,
    nodes,
    mask: masks[0]?.value,
    around: inOrder(sizes.around),
  };
}

function lastTwo(shape: Shape, keysLast: boolean): { readonly queryLength: Dim; readonly keyLength: Dim } {
  const [row = 1, column = 1] = shape.slice(-2);
  return keysLast ? { queryLength: row, keyLength: column } : { queryLength: column, keyLength: row };
}

/** Ids follow the file, and a file lists producers first. */
function inOrder(nodes: readonly Node[]): Node[] {
  return [...new Set(nodes)].sort((a, b) => a.id - b.id);
}
