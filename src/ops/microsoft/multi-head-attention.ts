/**
 * @file MultiHeadAttention and its decoder and packed forms: projections done, heads still merged in the last axis.
 *
 * query [B,S,hidden], or Q, K and V in one as [B,S,N,3,D]; key [B,L,hidden], or K and V in one as [B,L,N,2,D];
 * key and value may also be caches [B,N,L,D].
 */

import { type Dim, floorDivDims, mulDims, type Shape } from "../../ir/dim.ts";
import { textOf } from "../../ir/message.ts";
import type { AxisContext, LaneContext } from "../axes.ts";
import { defineOp, type OpContext, type OpDefinition, ShapeError, type WorkContext } from "../op.ts";
import {
  type AttentionPlaces,
  attentionAxes,
  attentionLane,
  presentAxes,
} from "../product/attention-axes.ts";
import {
  type AttentionSizes,
  attentionSizes,
  attentionWork,
  type HeadSizes,
  headSizes,
  splitEvenly,
} from "../product/heads.ts";
import { dimAt, requireRank, shared, sharedOr } from "../product/operands.ts";
import { asTensor, tensor, tensorAt } from "../shape.ts";
import { moveKernel } from "../traffic.ts";
import { computes, half, type Traits } from "../traits.ts";
import type { Work } from "../work.ts";
import { microsoft } from "./domain.ts";
import { hasOwnScale, headsOf } from "./grouped-heads.ts";

interface Form {
  readonly type: string;
  readonly traits: Traits;
  readonly masks: readonly number[];
  readonly past?: number;
  /** Given where past and present are one buffer of full length. */
  readonly pastLength?: number;
  /** Given where padding passes through. */
  readonly places?: AttentionPlaces;
}

const forms: readonly Form[] = [
  {
    type: "MultiHeadAttention",
    traits: computes(half(1, undefined), { uses: { 4: { kind: "mask" }, 5: { kind: "scores" } } }),
    masks: [4, 5],
    past: 6,
    pastLength: 8,
    places: { query: 0, key: 1, value: 2, bias: 3, pastKey: 6, pastValue: 7 },
  },
  {
    type: "DecoderMaskedMultiHeadAttention",
    traits: computes(half(1, undefined), { uses: { 4: { kind: "scores" } } }),
    masks: [3, 4],
    past: 5,
    pastLength: 7,
  },
];

function multiHeadAttention(form: Form): OpDefinition {
  const { places } = form;
  return defineOp({
    domain: microsoft,
    type: form.type,
    traits: form.traits,
    product: true,
    infer(context) {
      const sizes = sizesOf(context, form);
      const { batch, heads, queryLength, keyLength, valueHeadDim } = sizes;
      const { dtype } = tensorAt(context, 0);
      const length = presentLength(context, form, sizes);
      return [
        tensor(dtype, [batch, queryLength, mulDims(heads, valueHeadDim)]),
        tensor(dtype, [batch, heads, length, sizes.headDim]),
        tensor(dtype, [batch, heads, length, valueHeadDim]),
        // Scores may be kept in float beside half operands; their type is not stated.
        tensor(undefined, [batch, heads, queryLength, keyLength]),
      ];
    },
    work(context) {
      const causal = (context.int("unidirectional") ?? 0) !== 0;
      const masked = form.masks.some((mask) => context.inputs[mask] !== undefined);
      const work = attentionWork(sizesOf(context, form), tensorAt(context, 0).dtype, causal, masked);
      return work && [...(places === undefined ? [] : unpacking(context)), work];
    },
    ...(places && {
      axes: (context: AxisContext) => separateAxes(context, form, places),
      lanes: (context: LaneContext, output: number) => attentionLane(context, output, places),
    }),
  });
}

/**
 * What brings queries, keys and values apart that come in one operand, before the kernels that want them so: flash, memory-efficient and cuDNN's, and the
 * products of what none of these takes. (TensorRT's, of short sequences on GPUs before Hopper, reads all three as they lie.)
 *
 * Source: PrepareQkv_MHA_PackedQKV and PrepareQkv_MHA_PackedKV (attention_prepare_qkv.cu).
 */
function unpacking(context: WorkContext): Work[] {
  const [query, key] = [context.inputs[0], context.inputs[1]];
  const packed = key === undefined ? query : key;
  const isPacked = key === undefined || (key.kind === "tensor" && key.shape?.length === 5);
  const moved = isPacked && packed?.kind === "tensor" ? moveKernel(packed, "permute") : undefined;
  return moved === undefined ? [] : [moved.work];
}

function separateAxes(context: AxisContext, form: Form, places: AttentionPlaces): void {
  const isSeparate =
    tensorAt(context, 0).shape?.length === 3 &&
    context.inputs[1] !== undefined &&
    tensorAt(context, 1).shape?.length !== 5;
  if (!isSeparate) return context.blockAll("reads queries, keys or values from one operand");
  const heads = attentionAxes(context, sizesOf(context, form), places, hasOwnScale(context));
  if (heads === undefined) return;
  presentAxes(context, 1, heads.depth);
  presentAxes(context, 2, heads.valueDepth);
}

function sizesOf(context: OpContext, form: Form): AttentionSizes {
  const heads = headsOf(context);
  const query = tensorAt(context, 0);
  requireRank(query, [3, 5], "query");
  if (context.inputs[1] === undefined) return fromOne(query.shape, heads, pastLength(context, form));
  const q = headSizes(query, heads, "query");
  const key = tensorAt(context, 1);
  if (key.shape?.length === 5) {
    const both = partOf(key.shape, heads, 2, "key");
    return attentionSizes(q, both, both, pastLength(context, form));
  }
  const k = headSizes(key, heads, "key");
  const v = headSizes(tensorAt(context, 2), heads, "value");
  // Caches as operands hold the past already.
  return attentionSizes(q, k, v, key.shape?.length === 4 ? 0 : pastLength(context, form));
}

/** Q, K and V in one operand: [B,S,N,3,D], or merged as [B,S,3·hidden]. */
function fromOne(shape: Shape | undefined, heads: number, past: Dim | undefined): AttentionSizes {
  const merged = dimAt(shape, 2);
  const part: HeadSizes =
    shape?.length === 5
      ? partOf(shape, heads, 3, "query")
      : {
          batch: dimAt(shape, 0),
          heads,
          length: dimAt(shape, 1),
          headDim: merged === undefined ? undefined : splitEvenly(floorDivDims(merged, 3), heads, "query"),
        };
  return attentionSizes(part, part, part, past);
}

/** [B,S,N,`parts`,D]. */
function partOf(shape: Shape, heads: number, parts: number, what: string): HeadSizes {
  const [batch, length, stored, count, headDim] = shape;
  if (typeof count === "number" && count !== parts) {
    throw new ShapeError(textOf`axis 3 of ${what} has size ${count}, expected ${parts}`);
  }
  return { batch, heads: shared(`heads of ${what}`, heads, stored), length, headDim };
}

function pastLength(context: OpContext, { past }: Form): Dim | undefined {
  if (past === undefined || context.inputs[past] === undefined) return 0;
  requireRank(tensorAt(context, past), [4], "past key");
  return dimAt(tensorAt(context, past).shape, 2);
}

function presentLength(context: OpContext, form: Form, sizes: AttentionSizes): Dim {
  const stated = form.pastLength === undefined ? undefined : context.inputs[form.pastLength];
  const past = pastLength(context, form);
  const inPlace = stated !== undefined || (context.int("past_present_share_buffer") ?? 0) !== 0;
  return inPlace && past !== 0 ? sharedOr("past length", past) : sizes.keyLength;
}

/** query [tokens, hidden] or [tokens,N,3,D], key, value, bias, token offset [B,S]: sequences without their padding. */
const packedMultiHeadAttention = defineOp({
  domain: microsoft,
  type: "PackedMultiHeadAttention",
  traits: { elements: "computed", half: half(1, undefined), layout: "fixed" },
  product: true,
  infer(context) {
    const { heads, valueHeadDim } = packedSizes(context);
    const { dtype, shape } = tensorAt(context, 0);
    return [tensor(dtype, [sharedOr("tokens", dimAt(shape, 0)), mulDims(heads, valueHeadDim)])];
  },
  work(context) {
    const masked = context.inputs[6] !== undefined;
    const work = attentionWork(packedSizes(context), tensorAt(context, 0).dtype, false, masked);
    return work && [work];
  },
});

function packedSizes(context: OpContext): AttentionSizes {
  const heads = headsOf(context);
  const offsets = tensorAt(context, 4).shape;
  const operand = (at: number, what: string): HeadSizes => {
    const fact = asTensor(context.inputs[at] ?? context.inputs[0]);
    requireRank(fact, [2, 4], what);
    const hidden = dimAt(fact.shape, 1);
    const merged = hidden === undefined ? undefined : splitEvenly(hidden, heads, what);
    const headDim = fact.shape?.length === 4 ? dimAt(fact.shape, 3) : merged;
    return { batch: dimAt(offsets, 0), heads, length: dimAt(offsets, 1), headDim };
  };
  return attentionSizes(operand(0, "query"), operand(1, "key"), operand(2, "value"), 0);
}

export const multiHeadAttentionOps: readonly OpDefinition[] = [
  ...forms.map(multiHeadAttention),
  packedMultiHeadAttention,
];
