/** @file Attention (ai.onnx 23 on): Q, K, V, mask, past K, past V, valid lengths; gives Y, present K, present V, scores. */
import type { Shape } from "../../ir/dim.ts";
import { defineOp, type OpContext } from "../op.ts";
import { tensor, tensorAt } from "../shape.ts";
import { half } from "../traits.ts";
import { type AttentionPlaces, attentionAxes, attentionLane, presentAxes } from "./attention-axes.ts";
import { type AttentionSizes, attentionOutput, attentionSizes, attentionWork, headSizes } from "./heads.ts";
import { dimAt, requireRank, shared, sharedType } from "./operands.ts";

const places: AttentionPlaces = { query: 0, key: 1, value: 2, pastKey: 4, pastValue: 5 };

export const attention = defineOp({
  domain: "",
  type: "Attention",
  traits: { elements: "computed", half: half(23, 23), layout: "fixed", uses: { 3: { kind: "scores" } } },
  product: true,
  infer(context) {
    const sizes = sizesOf(context);
    const dtype = keyType(context);
    const valueType = sharedType("V and past V", tensorAt(context, 2), tensorAt(context, 5));
    const { batch, heads, queryLength, keyLength } = sizes;
    return [
      tensor(dtype, attentionOutput(sizes, tensorAt(context, 0).shape?.length)),
      tensor(dtype, cacheShape(sizes, sizes.headDim)),
      tensor(valueType, cacheShape(sizes, sizes.valueHeadDim)),
      tensor(dtype, [batch, heads, queryLength, keyLength]),
    ];
  },
  work(context) {
    const causal = (context.int("is_causal") ?? 0) !== 0;
    const masked = context.inputs[3] !== undefined || context.inputs[6] !== undefined;
    const work = attentionWork(sizesOf(context), keyType(context), causal, masked);
    return work && [work];
  },
  axes(context) {
    const heads = attentionAxes(context, sizesOf(context), places, context.has("scale"));
    if (heads === undefined) return;
    presentAxes(context, 1, heads.depth);
    presentAxes(context, 2, heads.valueDepth);
  },
  lanes: (context, output) => attentionLane(context, output, places),
});

function keyType(context: OpContext) {
  return sharedType("Q, K and past K", tensorAt(context, 0), tensorAt(context, 1), tensorAt(context, 4));
}

function sizesOf(context: OpContext): AttentionSizes {
  const kvHeads = context.int("kv_num_heads");
  const q = headSizes(tensorAt(context, 0), context.int("q_num_heads"), "Q");
  const k = headSizes(tensorAt(context, 1), kvHeads, "K");
  const v = headSizes(tensorAt(context, 2), kvHeads, "V");
  return attentionSizes(q, k, v, pastLength(context));
}

function pastLength(context: OpContext) {
  if (context.inputs[4] === undefined && context.inputs[5] === undefined) return 0;
  const [pastKey, pastValue] = [tensorAt(context, 4), tensorAt(context, 5)];
  requireRank(pastKey, [4], "past K");
  requireRank(pastValue, [4], "past V");
  return shared("lengths of past K and V", dimAt(pastKey.shape, 2), dimAt(pastValue.shape, 2));
}

function cacheShape(
  { batch, kvHeads, keyLength }: AttentionSizes,
  headDim: AttentionSizes["headDim"],
): Shape {
  return [batch, kvHeads, keyLength, headDim];
}
