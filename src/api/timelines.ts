/** @file Stacks with an account of their own: loaded where one is asked for, because a planner is a lot of code. */
import type { StackId } from "../hardware/stacks.ts";
import type { Model } from "../ir/model.ts";
import type { LintSettings } from "../lint/run.ts";
import { type LintRequest, lintSettings } from "../settings/lint-settings.ts";
import type { ResolvedSettings } from "../settings/resolve.ts";
import type { PriceSettings } from "../workload/workload.ts";

type TimelineOf = NonNullable<PriceSettings["timelineOf"]>;

let planned: TimelineOf | undefined;

/** To be awaited before anything is priced for one of `stacks`. */
export async function loadTimelines(stacks: Iterable<StackId>): Promise<void> {
  if (planned !== undefined || ![...stacks].includes("tc-runtime")) return;
  const { plannedTimeline } = await import("../gpu/planned-timeline.ts");
  planned = plannedTimeline;
}

/** The stacks that a model is priced for, those of its budgets among them. */
export function stacksOf({ stack, budgets }: Pick<ResolvedSettings, "stack" | "budgets">): StackId[] {
  return [stack, ...budgets.map((budget) => budget.stack)];
}

/** Settings of a lint run, with its stack's own account. */
export function settingsOf(model: Model, request: LintRequest): LintSettings {
  const settings = lintSettings(model, request);
  const budgets = (settings.budgets ?? []).map((budget) => ({
    ...budget,
    timelineOf: timelineFor(budget.target.stack.id),
  }));
  return { ...settings, budgets, timelineOf: timelineFor(request.settings.stack) };
}

/** Undefined where the cost model's account is the stack's. Throws where it has not been loaded. */
function timelineFor(stack: StackId): TimelineOf | undefined {
  if (stack !== "tc-runtime") return undefined;
  if (planned === undefined)
    throw new Error("tc-lint bug: the runtime's account is asked for before it is loaded");
  return planned;
}
