/** @file Attention of ai.onnx (23 and later) and FlexAttention without modifiers. */

import { isFloatStorage } from "../ir/storage.ts";
import { sliced, type View } from "../ir/view.ts";
import { type AttentionRequest, emitScores, scoresModes, unlimited } from "../kernels/attention/attention.ts";
import { microsoftAttentionLowerings } from "./attention-microsoft.ts";
import { asOneType, attend, headsApart, joined, maskView, setResult } from "./attention-operands.ts";
import type { Lower, LowerContext, LowerTable } from "./context.ts";

/** Q, K, V, mask, past K, past V, valid lengths; gives Y, present K, present V, scores. */
const attention: Lower = (context) => {
  const kvHeads = context.int("kv_num_heads");
  const [q, freshK, freshV] = asOneType(context, [
    headsApart(context, context.input(0), context.int("q_num_heads")),
    headsApart(context, context.input(1), kvHeads),
    headsApart(context, context.input(2), kvHeads),
  ]);
  if (q === undefined || freshK === undefined || freshV === undefined)
    return context.fail("expected Q, K and V");
  const past = context.hasInput(4) ? (context.inputShape(4)[2] ?? 0) : 0;
  const k = context.hasInput(4) ? joined(context, context.input(4), freshK) : freshK;
  const v = context.hasInput(5) ? joined(context, context.input(5), freshV) : freshV;
  context.setOutput(1, k);
  context.setOutput(2, v);
  const masks = masksOf(context, q, k);
  const keys = masks.keys;
  const counts = context.hasInput(6) ? context.packed(context.input(6)) : undefined;
  const request: Omit<AttentionRequest, "o"> = {
    q,
    k: sliced(k, 2, 0, keys),
    v: sliced(v, 2, 0, keys),
    bias: masks.bias,
    keep: masks.keep,
    keyCounts: counts,
    scale: context.float("scale") ?? 1 / Math.sqrt(q.shape[3] ?? 1),
    softcap: context.float("softcap") ?? 0,
    position: counts !== undefined && !context.hasInput(4) ? "end" : past,
    left: sideOf(context.int("left_window_size")),
    right: Math.min(sideOf(context.int("right_window_size")), context.int("is_causal") === 1 ? 0 : unlimited),
    emptyRows: "zero",
  };
  setScores(context, request, k.shape[2] ?? 0);
  setResult(context, attend(context, request, context.outputType(0)));
};

function sideOf(size: number | undefined): number {
  return size === undefined || size < 0 ? unlimited : size;
}

interface Masks {
  readonly bias: View | undefined;
  readonly keep: View | undefined;
  /** A mask that ends early hides the keys behind it. */
  readonly keys: number;
}

function masksOf(context: LowerContext, q: View, k: View): Masks {
  const all = k.shape[2] ?? 0;
  if (!context.hasInput(3)) return { bias: undefined, keep: undefined, keys: all };
  const given = context.input(3);
  const own = given.shape.at(-1) ?? 1;
  const keys = own === 1 ? all : Math.min(own, all);
  const [batch = 1, heads = 1, queries = 1] = q.shape;
  const shape = [batch, heads, queries, keys] as const;
  const mask = own > all ? sliced(given, given.shape.length - 1, 0, all) : given;
  if (mask.type === "bool") return { bias: undefined, keep: maskView(mask, shape), keys };
  const isFloat = isFloatStorage(mask.type);
  if (!isFloat && mask.type !== "float64")
    context.fail(`has a mask of ${mask.type}, expected floats or bool`);
  const bias = isFloat ? mask : context.packed(mask, { type: "float32" });
  return { bias: maskView(bias, shape), keep: undefined, keys };
}

const modeNames = Object.keys(scoresModes).filter((name): name is keyof typeof scoresModes =>
  Object.hasOwn(scoresModes, name),
);

function setScores(context: LowerContext, request: Omit<AttentionRequest, "o">, allKeys: number): void {
  if (!context.hasOutput(3)) return;
  const number = context.int("qk_matmul_output_mode") ?? 0;
  const mode = modeNames.find((name) => scoresModes[name] === number);
  if (mode === undefined) return context.fail(`qk_matmul_output_mode is ${number}, expected 0 to 3`);
  if (request.k.shape[2] !== allKeys)
    return context.fail(
      `output 3 (scores) is read and the mask has ${request.k.shape[2]} keys, expected ${allKeys}`,
    );
  const type = context.outputType(3);
  const scores = isFloatStorage(type)
    ? context.output(3)
    : context.temporary("float32", context.outputShape(3));
  emitScores(context, request, scores, mode);
  if (!isFloatStorage(type)) context.setOutput(3, scores);
}

/** Q, K, V of rank 4; subgraphs that rewrite scores or probabilities have no kernel. */
const flexAttention: Lower = (context) => {
  for (const name of ["score_mod", "prob_mod"])
    if (context.has(name)) context.fail(`has a ${name}, which the runtime does not take`);
  const [q, k, v] = asOneType(context, [context.input(0), context.input(1), context.input(2)]);
  if (q === undefined || k === undefined || v === undefined) return context.fail("expected Q, K and V");
  const request = {
    q,
    k,
    v,
    scale: context.float("scale") ?? 1 / Math.sqrt(q.shape[3] ?? 1),
    softcap: 0,
    position: 0,
    left: unlimited,
    right: unlimited,
    emptyRows: "nan",
  } as const;
  setResult(context, attend(context, request, context.outputType(0)));
};

export const attentionLowerings: LowerTable = {
  Attention: attention,
  "ai.onnx.preview::FlexAttention": flexAttention,
  ...microsoftAttentionLowerings,
};
