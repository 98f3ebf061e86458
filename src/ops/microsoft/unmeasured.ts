/**
 * @file Operators that multiply a good deal, but how much is in their data: block masks, lengths, search loops.
 *
 * Their outputs are described; `work` says nothing, so that a report counts them as skipped.
 */
import { mulDims, type Shape, unknownDim } from "../../ir/dim.ts";
import { defineOp, type Fact, type OpContext, type OpDefinition, type TensorFact } from "../op.ts";
import { dimAt, requireRank, sharedOr } from "../product/operands.ts";
import { asTensor, elementsAt, tensor, tensorAt } from "../shape.ts";
import { computed } from "../traits.ts";
import { microsoft } from "./domain.ts";
import { groupedHeads, headsOf } from "./grouped-heads.ts";

function unmeasured(
  type: string,
  infer: (context: OpContext) => readonly (Fact | undefined)[],
): OpDefinition {
  return defineOp({ domain: microsoft, type, traits: computed, product: true, infer, work: () => undefined });
}

/** Inputs as in GroupQueryAttention; the caches at 3 and 4 are written in place. */
function sparseAttention(context: OpContext): readonly TensorFact[] {
  const output = tensor(tensorAt(context, 0).dtype, groupedHeads(context, 3).output);
  return [output, asTensor(context.inputs[3]), asTensor(context.inputs[4])];
}

/** query [tokens, …] against caches in blocks; values may be narrower than keys. */
function pagedAttention(context: OpContext): readonly TensorFact[] {
  const { rows, heads, output } = groupedHeads(context, 2);
  const valueWidth = context.int("v_head_size") ?? 0;
  const narrow = rows === undefined ? undefined : [...rows, mulDims(heads, valueWidth)];
  const shape = valueWidth === 0 ? output : narrow;
  return [
    tensor(tensorAt(context, 0).dtype, shape),
    asTensor(context.inputs[3]),
    asTensor(context.inputs[4]),
  ];
}

/** query [S,B,hidden]; flags among the inputs choose between self and cross attention. */
function decoderAttention(context: OpContext): readonly TensorFact[] {
  const query = tensorAt(context, 0);
  requireRank(query, [3], "query");
  const heads = headsOf(context);
  const headDim = dimAt(tensorAt(context, 6).shape, 3) ?? unknownDim();
  const cache = tensor(query.dtype, [sharedOr("batch", dimAt(query.shape, 1)), heads, unknownDim(), headDim]);
  return [tensor(query.dtype, query.shape), cache, cache];
}

function likeInput(context: OpContext): readonly TensorFact[] {
  const { dtype, shape } = tensorAt(context, 0);
  return [tensor(dtype, shape)];
}

/** input ids [B,S] and max length give [B, max length]; `sequences` puts the returned ones of a batch in between. */
function search(context: OpContext, maxLengthAt: number, sequences: Shape): readonly TensorFact[] {
  const [maxLength] = elementsAt(context, maxLengthAt) ?? [];
  const batch = sharedOr("batch", dimAt(tensorAt(context, 0).shape, 0));
  return [tensor("int32", [batch, ...sequences, maxLength ?? unknownDim()])];
}

function beamSearch(context: OpContext): readonly TensorFact[] {
  const [returned] = elementsAt(context, 4) ?? [];
  return search(context, 1, [returned ?? unknownDim()]);
}

export const unmeasuredOps: readonly OpDefinition[] = [
  unmeasured("SparseAttention", sparseAttention),
  unmeasured("PagedAttention", pagedAttention),
  unmeasured("DecoderAttention", decoderAttention),
  unmeasured("LongformerAttention", likeInput),
  unmeasured("BeamSearch", beamSearch),
  unmeasured("GreedySearch", (context) => search(context, 1, [])),
  unmeasured("Sampling", (context) => search(context, 1, [])),
];
