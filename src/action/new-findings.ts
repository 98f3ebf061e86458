/** @file Of a lint, what a change brings: what a comparison calls new or worse. */
import { freshOf } from "../compare/fresh.ts";
import type { CompareReport } from "../compare/result.ts";
import type { LintReport, ModelReport } from "../lint/result.ts";
import type { Reason } from "./changed-models.ts";

/** Of a model that only its configuration changed for, nobody knows what was found before: all of it is said. */
export function onlyNew(
  report: LintReport,
  { models: compared }: CompareReport,
  reasons: ReadonlyMap<string, Reason>,
): LintReport {
  const fresh = new Map<string, Set<string>>();
  for (const { path, findings, status } of compared) {
    if (status === "same") continue;
    const known = fresh.get(path) ?? new Set();
    for (const { fingerprint } of freshOf(findings)) known.add(fingerprint);
    fresh.set(path, known);
  }
  const isNew = ({ path }: ModelReport, fingerprint: string) =>
    fresh.get(path)?.has(fingerprint) ?? reasons.get(path) === "configuration";
  const models = report.models.map((model) => ({
    ...model,
    findings: model.findings.filter(({ fingerprint }) => isNew(model, fingerprint)),
  }));
  return { ...report, models };
}
