/** @file Findings that tc-lint-suppressions.json lets off: taken out of reports by their counts, and counted anew. */
import type { Finding, ModelReport, NoticeReport, SuppressedFinding } from "../lint/result.ts";
import type { LintOutcome } from "../settings/lint-plan.ts";
import type { SuppressedModel, Suppressions } from "../settings/suppressions.ts";
import { type FoundModel, foundModels, isCounted } from "./found-models.ts";
import { digestOf, type Located, located } from "./moved-models.ts";
import { isCovered, isHidden, type SuppressContext, stillThere } from "./still-there.ts";

/** What to write. `codes` undefined: of every rule. */
export type SuppressAction =
  | { readonly kind: "suppress"; readonly codes?: ReadonlySet<string> | undefined }
  | { readonly kind: "prune" };

/** More is suppressed than there is. */
export interface StaleSuppression {
  readonly path: string;
  readonly code: string;
  readonly suppressed: number;
  readonly found: number;
}

export interface Suppressed {
  readonly outcomes: readonly LintOutcome[];
  readonly stale: readonly StaleSuppression[];
  /** Models that lie elsewhere than the file says, and are known by their findings. */
  readonly moved: readonly { readonly from: string; readonly to: string }[];
  /** Models of the file that are not there, nor known elsewhere. */
  readonly gone: readonly string[];
  /** Models of the file that are not there, and may be one of the run that it says too little of to know it by. */
  readonly unsure: readonly string[];
  /** Targets and sizes that counts are of, and this run is not: what it wrote left their counts as they were. */
  readonly unseen: readonly string[];
  /** What the file is to say; the same object where nothing changes. */
  readonly next: Suppressions;
}

export function suppress(
  outcomes: readonly LintOutcome[],
  before: Suppressions,
  action: SuppressAction | undefined,
  context: SuppressContext,
): Suppressed {
  const models = foundModels(outcomes, context.keyOf);
  const places = located(models, before, context);
  const { entries, moved, gone, unsure } = places;
  const next = nextOf(models, before, places, action, context);
  const entryOf = ({ key }: FoundModel) => (action === undefined ? entries : next).get(key);
  const byPath = new Map(models.map((model) => [model.path, verdictOf(model, entryOf(model), context)]));
  return {
    outcomes: outcomes.map((outcome) => {
      const verdict = byPath.get(outcome.report.path);
      return verdict === undefined
        ? outcome
        : { ...outcome, report: without(outcome.report, verdict, context) };
    }),
    stale: [...byPath.values()].flatMap((verdict) => verdict?.stale ?? []),
    moved,
    gone,
    unsure,
    unseen: action?.kind === "suppress" ? unseenOf(models, next) : [],
    next,
  };
}

function unseenOf(models: readonly FoundModel[], next: Suppressions): string[] {
  const unseen = models.flatMap(
    ({ key, at }) => next.get(key)?.at.filter((each) => !at.includes(each)) ?? [],
  );
  return [...new Set(unseen)].sort();
}

/** What the file is to say after `action`. */
function nextOf(
  models: readonly FoundModel[],
  before: Suppressions,
  { entries, moved, gone }: Located,
  action: SuppressAction | undefined,
  context: SuppressContext,
): Suppressions {
  if (action === undefined) return before;
  const next = new Map(before);
  const isPruned = action.kind === "prune";
  const taken = [...(isPruned ? gone : []), ...moved.map(({ from }) => from)];
  for (const key of taken) next.delete(key);
  for (const model of models) {
    const entry = entries.get(model.key);
    if (!model.isWhole || (isPruned && entry === undefined)) {
      if (entry !== undefined) next.set(model.key, entry);
      continue;
    }
    const rules = isPruned
      ? prunedRules(model, entry, context)
      : suppressedRules(model, entry, action.codes, context);
    const at = isPruned ? (entry?.at ?? []) : [...new Set([...(entry?.at ?? []), ...model.at])];
    if (rules.size === 0) next.delete(model.key);
    else if (entry !== undefined && isPruned && isSame(rules, entry.rules))
      next.set(model.key, withDigest(model, entry, context));
    else next.set(model.key, { at, ...countedAt(model, entry, rules, context), rules });
  }
  return next;
}

/** Where some of what is let off is not listed, or not looked for, the digest stays until a run lists all of it. */
function countedAt(
  model: FoundModel,
  entry: SuppressedModel | undefined,
  rules: ReadonlyMap<string, number>,
  { minSavingOf }: SuppressContext,
): Pick<SuppressedModel, "minSaving" | "digest"> {
  const minSaving = minSavingOf(model.path);
  if (entry === undefined || (isCovered(model, entry) && isListed(model, rules)))
    return { minSaving, digest: digestOf(model, rules.keys()) };
  return { minSaving: Math.min(minSaving, entry.minSaving), digest: entry.digest };
}

function isListed({ found }: FoundModel, rules: ReadonlyMap<string, number>): boolean {
  return [...rules].every(([code, count]) => (found.get(code)?.size ?? 0) === count);
}

/** The digest of what a run of the same targets lists, where that is what was counted: it may be of what is there no more. */
function withDigest(model: FoundModel, entry: SuppressedModel, context: SuppressContext): SuppressedModel {
  const isAlike = isCovered(model, entry) && entry.at.length === model.at.length;
  if (!isAlike || isHidden(model, entry, context) || !isListed(model, entry.rules)) return entry;
  const digest = digestOf(model, entry.rules.keys());
  return digest === entry.digest ? entry : { ...entry, digest };
}

function isSame(a: ReadonlyMap<string, number>, b: ReadonlyMap<string, number>): boolean {
  return a.size === b.size && [...a].every(([code, count]) => b.get(code) === count);
}

function suppressedRules(
  model: FoundModel,
  entry: SuppressedModel | undefined,
  codes: ReadonlySet<string> | undefined,
  context: SuppressContext,
): ReadonlyMap<string, number> {
  const rules = new Map(entry?.rules);
  // What was there and is not any more goes, where it was looked for.
  for (const code of new Set([...rules.keys(), ...model.found.keys()])) {
    if (codes?.has(code) === false || !context.isOn(model.path, code)) continue;
    const listed = model.found.get(code)?.size ?? 0;
    const before = rules.get(code);
    const count =
      entry === undefined || before === undefined ? listed : counted(model, [code, before], entry, context);
    if (count === 0) rules.delete(code);
    else rules.set(code, count);
  }
  return rules;
}

/** A run that lacks a target of what was counted cannot know that it is not there any more: it takes nothing out. */
function counted(
  model: FoundModel,
  rule: readonly [code: string, suppressed: number],
  entry: SuppressedModel,
  context: SuppressContext,
): number {
  const found = stillThere(model, rule, entry, context);
  return isCovered(model, entry) ? found : Math.max(found, rule[1]);
}

function prunedRules(
  model: FoundModel,
  entry: SuppressedModel | undefined,
  context: SuppressContext,
): ReadonlyMap<string, number> {
  const rules = new Map(entry?.rules);
  for (const { code, found } of staleOf(model, entry, context)) {
    if (found === 0) rules.delete(code);
    else rules.set(code, found);
  }
  return rules;
}

/** Of what was looked for, in all of the targets and sizes that were counted. */
function staleOf(
  model: FoundModel,
  entry: SuppressedModel | undefined,
  context: SuppressContext,
): StaleSuppression[] {
  const { path } = model;
  if (entry === undefined || !isCovered(model, entry)) return [];
  return [...entry.rules].flatMap(([code, suppressed]) => {
    const found = stillThere(model, [code, suppressed], entry, context);
    return found < suppressed && context.isOn(path, code) ? [{ path, code, suppressed, found }] : [];
  });
}

interface Verdict {
  /** Rules of which nothing is shown. */
  readonly codes: ReadonlySet<string>;
  readonly notices: readonly NoticeReport[];
  readonly stale: readonly StaleSuppression[];
}

/** All of a rule or nothing of it: which of more findings than were counted are the new ones, a count does not say. */
function verdictOf(
  model: FoundModel,
  entry: SuppressedModel | undefined,
  context: SuppressContext,
): Verdict | undefined {
  if (entry === undefined) return undefined;
  const codes = new Set<string>();
  const notices: NoticeReport[] = [];
  for (const [code, suppressed] of entry.rules) {
    const found = model.found.get(code)?.size ?? 0;
    if (found <= suppressed) codes.add(code);
    else {
      const message = `${code}: found ${found}, and ${context.file} suppresses ${suppressed}: all are shown`;
      notices.push({ code: "suppressions-exceeded", message });
    }
  }
  return { codes, notices, stale: staleOf(model, entry, context) };
}

function without(
  report: ModelReport,
  { codes, notices }: Verdict,
  { isListed }: SuppressContext,
): ModelReport {
  const isOut = (each: Pick<Finding, "code" | "severity">) => codes.has(each.code) && isCounted(each);
  const out = report.findings.filter(isOut);
  const fixable = (report.suppressedFixable ?? 0) + out.filter(({ fix }) => fix === "safe").length;
  const listed = out.map((finding): SuppressedFinding => ({ ...finding, by: "suppressions", reason: null }));
  return {
    ...report,
    findings: report.findings.filter((finding) => !isOut(finding)),
    groups: report.groups.filter((group) => !isOut(group)),
    suppressed: report.suppressed + out.length,
    ...(fixable > 0 ? { suppressedFixable: fixable } : {}),
    ...(isListed ? { suppressions: [...(report.suppressions ?? []), ...listed] } : {}),
    notices: [...report.notices, ...notices],
  };
}
