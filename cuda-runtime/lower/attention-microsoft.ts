/** @file MultiHeadAttention and Attention of com.microsoft; GroupQueryAttention has a file of its own. */

import { plainEpilogue } from "../ir/epilogue.ts";
import type { Expr } from "../ir/expr.ts";
import { isFloatStorage } from "../ir/storage.ts";
import { expanded, permuted, reshaped, sliced, type View } from "../ir/view.ts";
import { type AttentionRequest, unlimited } from "../kernels/attention/attention.ts";
import { emitGemm } from "../kernels/gemm/gemm.ts";
import { groupQueryAttention } from "./attention-grouped.ts";
import {
  asOneType,
  attend,
  headsApart,
  insertedBatch,
  joined,
  maskView,
  setResult,
  sumOfMasks,
} from "./attention-operands.ts";
import type { Lower, LowerContext, LowerTable } from "./context.ts";
import { reshapedOrCopied } from "./movement-arguments.ts";

/** [batch, heads, length, size] each. */
interface Operands {
  readonly q: View;
  readonly k: View;
  readonly v: View;
}

/** query, key, value, bias, key padding mask, attention bias, past K, past V; gives Y, present K, present V. */
const multiHeadAttention: Lower = (context) => {
  refuse(context, [8, 9], [3]);
  const heads = context.int("num_heads") ?? context.fail("the attribute num_heads is missing");
  const fresh = withBias(
    context,
    separateOperands(context, heads),
    context.hasInput(3) ? context.input(3) : undefined,
  );
  finish(context, fresh, {
    pastKey: context.hasInput(6) ? context.input(6) : undefined,
    pastValue: context.hasInput(7) ? context.input(7) : undefined,
    padding: context.hasInput(4) ? 4 : undefined,
    bias: context.hasInput(5) ? 5 : undefined,
    present: (k, v) => {
      context.setOutput(1, k);
      context.setOutput(2, v);
    },
  });
};

function refuse(context: LowerContext, inputs: readonly number[], outputs: readonly number[]): void {
  for (const index of inputs)
    if (context.hasInput(index)) context.fail(`input ${index} is given, which the runtime does not take`);
  for (const index of outputs)
    if (context.hasOutput(index)) context.fail(`output ${index} is read, which the runtime does not compute`);
}

/** Q, K and V in one, two or three operands. */
function separateOperands(context: LowerContext, heads: number): Operands {
  const query = context.input(0);
  if (!context.hasInput(1)) {
    const [batch = 1, length = 1] = query.shape;
    const parts =
      query.shape.length === 5
        ? query
        : reshapedOrCopied(context, query, [batch, length, 3, heads, (query.shape[2] ?? 0) / 3 / heads]);
    const axis = query.shape.length === 5 ? 3 : 2;
    const part = (index: number) => permuted(withoutAxis(sliced(parts, axis, index, 1), axis), [0, 2, 1, 3]);
    return { q: part(0), k: part(1), v: part(2) };
  }
  const q = headsApart(context, query, heads);
  const key = context.input(1);
  if (key.shape.length === 5) {
    const part = (index: number) => permuted(withoutAxis(sliced(key, 3, index, 1), 3), [0, 2, 1, 3]);
    return { q, k: part(0), v: part(1) };
  }
  return { q, k: headsApart(context, key, heads), v: headsApart(context, context.input(2), heads) };
}

function withoutAxis(view: View, axis: number): View {
  return { ...view, shape: view.shape.toSpliced(axis, 1), strides: view.strides.toSpliced(axis, 1) };
}

/** Biases of queries, keys and values stand behind each other. Caches as operands have theirs already. */
function withBias(context: LowerContext, { q, k, v }: Operands, bias: View | undefined): Operands {
  if (bias === undefined) return { q, k, v };
  let start = 0;
  const added = (view: View): View => {
    const [, heads = 1, , size = 1] = view.shape;
    const part = reshapedOrCopied(context, sliced(bias, 0, start, heads * size), [1, heads, 1, size]);
    start += heads * size;
    const sum: Expr = { kind: "binary", type: "f32", op: "add", args: [load(view), load(part)] };
    return context.evaluate(sum, view.shape, view.type, [0, 2, 1, 3]);
  };
  const isCache = context.hasInput(1) && context.inputShape(1).length === 4;
  const sumOfQ = added(q);
  return isCache ? { q: sumOfQ, k, v } : { q: sumOfQ, k: added(k), v: added(v) };
}

function load(view: View): Expr {
  return { kind: "load", type: "f32", view };
}

interface Rest {
  readonly pastKey: View | undefined;
  readonly pastValue: View | undefined;
  /** Inputs that hold a padding mask, and what is added to the scores. */
  readonly padding: number | undefined;
  readonly bias: number | undefined;
  readonly present: (k: View, v: View) => void;
}

function finish(context: LowerContext, fresh: Operands, rest: Rest): void {
  const [q, newK, newV] = asOneType(context, [fresh.q, fresh.k, fresh.v]);
  if (q === undefined || newK === undefined || newV === undefined) return context.fail("expected Q, K and V");
  const k = rest.pastKey === undefined ? newK : joined(context, rest.pastKey, newK);
  const v = rest.pastValue === undefined ? newV : joined(context, rest.pastValue, newV);
  rest.present(k, v);
  const [batch = 1, heads = 1, queries = 1, dim = 1] = q.shape;
  const keys = k.shape[2] ?? 0;
  const shape = [batch, heads, queries, keys] as const;
  const padding = rest.padding === undefined ? {} : paddingMask(context, rest.padding, shape);
  const bias = rest.bias === undefined ? [] : [maskView(context.input(rest.bias), shape)];
  const request: Omit<AttentionRequest, "o"> = {
    q,
    k,
    v,
    bias: sumOfMasks(context, [...bias, ...(padding.bias === undefined ? [] : [padding.bias])]),
    keyCounts: padding.keyCounts,
    scale: scaleOf(context, dim),
    softcap: context.float("softcap") ?? 0,
    // The last query stands at the last key.
    position: keys - queries,
    left: unlimited,
    right: context.int("unidirectional") === 1 ? 0 : unlimited,
    emptyRows: "nan",
  };
  setResult(context, attend(context, request, context.outputType(0)));
}

/** 0 stands for the default. */
function scaleOf(context: LowerContext, dim: number): number {
  const scale = context.float("scale") ?? 0;
  return scale === 0 ? 1 / Math.sqrt(dim) : scale;
}

interface Padding {
  readonly bias?: View;
  readonly keyCounts?: View;
}

/** Lengths [batch], or flags [batch, keys] or [batch, queries, keys], 0 for what is left out. */
function paddingMask(
  context: LowerContext,
  index: number,
  [batch, heads, queries, keys]: readonly [number, number, number, number],
): Padding {
  const mask = context.input(index);
  const [first, ...more] = mask.shape;
  if (more.length === 0 && first === batch) {
    return { keyCounts: context.packed(mask, { type: "int64" }) };
  }
  const isFlags = first === batch && more.at(-1) === keys && (more.length === 1 || more.length === 2);
  if (!isFlags)
    return context.fail(
      `has a padding mask of [${mask.shape.join(",")}], expected [${batch}], [${batch},${keys}] or [${batch},${queries},${keys}]`,
    );
  const flags: Expr = {
    kind: "compare",
    type: "bool",
    op: "ne",
    args: [
      { kind: "load", type: "i32", view: mask },
      { kind: "constant", type: "i32", value: 0 },
    ],
  };
  const filter = context.float("mask_filter_value") ?? -10_000;
  const added: Expr = {
    kind: "select",
    type: "f32",
    condition: flags,
    args: [
      { kind: "constant", type: "f32", value: 0 },
      { kind: "constant", type: "f32", value: filter },
    ],
  };
  const bias = context.evaluate(added, mask.shape, "float32");
  const rows = reshaped(bias, [batch, 1, more.length === 1 ? 1 : queries, keys]);
  if (rows === undefined) return context.fail("has a padding mask that is not contiguous");
  return { bias: insertedBatch(expanded(rows, [batch, heads, queries, keys])) };
}

/** input [B,S,I], weights [I, 2·hidden + v hidden], bias, padding mask, past [2,B,N,P,D], attention bias. */
const selfAttention: Lower = (context) => {
  if ((context.int("do_rotary") ?? 0) !== 0) context.fail("do_rotary is set, expected 0");
  if ((context.int("past_present_share_buffer") ?? 0) !== 0)
    context.fail("past_present_share_buffer is set, expected 0");
  refuse(context, [6], []);
  const heads = context.int("num_heads") ?? context.fail("the attribute num_heads is missing");
  const input = context.input(0);
  const [batch = 1, length = 1, width = 1] = input.shape;
  const [, columns = 1] = context.inputShape(1);
  const third = Math.floor(columns / 3);
  const [hiddenQ = third, hiddenK = third, hiddenV = third] = context.ints("qkv_hidden_sizes") ?? [];
  const type = isFloatStorage(input.type) ? input.type : "float32";
  const merged = context.temporary(type, [batch * length, columns]);
  emitGemm(context, {
    a: reshapedOrCopied(context, context.packed(input, { type }), [batch * length, width]),
    b: context.packed(context.input(1), { type }),
    to: merged,
    epilogue: {
      ...plainEpilogue,
      bias: context.hasInput(2) ? context.packed(context.input(2), { type: "float32" }) : undefined,
    },
  });
  const rows = reshapedOrCopied(context, merged, [batch, length, columns]);
  const part = (start: number, size: number) => headsApart(context, sliced(rows, 2, start, size), heads);
  const fresh = { q: part(0, hiddenQ), k: part(hiddenQ, hiddenK), v: part(hiddenQ + hiddenK, hiddenV) };
  const past = context.hasInput(4) ? context.input(4) : undefined;
  const half = (index: number) => past && withoutAxis(sliced(past, 0, index, 1), 0);
  finish(context, fresh, {
    pastKey: half(0),
    pastValue: half(1),
    padding: context.hasInput(3) ? 3 : undefined,
    bias: context.hasInput(5) ? 5 : undefined,
    present: (k, v) => {
      if (!context.hasOutput(1)) return;
      const present = context.output(1);
      for (const [index, view] of [k, v].entries())
        context.copy(view, withoutAxis(sliced(present, 0, index, 1), 0));
    },
  });
};

export const microsoftAttentionLowerings: LowerTable = {
  "com.microsoft::MultiHeadAttention": multiHeadAttention,
  "com.microsoft::Attention": selfAttention,
  "com.microsoft::GroupQueryAttention": groupQueryAttention,
};
