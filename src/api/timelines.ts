/** @file Stacks with an account of their own: loaded where one is asked for, because a planner is a lot of code. */
import type { StackId } from "../hardware/stacks.ts";
import type { Model } from "../ir/model.ts";
import type { LintSettings } from "../lint/run.ts";
import { type LintRequest, lintSettings } from "../settings/lint-settings.ts";
import type { ResolvedSettings } from "../settings/resolve.ts";
import type { PriceSettings } from "../workload/workload.ts";

/** An account that nobody foresaw to be needed: it is to be loaded, and the work done again. */
export class TimelineMissing extends Error {
  readonly needed: StackId;

  constructor(stack: StackId) {
    super(`tc-lint bug: the account of ${stack} was to be loaded`);
    this.needed = stack;
  }
}

/**
 * What `work` gives, once more where it asks for an account that is not loaded: what a fix does on other stacks is asked of few models, and
 * whether is known in the middle of it.
 */
export async function withTimelines<T>(work: () => T | Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof TimelineMissing)) throw error;
    await loadTimelines([error.needed]);
    return work();
  }
}

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
  const others = settings.others?.map(({ stack }) => ({ stack, timelineOf: laterFor(stack.id) }));
  return { ...settings, budgets, others, timelineOf: timelineFor(request.settings.stack) };
}

/** The same, to be loaded when it is asked for: then it throws TimelineMissing. */
function laterFor(stack: StackId): TimelineOf | undefined {
  if (stack !== "tc-runtime") return undefined;
  return (workload) => {
    if (planned === undefined) throw new TimelineMissing(stack);
    return planned(workload);
  };
}

/** Undefined where the cost model's account is the stack's. Throws where it has not been loaded. */
function timelineFor(stack: StackId): TimelineOf | undefined {
  if (stack !== "tc-runtime") return undefined;
  if (planned === undefined)
    throw new Error("tc-lint bug: the runtime's account is asked for before it is loaded");
  return planned;
}
