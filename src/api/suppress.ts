/** @file Findings that tc-lint-suppressions.json lets off: taken out of reports by their counts, and counted anew. */
import { createHash } from "node:crypto";
import type { Finding, ModelReport, NoticeReport, SuppressedFinding } from "../lint/result.ts";
import type { LintOutcome } from "../settings/lint-plan.ts";
import type { SuppressedModel, Suppressions } from "../settings/suppressions.ts";
import { type FoundModel, foundModels, isCounted } from "./found-models.ts";

/** What is known of a run beside its outcomes. */
export interface SuppressContext {
  /** As messages name the file. */
  readonly file: string;
  /** What the file calls a model. */
  readonly keyOf: (path: string) => string;
  readonly isThere: (key: string) => boolean;
  /** Whether a rule was looked for in a model. */
  readonly isOn: (path: string, code: string) => boolean;
  /** Whether the command line left rules out: then others claim what they save otherwise. */
  readonly isSelection: boolean;
  /** Share of a model's time below which the run lists nothing. */
  readonly minSavingOf: (path: string) => number;
  /** Whether reports list what is suppressed. */
  readonly isListed: boolean;
}

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
  const { entries, moved, gone } = located(models, before, context);
  const next = nextOf(models, before, { entries, moved, gone }, action, context);
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
    next,
  };
}

/**
 * How many of `suppressed` findings of a rule a run says are there. One that hides more than was hidden when they were counted may have any of them
 * among what it does not list.
 */
function stillThere(
  { path, found, unlisted }: FoundModel,
  [code, suppressed]: readonly [code: string, suppressed: number],
  entry: SuppressedModel,
  { isOn, isSelection, minSavingOf }: SuppressContext,
): number {
  const listed = found.get(code)?.size ?? 0;
  const hidesMore =
    isSelection ||
    minSavingOf(path) > entry.minSaving ||
    [...entry.rules.keys()].some((each) => !isOn(path, each));
  const hidden = hidesMore ? (unlisted.get(code) ?? 0) : 0;
  return Math.max(listed, Math.min(suppressed, listed + hidden));
}

interface Located {
  /** By key of the model as it is now. */
  readonly entries: ReadonlyMap<string, SuppressedModel>;
  readonly moved: Suppressed["moved"];
  readonly gone: readonly string[];
}

/** A model that the file does not name is one that it names elsewhere, if that is not there any more and the findings are the same. */
function located(models: readonly FoundModel[], file: Suppressions, { isThere }: SuppressContext): Located {
  const entries = new Map<string, SuppressedModel>();
  const keys = new Set(models.map(({ key }) => key));
  const dead = new Set([...file.keys()].filter((key) => !keys.has(key) && !isThere(key)));
  const byDigest = new Map<string, string[]>();
  const ruleSets = new Map<string, readonly string[]>();
  for (const key of dead) {
    const { digest = "", rules } = file.get(key) ?? {};
    if (digest === "" || rules === undefined) continue;
    ruleSets.set([...rules.keys()].sort().join(), [...rules.keys()]);
    byDigest.set(digest, [...(byDigest.get(digest) ?? []), key]);
  }
  // Of two that a model may have been, the one with more of its rules: the other is left for whom it fits alone.
  const largestFirst = [...ruleSets.values()].sort((a, b) => b.length - a.length);
  const moved: { from: string; to: string }[] = [];
  for (const model of models) {
    const entry = file.get(model.key);
    if (entry !== undefined) entries.set(model.key, entry);
    if (entry !== undefined || !model.isWhole) continue;
    const from = firstOf(largestFirst, (codes) => byDigest.get(digestOf(model, codes))?.shift());
    const known = from === undefined ? undefined : file.get(from);
    if (from === undefined || known === undefined) continue;
    dead.delete(from);
    entries.set(model.key, known);
    moved.push({ from, to: model.key });
  }
  return { entries, moved, gone: [...dead] };
}

function firstOf<T, U>(values: Iterable<T>, map: (value: T) => U | undefined): U | undefined {
  for (const value of values) {
    const result = map(value);
    if (result !== undefined) return result;
  }
  return undefined;
}

function digestOf({ found }: FoundModel, codes: Iterable<string>): string {
  const fingerprints = [...codes].flatMap((code) => [...(found.get(code) ?? [])]).sort();
  return createHash("sha256").update(fingerprints.join()).digest("hex").slice(0, 32);
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
    const at = isPruned ? (entry?.at ?? []) : model.at;
    if (rules.size === 0) next.delete(model.key);
    else if (entry !== undefined && isPruned && isSame(rules, entry.rules)) next.set(model.key, entry);
    else next.set(model.key, { at, ...countedAt(model, entry, rules, context), rules });
  }
  return next;
}

/** Where some of what is let off is not listed, a digest of what is would be of something else. */
function countedAt(
  model: FoundModel,
  entry: SuppressedModel | undefined,
  rules: ReadonlyMap<string, number>,
  { minSavingOf }: SuppressContext,
): Pick<SuppressedModel, "minSaving" | "digest"> {
  const minSaving = minSavingOf(model.path);
  const isListed = [...rules].every(([code, count]) => (model.found.get(code)?.size ?? 0) === count);
  if (isListed || entry === undefined) return { minSaving, digest: digestOf(model, rules.keys()) };
  const digest = isSame(rules, entry.rules) ? entry.digest : "";
  return { minSaving: Math.min(minSaving, entry.minSaving), digest };
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
      entry === undefined || before === undefined
        ? listed
        : stillThere(model, [code, before], entry, context);
    if (count === 0) rules.delete(code);
    else rules.set(code, count);
  }
  return rules;
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
  const { path, at, isWhole } = model;
  if (entry === undefined || !isWhole || !entry.at.every((target) => at.includes(target))) return [];
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
