/**
 * @file LinearAttention (ai.onnx 27): a state of [head size, value head size] a head instead of a growing cache.
 *
 * query [B,T,Hq·dk], key [B,T,Hkv·dk], value [B,T,Hkv·dv], past state [B,Hkv,dk,dv].
 */

import { type Dim, mulDims } from "../../ir/dim.ts";
import { textOf } from "../../ir/message.ts";
import { defineOp, type OpContext, type OpDefinition, ShapeError } from "../op.ts";
import { tensor, tensorAt } from "../shape.ts";
import { computes, half, type Traits } from "../traits.ts";
import type { GemmWork } from "../work.ts";
import { splitEvenly } from "./heads.ts";
import { dimAt, multiplyType, requireRank, shared, sharedOr, sharedType } from "./operands.ts";

/** Whether the rule reads the state at the new key before it writes: one more product a token. */
const readsState = new Map([
  ["linear", false],
  ["gated", false],
  ["delta", true],
  ["gated_delta", true],
]);

export function linearAttentionOp(domain: string, traits: Traits): OpDefinition {
  return defineOp({
    domain,
    type: "LinearAttention",
    traits,
    product: true,
    infer(context) {
      const { batch, length, heads, kvHeads, keyDim, valueDim, slots } = sizesOf(context);
      const dtype = operandType(context);
      // With more key than query heads (com.microsoft) each key head has an output of its own.
      const outputHeads = Math.max(heads, kvHeads);
      return [
        tensor(dtype, [batch, length, mulDims(outputHeads, valueDim)]),
        tensor(tensorAt(context, 3).dtype ?? dtype, [...slots, batch, kvHeads, keyDim, valueDim]),
      ];
    },
    work: linearAttentionWork,
  });
}

export const linearAttention = linearAttentionOp("", computes(half(27, 27)));

/** The products of the recurrence, all tokens of a head at once as chunk-parallel kernels carry them out. */
function linearAttentionWork(context: OpContext): readonly GemmWork[] | undefined {
  const dtype = multiplyType(operandType(context));
  if (dtype === undefined) return undefined;
  const { batch, length, heads, kvHeads, keyDim, valueDim } = sizesOf(context);
  const product = (of: Dim, m: Dim, k: Dim, transA: boolean): GemmWork => ({
    kind: "gemm",
    batch: mulDims(batch, of),
    m,
    n: valueDim,
    k,
    transA,
    transB: false,
    sharedB: false,
    dtype,
  });
  const read = product(Math.max(heads, kvHeads), length, keyDim, false);
  const write = product(kvHeads, keyDim, length, true);
  return readsState.get(ruleOf(context))
    ? [read, write, product(kvHeads, length, keyDim, false)]
    : [read, write];
}

function operandType(context: OpContext) {
  return sharedType("query, key and value", tensorAt(context, 0), tensorAt(context, 1), tensorAt(context, 2));
}

function ruleOf(context: OpContext): string {
  const rule = context.string("update_rule") ?? "gated_delta";
  if (!readsState.has(rule)) {
    throw new ShapeError(textOf`update_rule is "${rule}", expected ${[...readsState.keys()].join(", ")}`);
  }
  return rule;
}

function sizesOf(context: OpContext) {
  ruleOf(context);
  const heads = context.int("q_num_heads");
  const kvHeads = context.int("kv_num_heads");
  if (heads === undefined || kvHeads === undefined) {
    throw new ShapeError("the attributes q_num_heads and kv_num_heads are required");
  }
  const operands = (["query", "key", "value"] as const).map((what, at) => {
    const fact = tensorAt(context, at);
    requireRank(fact, [3], what);
    return fact.shape;
  });
  const [query, key, value] = operands;
  const state = tensorAt(context, 3);
  const window = context.int("state_window") ?? 0;
  requireRank(state, [window > 0 ? 5 : 4], "past state");
  const part = (hidden: Dim | undefined, parts: number, what: string) =>
    hidden === undefined ? undefined : splitEvenly(hidden, parts, what);
  return {
    heads,
    kvHeads,
    // com.microsoft keeps the states of the last few tokens, in front of the batch.
    slots: window > 0 ? [window] : [],
    batch: sharedOr("batch", dimAt(query, 0), dimAt(key, 0), dimAt(value, 0), dimAt(state.shape, -4)),
    length: sharedOr("length", dimAt(query, 1), dimAt(key, 1), dimAt(value, 1)),
    keyDim: sharedOr(
      "head size of query, key and past state",
      part(dimAt(query, 2), heads, "query"),
      part(dimAt(key, 2), kvHeads, "key"),
      dimAt(state.shape, -2),
    ),
    valueDim: sharedOr(
      "head size of value and past state",
      shared("value", part(dimAt(value, 2), kvHeads, "value")),
      dimAt(state.shape, -1),
    ),
  };
}
