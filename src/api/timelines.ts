/** @file Stacks with an account of their own: loaded where one is asked for, because a planner is a lot of code. */
import type { StackId } from "../hardware/stacks.ts";
import type { PriceSettings } from "../workload/workload.ts";

type TimelineOf = NonNullable<PriceSettings["timelineOf"]>;

let planned: TimelineOf | undefined;

/** To be awaited before anything is priced for one of `stacks`. */
export async function loadTimelines(stacks: Iterable<StackId>): Promise<void> {
  if (planned !== undefined || ![...stacks].includes("tc-runtime")) return;
  const { plannedTimeline } = await import("../gpu/planned-timeline.ts");
  planned = plannedTimeline;
}

/** Undefined where the cost model's account is the stack's. Throws where it has not been loaded. */
export function timelineFor(stack: StackId): TimelineOf | undefined {
  if (stack !== "tc-runtime") return undefined;
  if (planned === undefined)
    throw new Error("tc-lint bug: the runtime's account is asked for before it is loaded");
  return planned;
}
