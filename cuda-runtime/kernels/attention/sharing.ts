/** @file One query whose heads share keys: the same attention with the heads of a group as queries of one head, for which keys are read once. */
import { reshaped, type View } from "../../ir/view.ts";
import type { AttentionRequest } from "./attention.ts";
import { unlimited } from "./params.ts";

/** Undefined where keys are not shared, or where the query does not see all keys that count. */
export function sharingKeys(request: AttentionRequest): AttentionRequest | undefined {
  const { q, k, o, bias, keep, codes } = request;
  const [batch = 1, heads = 1, queries = 1, dim = 1] = q.shape;
  const kvHeads = k.shape[1] ?? 1;
  if (queries !== 1 || kvHeads === heads || codes !== undefined || !seesAll(request)) return undefined;
  const group = heads / kvHeads;
  const grouped = reshaped(q, [batch, kvHeads, group, dim]);
  const to = reshaped(o, [batch, kvHeads, group, o.shape[3] ?? 1]);
  if (grouped === undefined || to === undefined) return undefined;
  return {
    ...request,
    ...{ q: grouped, o: to, position: 0, left: unlimited, right: unlimited },
    bias: bias && headsAsQueries(bias, kvHeads),
    keep: keep && headsAsQueries(keep, kvHeads),
  };
}

/** At its position, and without a window that ends before it. */
function seesAll({ k, position, left, right }: AttentionRequest): boolean {
  const keys = k.shape[2] ?? 0;
  if (position === "end") return left >= keys - 1 && right >= 0;
  return left >= position && position + right >= keys - 1;
}

/** [outer batch, inner batch, heads, 1, keys] as [outer batch, inner batch, key heads, heads of a group, keys]. */
function headsAsQueries(mask: View, kvHeads: number): View {
  const [outer = 1, inner = 1, heads = 1, , keys = 1] = mask.shape;
  const [ofOuter = 0, ofInner = 0, ofHead = 0, , ofKey = 0] = mask.strides;
  const group = heads / kvHeads;
  return {
    ...mask,
    shape: [outer, inner, kvHeads, group, keys],
    strides: [ofOuter, ofInner, ofHead * group, ofHead, ofKey],
  };
}
