/**
 * @file Attention with its input projection inside: Attention, QAttention, DecoderMaskedSelfAttention, PackedAttention.
 *
 * input [B,S,I] by merged weights [I, 2·hidden + v hidden]; past and present are [2,B,N,length,head size].
 */

import { paddedSize } from "../../ir/axis.ts";
import { addDims, type Dim, floorDivDims, product, type Shape } from "../../ir/dim.ts";
import type { DType } from "../../ir/dtype.ts";
import { textOf } from "../../ir/message.ts";
import type { AxisContext, LaneContext } from "../axes.ts";
import { type CodeProduct, defineOp, type OpContext, type OpDefinition, ShapeError } from "../op.ts";
import {
  type AttentionPlaces,
  attentionAxes,
  attentionLane,
  presentAxes,
} from "../product/attention-axes.ts";
import { type AttentionSizes, attentionWork, splitEvenly } from "../product/heads.ts";
import { dimAt, multiplyType, requireRank, shared, sharedOr } from "../product/operands.ts";
import { tensor, tensorAt } from "../shape.ts";
import { computed, computes, half, type Traits } from "../traits.ts";
import type { AttentionWork, GemmWork, Work } from "../work.ts";
import { microsoft } from "./domain.ts";
import { hasOwnScale, headsOf } from "./grouped-heads.ts";

/** Where each operator keeps its inputs. */
interface Form {
  readonly type: string;
  readonly traits: Traits;
  readonly past?: number;
  readonly masks: readonly number[];
  /** [B,S] of the tokens, where the input is [tokens, I]. */
  readonly tokenOffset?: number;
  /** The input whose type the output has. */
  readonly typeFrom: number;
  /** Of the projection, where it is not the input's. */
  readonly projectionType?: DType;
  readonly presents: number;
  readonly codes?: CodeProduct;
  /** Given where padding passes through; the weights bring queries, keys and values. */
  readonly places?: AttentionPlaces;
}

const forms: readonly Form[] = [
  {
    type: "Attention",
    traits: computes(half(1, undefined), { uses: { 3: { kind: "mask" }, 5: { kind: "scores" } } }),
    past: 4,
    masks: [3, 5],
    typeFrom: 0,
    presents: 1,
    places: { query: 1, key: 1, value: 1, bias: 2, pastKey: 4, pastValue: 4 },
  },
  { type: "DecoderMaskedSelfAttention", traits: computed, past: 4, masks: [3, 5], typeFrom: 0, presents: 1 },
  // input, weight, bias, their scales, mask, their zero points, past.
  {
    type: "QAttention",
    traits: computed,
    past: 8,
    masks: [5],
    typeFrom: 3,
    projectionType: "int8",
    presents: 1,
    codes: { activation: { codes: 0, scale: 3, zero: 6 }, weights: [{ codes: 1, scale: 4, zero: 7 }] },
  },
  {
    type: "PackedAttention",
    traits: computes(half(1, undefined)),
    tokenOffset: 3,
    masks: [5],
    typeFrom: 0,
    presents: 0,
  },
];

export const selfAttentionOps: readonly OpDefinition[] = forms.map((form) => {
  const { places } = form;
  return defineOp({
    domain: microsoft,
    type: form.type,
    traits: form.traits,
    product: true,
    ...(form.codes && { codes: form.codes }),
    infer(context) {
      const sizes = sizesOf(context, form);
      const dtype = tensorAt(context, form.typeFrom).dtype;
      const present = tensor(dtype, presentShape(context, form, sizes));
      return [tensor(dtype, outputShape(context, form, sizes)), present].slice(0, 1 + form.presents);
    },
    work: (context) => selfAttentionWork(context, form),
    ...(places && {
      axes: (context: AxisContext) => projectedAxes(context, form, places),
      lanes: (context: LaneContext, output: number) => attentionLane(context, output, places),
    }),
  });
});

interface Sizes {
  readonly batch: Dim;
  readonly length: Dim;
  readonly inputHidden: Dim;
  readonly hidden: Dim;
  readonly valueHidden: Dim;
  readonly heads: number;
  readonly past: Dim;
}

function sizesOf(context: OpContext, form: Form): Sizes {
  const input = tensorAt(context, 0);
  const weights = tensorAt(context, 1);
  const packed = form.tokenOffset !== undefined;
  requireRank(input, [packed ? 2 : 3], "input");
  requireRank(weights, [2], "weights");
  requireRank(tensorAt(context, 2), [1], "bias");
  const rows = packed ? tensorAt(context, form.tokenOffset ?? 0).shape : input.shape;
  const merged = shared(
    "columns of weights and bias",
    dimAt(weights.shape, 1),
    dimAt(tensorAt(context, 2).shape, 0),
  );
  return {
    batch: sharedOr("batch", dimAt(rows, 0)),
    length: sharedOr("length", dimAt(rows, 1)),
    inputHidden: sharedOr(
      "hidden size of input and weights",
      dimAt(input.shape, -1),
      dimAt(weights.shape, 0),
    ),
    heads: headsOf(context),
    past: pastLength(context, form),
    ...hiddenSizes(context, merged),
  };
}

/** Q and K are as wide as each other; V as well, unless the attribute says otherwise. */
function hiddenSizes(context: OpContext, merged: Dim | undefined): { hidden: Dim; valueHidden: Dim } {
  const [q, k, v] = context.ints("qkv_hidden_sizes") ?? [];
  if (q !== undefined && k !== undefined && v !== undefined) {
    shared("columns of weights and qkv_hidden_sizes", merged, q + k + v);
    return { hidden: q, valueHidden: v };
  }
  if (typeof merged === "number" && merged % 3 !== 0) {
    throw new ShapeError(
      textOf`the weights have ${merged} columns, expected as many for queries, keys and values`,
    );
  }
  const third = sharedOr("hidden size", merged === undefined ? undefined : floorDivDims(merged, 3));
  return { hidden: third, valueHidden: third };
}

function pastLength(context: OpContext, { past }: Form): Dim {
  if (past === undefined || context.inputs[past] === undefined) return 0;
  requireRank(tensorAt(context, past), [5], "past");
  return sharedOr("past length", dimAt(tensorAt(context, past).shape, 3));
}

function outputShape(context: OpContext, { tokenOffset }: Form, sizes: Sizes): Shape {
  if (tokenOffset === undefined) return [sizes.batch, sizes.length, sizes.valueHidden];
  return [sharedOr("tokens", dimAt(tensorAt(context, 0).shape, 0)), sizes.valueHidden];
}

/** A buffer that past and present share keeps its length. */
function presentShape(context: OpContext, form: Form, sizes: Sizes): Shape | undefined {
  const { batch, length, heads, past, hidden } = sizes;
  const inPlace = (context.int("past_present_share_buffer") ?? 0) !== 0;
  const total = inPlace ? past : addDims(past, length);
  return form.presents === 0 ? undefined : [2, batch, heads, total, splitEvenly(hidden, heads, "Q")];
}

function selfAttentionWork(context: OpContext, form: Form): readonly Work[] | undefined {
  const input = tensorAt(context, 0);
  const projectionType = form.projectionType ?? multiplyType(input.dtype);
  const sizes = sizesOf(context, form);
  const attention = innerWork(context, form, sizes);
  if (projectionType === undefined || attention === undefined || input.shape === undefined) return undefined;
  const { inputHidden, hidden, valueHidden } = sizes;
  const projection: GemmWork = {
    kind: "gemm",
    batch: 1,
    m: product(input.shape.slice(0, -1)),
    n: addDims(addDims(hidden, hidden), valueHidden),
    k: inputHidden,
    transA: false,
    transB: false,
    sharedB: true,
    dtype: projectionType,
  };
  return [projection, attention];
}

function innerSizes({ batch, length, heads, past, hidden, valueHidden }: Sizes): AttentionSizes {
  return {
    batch,
    heads,
    kvHeads: heads,
    queryLength: length,
    keyLength: addDims(past, length),
    headDim: splitEvenly(hidden, heads, "Q"),
    valueHeadDim: splitEvenly(valueHidden, heads, "V"),
  };
}

function innerWork(context: OpContext, form: Form, sizes: Sizes): AttentionWork | undefined {
  const causal = (context.int("unidirectional") ?? 0) !== 0;
  const masked = form.masks.some((mask) => context.inputs[mask] !== undefined);
  return attentionWork(innerSizes(sizes), tensorAt(context, form.typeFrom).dtype, causal, masked);
}

/** The weights' rows meet the input; their columns, and the bias, are queries, keys and values side by side. */
function projectedAxes(context: AxisContext, form: Form, places: AttentionPlaces): void {
  if ((context.int("do_rotary") ?? 0) !== 0) return context.blockAll("rotates pairs of lanes within a head");
  const [input, weights] = [context.axesOf(0), context.axesOf(1)];
  const [rows, features] = [weights?.[0], input?.[2]];
  if (rows === undefined || features === undefined) return context.blockAll("has operands of unknown sizes");
  context.solver.unify(features, rows, "features differ in structure");
  context.contract(features, 0, 1);
  const heads = attentionAxes(context, innerSizes(sizesOf(context, form)), places, hasOwnScale(context));
  if (heads === undefined) return;
  const { depth, valueDepth, query, key, value } = heads;
  presentAxes(context, 1, depth);
  // Keys and values share the cache.
  if (depth !== valueDepth && context.node.outputs[1] !== undefined) {
    for (const axis of [depth, valueDepth]) context.block(axis, "keeps it in a cache");
  }
  if (context.ints("qkv_hidden_sizes") === undefined) return;
  context.rewriteAttribute("qkv_hidden_sizes", (sizes) =>
    [query, key, value].map((axis) => paddedSize(axis, sizes)),
  );
}
