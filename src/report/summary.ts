/** @file Counts over models, and the whole report from its parts. */

import { errorsOf } from "../ir/error-report.ts";
import { asksForMore } from "../ir/fix-command.ts";
import { counted } from "../ir/format.ts";
import type { AccountStep, Finding, LintReport, ModelReport, Severity } from "../lint/result.ts";
import { exceededCount } from "./budget-text.ts";
import { unmeasuredIn } from "./unmeasured.ts";

export function reportOf(models: readonly ModelReport[], version: string): LintReport {
  const tool = { name: "tc-lint", version } as const;
  return { version: 1, tool, models, errors: errorsOf(models), summary: summarize(models) };
}

function summarize(models: readonly ModelReport[]): LintReport["summary"] {
  const groups = models.flatMap((model) => model.groups);
  const unmeasured = unmeasuredIn(models);
  const count = (wanted: Severity) => groups.filter(({ severity }) => severity === wanted).length;
  return {
    errors: count("error"),
    warnings: count("warn"),
    infos: count("info"),
    fixable: groups.filter(({ fix }) => fix === "safe").length,
    failedModels: models.filter(({ error }) => error !== null).length,
    budgetsExceeded: exceededCount(models),
    ...(unmeasured === undefined ? {} : { unmeasured }),
  };
}

/** `--quiet`: the same report with error-level findings only. */
export function errorsOnly(report: LintReport): LintReport {
  const models = report.models.map((model) => ({
    ...model,
    findings: model.findings.filter(({ severity }) => severity === "error"),
    groups: model.groups.filter(({ severity }) => severity === "error"),
  }));
  return { ...report, models, summary: summarize(models) };
}

/**
 * Microseconds of safe steps that save beyond doubt as a whole, where none of their parts is worth, or sure enough for, a finding, and none is
 * suppressed, or hidden by the user's threshold.
 */
export function unnamedSaving({ models, summary }: Pick<LintReport, "models" | "summary">): number {
  if (summary.fixable > 0) return 0;
  const saved = models
    .filter(({ suppressedFixable = 0, belowThreshold: { hidesFix } }) => suppressedFixable === 0 && !hidesFix)
    .flatMap(({ account }) => {
      const { needsHalf, alone, saves } = account.find(isMade) ?? {};
      return (needsHalf === true ? alone : saves) ?? [];
    });
  return saved.filter(({ low }) => low > 0).reduce((sum, { microseconds }) => sum + microseconds, 0);
}

/** What is told of a report without entries: one with errors alone does not say that there is nothing else. */
export function cleanText(quiet: boolean | undefined): string {
  return quiet === true ? "no errors" : "no findings";
}

/** As `cleanText`, a sentence. */
export function cleanSentence(quiet: boolean | undefined): string {
  return quiet === true ? "No errors." : "No findings.";
}

/** `3 suppressed`: what somebody switched off, in any scenario; empty where nobody did. */
export function suppressedText({ models }: LintReport): string {
  const count = models.reduce((sum, { suppressed }) => sum + suppressed, 0);
  return count === 0 ? "" : `${count} suppressed`;
}

/** Findings as formats count them that have each: one is of a place, in however many scenarios. */
export function findingCount({ models }: Pick<LintReport, "models">): number {
  return new Set(
    models.flatMap(({ path, findings }) => findings.map(({ fingerprint }) => `${path}\0${fingerprint}`)),
  ).size;
}

/**
 * ` (10 findings)` behind the counts of entries; empty where these are as many. Entries are counted in each scenario, a finding once in however
 * many it is: these do not add up, and it is said what they are.
 */
export function findingsText(report: LintReport): string {
  const { errors, warnings, infos } = report.summary;
  const entries = errors + warnings + infos;
  const count = findingCount(report);
  const isOfScenarios = report.models.some(({ scenario }) => scenario !== undefined);
  if (isOfScenarios && entries > 0) return ` (entries of every scenario; ${counted(count, "finding")})`;
  return count === entries ? "" : ` (${counted(count, "finding")})`;
}

/** `1 error, 0 warnings, 2 infos (10 findings)`; of a report with errors alone, these. */
export function entriesText(report: LintReport, quiet: boolean | undefined): string {
  const { errors, warnings, infos } = report.summary;
  const others = quiet === true ? [] : [counted(warnings, "warning"), counted(infos, "info")];
  return `${[counted(errors, "error"), ...others].join(", ")}${findingsText(report)}`;
}

/** The command that makes what is fixable, where all of it has one; with targets of several runs the flag alone. */
export function fixableBy({ models }: Pick<LintReport, "models">): string {
  const safe = models.flatMap(({ groups }) => groups.filter(({ fix }) => fix === "safe"));
  const [only = "--fix", ...others] = new Set(safe.flatMap(({ fixCommand }) => fixCommand ?? []));
  return others.length === 0 ? only : "--fix";
}

export interface RuleStatistics {
  readonly code: string;
  readonly rule: string;
  readonly count: number;
  readonly fixable: number;
  /** Sum over findings; savings may overlap, so this is an upper bound. */
  readonly microseconds: number;
}

/** By rule, the most time first. */
export function statisticsOf(report: LintReport): RuleStatistics[] {
  const byCode = new Map<string, Finding[]>();
  for (const finding of report.models.flatMap(({ findings }) => findings)) {
    const before = byCode.get(finding.code);
    if (before === undefined) byCode.set(finding.code, [finding]);
    else before.push(finding);
  }
  return [...byCode.entries()]
    .map(([code, findings]) => ({
      code,
      rule: findings[0]?.rule ?? code,
      count: findings.length,
      fixable: findings.filter(({ fix }) => fix === "safe").length,
      microseconds: findings.reduce((sum, { saves }) => sum + Math.max(0, saves?.microseconds ?? 0), 0),
    }))
    .sort((a, b) => b.microseconds - a.microseconds || b.count - a.count || (a.code < b.code ? -1 : 1));
}

/** Half alone makes some safe fixes, and beside some flags it is stored with all of them. */
function isMade({ step, needsHalf, alone, command, precision }: AccountStep): boolean {
  if (step !== "safe" || command === undefined) return false;
  return needsHalf === true ? alone !== undefined : precision === "as-is" || !asksForMore(command);
}
