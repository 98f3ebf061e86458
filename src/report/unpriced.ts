/** @file A time that leaves something out: nodes that could not be looked at have none, and 0 µs of them would say that they take none. */
import { counted, duration } from "../ir/format.ts";
import type { ModelReport } from "../lint/result.ts";

/** `skipped` is how many nodes, or these. */
type Priced = Pick<ModelReport, "predicted"> & { readonly skipped: number | ModelReport["skipped"] };

function skippedOf({ skipped }: Priced): number {
  return typeof skipped === "number" ? skipped : skipped.length;
}

/** Whether nothing of the model has a time, for want of what its nodes are. */
export function isUnpriced(model: Priced): boolean {
  return model.predicted.microseconds === 0 && skippedOf(model) > 0;
}

/** `50.7 µs`, or `not priced`. */
export function pricedText(model: Priced, microseconds = model.predicted.microseconds): string {
  return isUnpriced(model) ? "not priced" : duration(microseconds);
}

/** Why: `2 nodes could not be looked at`. */
export function whyUnpriced(model: Priced): string {
  return `${counted(skippedOf(model), "node")} could not be looked at`;
}

/** `without 3 nodes that could not be looked at`; undefined where every node was, and where the time was measured. */
export function unpricedText(model: Priced & Pick<ModelReport, "profile">): string | undefined {
  const skipped = skippedOf(model);
  if (skipped === 0 || model.profile !== undefined) return undefined;
  return `without ${counted(skipped, "node")} that could not be looked at`;
}
