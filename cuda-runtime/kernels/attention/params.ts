/** @file The parameter of the kernels of attention. */
import { type ValuesOf, writeParams } from "../../ir/param-table.ts";
import type { ParamBlock } from "../../ir/params.ts";
import { storageTypes } from "../../ir/storage.ts";
import type { View } from "../../ir/view.ts";
import { quotientFields } from "../gemm-int8/tail.ts";
import type { AttentionRequest } from "./attention.ts";
import { attentionStruct } from "./params.table.ts";

/** A window side without a limit. */
export const unlimited = 2 ** 29;

/** Codes are `ScoresMode`: Q·K scaled, then capped, then masked, then their softmax. */
export const scoresModes = { products: 0, capped: 1, masked: 2, weights: 3 } as const;

/** Where results go besides `o`. */
export interface AttentionOutputs {
  readonly partial: View | undefined;
  readonly partialRows: View | undefined;
  readonly splits: number;
  readonly scores?: View;
  readonly mode?: keyof typeof scoresModes;
}

export function attentionParams(request: AttentionRequest, outputs: AttentionOutputs): ParamBlock {
  return writeParams(attentionStruct, attentionFields(request, outputs));
}

/** For structs that hold these fields among others. */
export function attentionFields(
  request: AttentionRequest,
  { partial, partialRows, splits, scores, mode }: AttentionOutputs,
): ValuesOf<typeof attentionStruct> {
  const { q, k, v, o, bias, keep, keyCounts, position } = request;
  const [batch = 1, heads = 1, queries = 1, dim = 1] = q.shape;
  const [kvHeads = 1, keys = 1] = k.shape.slice(1);
  const code = (view: View | undefined) => storageTypes[view?.type ?? "float32"].code;
  return {
    q,
    k,
    v,
    o,
    bias,
    keep,
    keyCounts,
    partial,
    partialRows,
    scores,
    batch,
    heads,
    group: heads / kvHeads,
    queries,
    keys,
    dim,
    valueDim: v.shape[3] ?? 1,
    ...strideFields(request),
    position: position === "end" ? 0 : position,
    endAligned: position === "end",
    left: Math.min(request.left, unlimited),
    right: Math.min(request.right, unlimited),
    splits,
    softInfinity: request.isSoftInfinity === true,
    zeroEmpty: request.emptyRows === "zero",
    qType: code(q),
    kType: code(k),
    vType: code(v),
    oType: code(o),
    biasType: code(bias),
    scoresType: code(scores),
    scoresMode: mode === undefined ? 0 : scoresModes[mode],
    scale: request.scale,
    softcap: request.softcap,
    fill: fillOf(request),
    to: quotientFields(request.codes),
  };
}

function strideFields({ q, k, v, o, bias, keep }: AttentionRequest) {
  const stride = (view: View | undefined, axis: number) => view?.strides[axis] ?? 0;
  return {
    qBatch: stride(q, 0),
    qHead: stride(q, 1),
    qRow: stride(q, 2),
    kBatch: stride(k, 0),
    kHead: stride(k, 1),
    kRow: stride(k, 2),
    vBatch: stride(v, 0),
    vHead: stride(v, 1),
    vRow: stride(v, 2),
    oBatch: stride(o, 0),
    oHead: stride(o, 1),
    oRow: stride(o, 2),
    innerBatch: (bias ?? keep)?.shape[1] ?? 1,
    biasOuter: stride(bias, 0),
    biasInner: stride(bias, 1),
    biasHead: stride(bias, 2),
    biasQuery: stride(bias, 3),
    biasKey: stride(bias, 4),
    keepOuter: stride(keep, 0),
    keepInner: stride(keep, 1),
    keepHead: stride(keep, 2),
    keepQuery: stride(keep, 3),
    keepKey: stride(keep, 4),
  };
}

/** In powers of two the lowest float would be infinite; what it stands for does not change. */
function fillOf({ fill = Number.NEGATIVE_INFINITY }: AttentionRequest): number {
  return fill === Number.NEGATIVE_INFINITY ? fill : Math.max(fill, -1e30);
}
