/** @file tc-lint-suppressions.json as a run of the command line uses it: read before the work, applied to its outcomes, written. */
import { type StaleSuppression, type SuppressAction, suppress } from "../api/suppress.ts";
import { checkReportFile, writeReportFile } from "../files/report-file.ts";
import {
  isSuppressedThere,
  noSuppressions,
  readSuppressions,
  type SuppressionsFile,
  suppressedPath,
} from "../files/suppressions-file.ts";
import { counted } from "../ir/format.ts";
import { jsonText } from "../report/json-text.ts";
import type { LintOutcome, LintPlan } from "../settings/lint-plan.ts";
import { type RuleInfo, selectRules } from "../settings/rule-selectors.ts";
import type { CarriedSuppressions } from "../settings/shard-report.ts";
import { standard } from "../settings/standard.ts";
import { parseSuppressions, type Suppressions, suppressionsValue } from "../settings/suppressions.ts";
import type { LintFlags } from "./options.ts";
import { complain } from "./stderr.ts";
import type { SuppressFlags } from "./suppress-options.ts";

export interface Baseline {
  /** Files that no report may replace. */
  readonly files: readonly string[];
  /** Outcomes without what is suppressed, and whether the run fails for what is suppressed in vain: not for what it repaired itself. */
  readonly apply: (
    outcomes: readonly LintOutcome[],
    plans: readonly PlanSettings[],
    repaired?: ReadonlySet<string>,
  ) => { readonly outcomes: readonly LintOutcome[]; readonly isStale: boolean };
  /** For a run that applies it later, where the file may not be. */
  readonly carried: () => CarriedSuppressions | null;
  /** What the file calls a model; null without a file. */
  readonly keyOf: (path: string) => string | null;
}

export type PlanSettings = Pick<LintPlan, "path" | "settings">;

const none: Baseline = {
  files: [],
  apply: (outcomes) => ({ outcomes, isStale: false }),
  carried: () => null,
  keyOf: () => null,
};

/** Throws InputError, before any work, where the file cannot be read, or could not be written. */
export function openBaseline(flags: LintFlags, rules: readonly RuleInfo[]): Baseline {
  const { location, isRead } = flags.suppressions;
  if (!isRead) return none;
  const config = flags.config.kind === "file" ? flags.config.path : undefined;
  const file = readSuppressions({ location, config }, complain);
  const action = actionOf(flags.suppressions, rules);
  if (file.content === undefined && action?.kind !== "suppress") {
    if (location === undefined && action === undefined) return none;
    throw noSuppressions(file);
  }
  if (action !== undefined) checkReportFile(file.path);
  const keyOf = (path: string) => suppressedPath(file.path, path);
  const isThere = (key: string) => isSuppressedThere(file.path, key);
  return {
    files: [file.path],
    apply: (outcomes, plans, repaired) =>
      applied(file, action, { outcomes, plans, repaired, flags, keyOf, isThere }),
    carried: () => carriedOf(file, isThere),
    keyOf,
  };
}

function carriedOf(
  { shown, content }: SuppressionsFile,
  isThere: (key: string) => boolean,
): CarriedSuppressions {
  if (content === undefined) return { shown, text: null, absent: [] };
  const absent = [...content.keys()].filter((key) => !isThere(key));
  return { shown, text: jsonText(suppressionsValue(content)), absent };
}

/** The baseline of shards, as their runs saw it. */
export function carriedBaseline(
  carried: CarriedSuppressions | null,
  keys: ReadonlyMap<string, string | null>,
  flags: SuppressedFlags,
): Pick<Baseline, "apply"> {
  if (carried === null) return none;
  const { shown, text, absent } = carried;
  const content = text === null ? undefined : parseSuppressions(text, shown);
  const gone = new Set(absent);
  const keyOf = (path: string) => keys.get(path) ?? path;
  const places = { keyOf, isThere: (key: string) => !gone.has(key) };
  return {
    apply: (outcomes, plans) =>
      applied({ path: shown, shown, content }, undefined, { outcomes, plans, flags, ...places }),
  };
}

export type SuppressedFlags = Pick<LintFlags, "suppressed"> & {
  readonly settings: Pick<LintFlags["settings"], "select" | "ignore">;
  readonly suppressions: Pick<SuppressFlags, "passOnUnpruned">;
};

interface Run {
  readonly outcomes: readonly LintOutcome[];
  readonly plans: readonly PlanSettings[];
  /** Paths of models that this run repaired. */
  readonly repaired?: ReadonlySet<string> | undefined;
  readonly flags: SuppressedFlags;
  readonly keyOf: (path: string) => string;
  readonly isThere: (key: string) => boolean;
}

function applied(
  file: SuppressionsFile,
  action: SuppressAction | undefined,
  { outcomes, plans, repaired, flags, keyOf, isThere }: Run,
): ReturnType<Baseline["apply"]> {
  const before = file.content ?? new Map();
  const settings = new Map(plans.map((plan) => [plan.path, plan.settings]));
  // A rule that nobody knows here, of a plugin that the run has not or of another version, is found nowhere for that.
  const isOn = (path: string, code: string) => {
    const { severities = {}, nodeRules = [] } = settings.get(path) ?? {};
    const isSomewhere = nodeRules.some((each) => (each.severities[code] ?? "off") !== "off");
    return (Object.hasOwn(severities, code) && severities[code] !== "off") || isSomewhere;
  };
  const result = suppress(outcomes, before, action, {
    file: file.shown,
    keyOf,
    isThere,
    isOn,
    isSelection: flags.settings.select !== undefined || flags.settings.ignore !== undefined,
    minSavingOf: (path) => settings.get(path)?.minSaving ?? standard.minSaving,
    isListed: flags.suppressed,
  });
  if (action === undefined) sayMoved(file, result.moved, result.gone);
  else write(file, before, result.next);
  sayUnsure(file, result.unsure);
  sayUnseen(file, result.unseen);
  const isOwn = ({ path }: StaleSuppression) => repaired?.has(path) === true;
  const vain = result.stale.filter((each) => !isOwn(each));
  sayStale(file, result.stale.filter(isOwn), "what this run repaired");
  sayStale(file, vain, "what is found no more");
  return {
    outcomes: result.outcomes,
    isStale: vain.length > 0 && !flags.suppressions.passOnUnpruned,
  };
}

/** Throws InputError where a rule is unknown. */
function actionOf({ action }: SuppressFlags, rules: readonly RuleInfo[]): SuppressAction | undefined {
  if (action?.kind !== "suppress" || action.rules === undefined) return action;
  const codes = action.rules.flatMap((name) => selectRules(name, rules, "--suppress-rule"));
  return { kind: "suppress", codes: new Set(codes) };
}

function write({ path, shown, content }: SuppressionsFile, before: Suppressions, next: Suppressions): void {
  const text = jsonText(suppressionsValue(next));
  if (content !== undefined && text === jsonText(suppressionsValue(before))) {
    complain(`${shown}: nothing to change`);
    return;
  }
  writeReportFile(path, text);
  const findings = [...next.values()].flatMap(({ rules }) => [...rules.values()]);
  const total = findings.reduce((sum, count) => sum + count, 0);
  complain(`${shown}: written; it suppresses ${counted(total, "finding")} in ${counted(next.size, "model")}`);
}

/** Lines of stderr about one thing. */
const mostLines = 20;

function sayEach(lines: readonly string[]): void {
  for (const line of lines.slice(0, mostLines)) complain(line);
  if (lines.length > mostLines) complain(`and ${lines.length - mostLines} more`);
}

function sayMoved(
  { shown }: SuppressionsFile,
  moved: readonly { readonly from: string; readonly to: string }[],
  gone: readonly string[],
): void {
  sayEach([
    ...moved.map(({ from, to }) => `${shown}: "${from}" is "${to}" now`),
    ...gone.map((path) => `${shown}: "${path}" is not there any more`),
  ]);
  if (moved.length + gone.length > 0) complain(`${shown}: --prune-suppressions brings it up to date`);
}

function sayUnsure({ shown }: SuppressionsFile, unsure: readonly string[]): void {
  const how = "a run with the options of its baseline knows it by its findings";
  sayEach(unsure.map((path) => `${shown}: "${path}" may be a model of this run, and stays: ${how}`));
}

function sayUnseen({ shown }: SuppressionsFile, unseen: readonly string[]): void {
  if (unseen.length === 0) return;
  const how = "only a run of all that a model was counted at takes out what is found no more";
  sayEach(unseen.map((at) => `${shown}: what was counted at ${at} stays: this run is not of that`));
  complain(`${shown}: ${how}; to count it anew, take the model out of the file`);
}

function sayStale({ shown }: SuppressionsFile, stale: readonly StaleSuppression[], what: string): void {
  sayEach(
    stale.map(
      ({ path, code, suppressed, found }) =>
        `${shown}: ${path}: ${code}: suppresses ${suppressed}, found ${found}`,
    ),
  );
  if (stale.length > 0) complain(`${shown}: suppresses ${what}; --prune-suppressions takes it out`);
}
