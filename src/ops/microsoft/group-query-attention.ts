/**
 * @file GroupQueryAttention: fewer key heads than query heads, and a cache [B,Nkv,length,D].
 *
 * Inputs: query, key, value, past key and value, valid lengths, total length, …, attention bias (10).
 */
import { addDims, type Dim, maxDims } from "../../ir/dim.ts";
import { textOf } from "../../ir/message.ts";
import type { AxisContext } from "../axes.ts";
import { defineOp, type OpContext, ShapeError } from "../op.ts";
import {
  type AttentionPlaces,
  attentionAxes,
  attentionLane,
  presentAxes,
} from "../product/attention-axes.ts";
import { type AttentionSizes, attentionWork } from "../product/heads.ts";
import { dimAt, requireRank, shared, sharedOr } from "../product/operands.ts";
import { elementsAt, tensor, tensorAt } from "../shape.ts";
import { half } from "../traits.ts";
import { microsoft } from "./domain.ts";
import { type GroupedHeads, groupedHeads, hasOwnScale } from "./grouped-heads.ts";

export const groupQueryAttention = defineOp({
  domain: microsoft,
  type: "GroupQueryAttention",
  traits: {
    elements: "computed",
    half: half(1, 1),
    layout: "fixed",
    uses: { 5: { kind: "length", offset: -1 }, 6: { kind: "length", offset: 0 }, 10: { kind: "scores" } },
  },
  product: true,
  infer(context) {
    const grouped = groupedHeads(context, 3);
    const { dtype } = tensorAt(context, 0);
    const { batch, heads, queryLength, keyLength } = sizesOf(context, grouped);
    requirePositions(context, queryLength);
    const past = tensorAt(context, 3);
    // A cache of 4-bit codes is narrower than the head.
    const width = dimAt(past.shape, 3) ?? grouped.headDim;
    const present = tensor(context.inputs[3] === undefined ? dtype : past.dtype, [
      batch,
      grouped.kvHeads,
      presentLength(context, keyLength),
      width,
    ]);
    const scores = tensor(dtype, [batch, heads, queryLength, keyLength]);
    return [tensor(dtype, grouped.output), present, present, scores];
  },
  work(context) {
    const sizes = sizesOf(context, groupedHeads(context, 3));
    const causal = (context.int("causal") ?? 1) !== 0;
    const masked = context.inputs[10] !== undefined;
    const work = attentionWork(sizes, tensorAt(context, 0).dtype, causal, masked);
    return work && [work];
  },
  axes(context) {
    const reason = reasonAgainst(context);
    if (reason !== undefined) return context.blockAll(reason);
    const sizes = sizesOf(context, groupedHeads(context, 3));
    const heads = attentionAxes(context, sizes, placesOf(context), hasOwnScale(context));
    if (heads === undefined) return;
    presentAxes(context, 1, heads.depth);
    presentAxes(context, 2, heads.valueDepth);
  },
  lanes: (context, output) => attentionLane(context, output, placesOf(context)),
});

/** Without a key, the query holds keys and values as well. */
function placesOf(context: OpContext): AttentionPlaces {
  const [key, value] = context.inputs[1] === undefined ? [0, 0] : [1, 2];
  return { query: 0, key, value, pastKey: 3, pastValue: 4 };
}

function reasonAgainst(context: AxisContext): string | undefined {
  if ((context.int("do_rotary") ?? 0) !== 0) return "rotates pairs of lanes within a head";
  const past = context.inputs[3];
  if (past !== undefined && tensorAt(context, 3).dtype !== tensorAt(context, 0).dtype)
    return "keeps a quantized cache";
  // Scales of a quantized cache, weights of a normalization: whatever follows the sink of each head.
  if (context.inputs.slice(12).some((input) => input !== undefined)) return "rescales lanes within a head";
  return undefined;
}

function sizesOf(context: OpContext, { heads, kvHeads, headDim, rows }: GroupedHeads): AttentionSizes {
  const queryLength = sharedOr("length of query", dimAt(rows, 1));
  return {
    batch: sharedOr("batch of query and cache", dimAt(rows, 0), dimAt(tensorAt(context, 3).shape, 0)),
    heads,
    kvHeads,
    queryLength,
    keyLength: totalLength(context, queryLength),
    headDim,
    valueHeadDim: headDim,
  };
}

function statedTotal(context: OpContext): Dim | undefined {
  return elementsAt(context, 6)?.[0];
}

/** ONNX Runtime refuses what follows from sizes alone, too. */
function requirePositions(context: OpContext, queryLength: Dim): void {
  const total = statedTotal(context);
  if (typeof total !== "number") return;
  if (typeof queryLength === "number" && total < queryLength)
    throw new ShapeError(
      textOf`a total length of ${total}, expected no less than the ${queryLength} new positions`,
    );
  const isRotating = (context.int("do_rotary") ?? 0) !== 0 && context.inputs[7] !== undefined;
  const rows = isRotating ? dimAt(tensorAt(context, 7).shape, 0) : undefined;
  if (typeof rows === "number" && rows < total)
    throw new ShapeError(
      textOf`a table of cosines of ${rows} positions, expected no fewer than the total length, ${total}`,
    );
}

/** Stated, else past and new keys together. */
function totalLength(context: OpContext, queryLength: Dim): Dim {
  const stated = statedTotal(context);
  if (stated !== undefined) return stated;
  const newKeys = context.inputs[1] === undefined ? queryLength : dimAt(tensorAt(context, 1).shape, 1);
  return addDims(pastLength(context), sharedOr("new keys", newKeys));
}

function pastLength(context: OpContext): Dim {
  if (context.inputs[3] === undefined) return 0;
  const [pastKey, pastValue] = [tensorAt(context, 3), tensorAt(context, 4)];
  requireRank(pastKey, [4], "past key");
  requireRank(pastValue, [4], "past value");
  const length = shared("lengths of past key and value", dimAt(pastKey.shape, 2), dimAt(pastValue.shape, 2));
  return sharedOr("past length", length);
}

/** A buffer that is long enough already is kept; a window-sized one always is. */
function presentLength(context: OpContext, total: Dim): Dim {
  const past = pastLength(context);
  if (past === 0) return total;
  if ((context.int("sliding_window_cache") ?? 0) !== 0) return past;
  const stated = statedTotal(context);
  return stated === undefined ? sharedOr("present length") : maxDims(past, stated);
}
