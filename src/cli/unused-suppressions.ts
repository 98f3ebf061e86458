/** @file `--report-unused-suppressions`: what models and configurations switch off in vain. */
import { counted } from "../ir/format.ts";
import type { ModelReport } from "../lint/result.ts";
import { unusedCode } from "../lint/suppressed.ts";
import { nodeRulesAt } from "../settings/lint-settings.ts";
import { complain } from "./stderr.ts";
import type { PlanSettings } from "./suppressions.ts";

/** Says each, and whether there are any. Reports hold what is suppressed, and a notice of what a model's metadata says in vain. */
export function sayUnused(reports: readonly ModelReport[], plans: readonly PlanSettings[]): boolean {
  const inModels = reports.filter(({ notices }) => notices.some(({ code }) => code === unusedCode));
  const overrides = unusedOverrides(reports, plans);
  for (const from of overrides) complain(`${from}: switches off what is found nowhere`);
  if (inModels.length > 0)
    complain(
      `${counted(inModels.length, "model")} with tc-lint.ignore that suppresses nothing: see the notes`,
    );
  return inModels.length + overrides.length > 0;
}

/** An override that has a rule off at nodes or operators, and of which no rule was found there in any model. */
function unusedOverrides(reports: readonly ModelReport[], plans: readonly PlanSettings[]): string[] {
  const unused = new Set<string>();
  const used = new Set<string>();
  // A model that failed says nothing of what is found in it.
  const failed = new Set(reports.filter(({ error }) => error !== null).map(({ path }) => path));
  for (const { path, settings } of plans) {
    for (const { from, severities } of settings.nodeRules) {
      const isLookedFor = (code: string) => settings.severities[code] !== "off";
      const isOff = Object.entries(severities).some(([code, each]) => each === "off" && isLookedFor(code));
      if (isOff) unused.add(from);
      if (failed.has(path)) used.add(from);
    }
  }
  const rulesOf = new Map(plans.map(({ path, settings }) => [path, nodeRulesAt(settings.nodeRules)]));
  for (const { path, suppressions = [] } of reports) {
    for (const finding of suppressions) {
      const from = finding.by === "configuration" ? rulesOf.get(path)?.(finding)?.from : undefined;
      if (from !== undefined) used.add(from);
    }
  }
  return [...unused].filter((from) => !used.has(from));
}

/** Reports as they are where nobody asked for a list. */
export function withoutLists(reports: readonly ModelReport[]): ModelReport[] {
  return reports.map(({ suppressions: _, ...report }) => report);
}
