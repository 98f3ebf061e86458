/** @file What a change saves of a file as it is stored, whatever it is to be computed in. */
import type { CostModel } from "../cost/model.ts";
import type { WrittenSaving } from "./account.ts";
import { changeBetween } from "./change.ts";
import { pricedAt } from "./priced-at.ts";
import type { Workload } from "./workload.ts";

/** What a file saves of the one before it, both in the types that they store. */
export function writtenBetween(before: Workload, after: Workload, cost: CostModel): WrittenSaving {
  const left = pricedAt(after, "as-is", cost);
  const { saves } = changeBetween(pricedAt(before, "as-is", cost), left, cost);
  return { ...saves, after: left.timeline.microseconds };
}
