/** @file What a change saves of a file as it is stored, whatever it is to be computed in. */
import type { CostModel } from "../cost/model.ts";
import type { WrittenSaving } from "./account.ts";
import { differenceBetween } from "./change.ts";
import { mostSavedBy } from "./least.ts";
import { pricedAt } from "./priced-at.ts";
import type { Workload } from "./workload.ts";

/** What a file saves of the one before it, both in the types that they store: what `compare` says of the two. */
export function writtenBetween(before: Workload, after: Workload, cost: CostModel): WrittenSaving {
  const [own, left] = [pricedAt(before, "as-is", cost), pricedAt(after, "as-is", cost)];
  const change = differenceBetween(own, left, cost);
  const { saves } = change;
  const high = Math.max(saves.microseconds, Math.min(saves.high, mostSavedBy(change, left)));
  return { ...saves, high, after: left.timeline.microseconds };
}

/** The same beside an account in another precision; undefined where it is of the types that are stored, or nothing changes. */
export function writtenBeside(before: Workload, after: Workload, cost: CostModel): WrittenSaving | undefined {
  const isTold = before.target.precision === "as-is" || before === after;
  return isTold ? undefined : writtenBetween(before, after, cost);
}
