/** @file What a plan needs that is loaded, in whichever thread or process it is worked on, before its synchronous work. */
import type { LintPlan } from "../settings/lint-plan.ts";
import { loadPlugins } from "./plugins.ts";
import { loadTimelines, stacksOf } from "./timelines.ts";

/** Accounts of its stacks, and its plugins. Throws InputError where a plugin cannot be loaded. */
export async function prepare({ settings }: Pick<LintPlan, "settings">): Promise<void> {
  await loadTimelines(stacksOf(settings));
  await loadPlugins(settings.plugins);
}
