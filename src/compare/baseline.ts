/** @file Findings that are new in a model and that its baseline lets off: listed as such, and no reason to fail. */
import type { Finding } from "../lint/result.ts";
import type { ModelComparison } from "./result.ts";

/** Fingerprints of what a model is counted for, its errors and warnings, by rule code. */
export type Counted = ReadonlyMap<string, readonly string[]>;

/** A model, or one scenario of it. */
export interface ComparedModel {
  readonly comparison: ModelComparison;
  /** Of head. */
  readonly counted: Counted;
}

export interface CompareBaseline {
  /** As messages name the file. */
  readonly file: string;
  /** Findings that a model is let off, by rule code; undefined where the file does not name it. */
  readonly countsOf: (path: string) => ReadonlyMap<string, number> | undefined;
}

export function countedOf(findings: readonly Finding[]): Counted {
  const counted = new Map<string, string[]>();
  for (const { code, fingerprint, severity } of findings) {
    if (severity === "info") continue;
    const known = counted.get(code);
    if (known === undefined) counted.set(code, [fingerprint]);
    else known.push(fingerprint);
  }
  return counted;
}

/** As a lint of head lets off: all of a rule in all scenarios of a model, or nothing of it (docs/adr/0023-suppressions-by-count.md). */
export function withBaseline(
  models: readonly ComparedModel[],
  baseline: CompareBaseline | undefined,
): ModelComparison[] {
  const found = new Map<string, Map<string, Set<string>>>();
  for (const { comparison, counted } of models) {
    const ofModel = found.get(comparison.path) ?? new Map<string, Set<string>>();
    found.set(comparison.path, ofModel);
    for (const [code, fingerprints] of counted)
      ofModel.set(code, new Set([...(ofModel.get(code) ?? []), ...fingerprints]));
  }
  return models.map(({ comparison }) => {
    const allowed = baseline?.countsOf(comparison.path);
    if (baseline === undefined || allowed === undefined) return comparison;
    const sizeOf = (code: string) => found.get(comparison.path)?.get(code)?.size ?? 0;
    return letOff(comparison, baseline.file, allowed, sizeOf);
  });
}

function letOff(
  comparison: ModelComparison,
  file: string,
  allowed: ReadonlyMap<string, number>,
  sizeOf: (code: string) => number,
): ModelComparison {
  const { findings, notices } = comparison;
  const isOut = ({ code, severity }: Finding) =>
    severity !== "info" && sizeOf(code) <= (allowed.get(code) ?? 0);
  const isIn = (finding: Finding) => !isOut(finding);
  const shown = new Set([...findings.new, ...findings.worse].filter(isIn).map(({ code }) => code));
  const exceeded = [...allowed].filter(([code, count]) => shown.has(code) && sizeOf(code) > count);
  return {
    ...comparison,
    findings: {
      ...findings,
      new: findings.new.filter(isIn),
      worse: findings.worse.filter(isIn),
      suppressed: [...findings.new, ...findings.worse].filter(isOut),
    },
    notices: [
      ...notices,
      ...exceeded.map(([code, count]) => ({
        code: "suppressions-exceeded",
        message: `${code}: found ${sizeOf(code)}, and ${file} suppresses ${count}: all are shown`,
      })),
    ],
  };
}
