/** @file A decision that is known by what it leaves alone, where nobody asks more of it. */
import type { WorkloadChange } from "../workload/change.ts";
import type { Workload } from "../workload/workload.ts";
import type { DecidedFix } from "./decision.ts";

export function leaving(after: Workload, change: WorkloadChange, message = ""): DecidedFix {
  return {
    after,
    change,
    reasonFor: () => ({ message }),
    isRewritten: () => false,
    layoutOf: () => undefined,
    inHalf: () => undefined,
    inLayout: () => undefined,
    takenFirst: () => undefined,
  };
}
