/** @file What was decided for each model, as JSON: for people who wonder why. */
import { jsonText } from "../report/json-text.ts";
import { exitCodes } from "./exit-code.ts";
import { makePlans, settingsHere } from "./make-plans.ts";
import type { LintFlags } from "./options.ts";
import { writeStdout } from "./stdout.ts";

type ShowFlags = Pick<LintFlags, "settings" | "config"> &
  Partial<Pick<LintFlags, "forceExclude" | "errorOnUnmatchedPattern">>;

/** One object for one model (or for none given), a list for several. Returns the exit code. */
export async function showConfig(patterns: readonly string[], flags: ShowFlags): Promise<number> {
  const { forceExclude = false, errorOnUnmatchedPattern = true } = flags;
  const planFlags = { ...flags, table: false, forceExclude, errorOnUnmatchedPattern };
  const shown =
    patterns.length === 0
      ? [await settingsHere(planFlags)]
      : (await makePlans(patterns, planFlags)).map(({ path, settings }) => ({ path, ...settings }));
  const value = shown.length === 1 ? shown[0] : shown;
  await writeStdout(jsonText(value));
  return exitCodes.clean;
}
