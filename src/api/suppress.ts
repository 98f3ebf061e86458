/** @file Findings that tc-lint-suppressions.json lets off: taken out of reports by their counts, and counted anew. */
import { createHash } from "node:crypto";
import type { Finding, ModelReport, NoticeReport, SuppressedFinding } from "../lint/result.ts";
import type { LintOutcome } from "../settings/lint-plan.ts";
import type { SuppressedModel, Suppressions } from "../settings/suppressions.ts";

/** What is known of a run beside its outcomes. */
export interface SuppressContext {
  /** As messages name the file. */
  readonly file: string;
  /** What the file calls a model. */
  readonly keyOf: (path: string) => string;
  readonly isThere: (key: string) => boolean;
  /** Whether a rule was looked for in a model. */
  readonly isOn: (path: string, code: string) => boolean;
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

/** One model of a run, in all its scenarios. */
interface FoundModel {
  readonly path: string;
  readonly key: string;
  /** Fingerprints by rule code. */
  readonly found: ReadonlyMap<string, ReadonlySet<string>>;
  readonly at: readonly string[];
  /** Whether it was linted to its end in each. */
  readonly isWhole: boolean;
}

export function suppress(
  outcomes: readonly LintOutcome[],
  before: Suppressions,
  action: SuppressAction | undefined,
  context: SuppressContext,
): Suppressed {
  const models = foundModels(outcomes, context);
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

/** What fails no run needs nobody to let it off. */
export function isCounted({ severity }: Pick<Finding, "severity">): boolean {
  return severity !== "info";
}

function foundModels(outcomes: readonly LintOutcome[], { keyOf }: SuppressContext): FoundModel[] {
  const byPath = new Map<string, ModelReport[]>();
  for (const { report } of outcomes) {
    const before = byPath.get(report.path);
    if (before === undefined) byPath.set(report.path, [report]);
    else before.push(report);
  }
  return [...byPath].map(([path, reports]) => {
    const found = new Map<string, Set<string>>();
    for (const { code, fingerprint, ...finding } of reports.flatMap(({ findings }) => findings)) {
      if (!isCounted(finding)) continue;
      const fingerprints = found.get(code);
      if (fingerprints === undefined) found.set(code, new Set([fingerprint]));
      else fingerprints.add(fingerprint);
    }
    const at = [...new Set(reports.map(targetOf))];
    return { path, key: keyOf(path), found, at, isWhole: reports.every(({ error }) => error === null) };
  });
}

/** `h200/ort-cuda/fp16 batch=8`: the target, and the sizes that somebody gave. */
function targetOf({ target: { gpu, stack, precision }, symbols, assumed }: ModelReport): string {
  const left = new Set(assumed);
  const sizes = Object.entries(symbols).flatMap(([name, size]) => (left.has(name) ? [] : `${name}=${size}`));
  return [`${gpu}/${stack}/${precision}`, ...sizes.sort()].join(" ");
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
    else next.set(model.key, { at, digest: digestOf(model, rules.keys()), rules });
  }
  return next;
}

function isSame(a: ReadonlyMap<string, number>, b: ReadonlyMap<string, number>): boolean {
  return a.size === b.size && [...a].every(([code, count]) => b.get(code) === count);
}

function suppressedRules(
  { path, found }: FoundModel,
  entry: SuppressedModel | undefined,
  codes: ReadonlySet<string> | undefined,
  { isOn }: SuppressContext,
): ReadonlyMap<string, number> {
  const rules = new Map(entry?.rules);
  // What was there and is not any more goes, where it was looked for.
  for (const code of new Set([...rules.keys(), ...found.keys()])) {
    if (codes?.has(code) === false || !isOn(path, code)) continue;
    const count = found.get(code)?.size ?? 0;
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
  { path, found, at, isWhole }: FoundModel,
  entry: SuppressedModel | undefined,
  { isOn }: SuppressContext,
): StaleSuppression[] {
  if (entry === undefined || !isWhole || !entry.at.every((target) => at.includes(target))) return [];
  return [...entry.rules].flatMap(([code, suppressed]) => {
    const count = found.get(code)?.size ?? 0;
    return count < suppressed && isOn(path, code) ? [{ path, code, suppressed, found: count }] : [];
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
