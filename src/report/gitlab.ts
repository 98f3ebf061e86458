/** @file GitLab's code quality report: a list of issues, each known by a fingerprint of its own. */

import type { LintReport } from "../lint/result.ts";
import { type Diagnostic, diagnosedModels, type Level } from "./diagnostics.ts";
import { jsonText } from "./json-text.ts";
import type { RenderOptions } from "./render.ts";
import { ruleTitle } from "./rule-title.ts";

/** GitLab has five; `critical` is left to nobody. */
const severities = {
  failure: "blocker",
  error: "major",
  warn: "minor",
  info: "info",
} as const satisfies Record<Level, string>;

export function renderGitlab(report: LintReport, options: RenderOptions): string {
  const models = diagnosedModels(report, options).sort((a, b) => (a.path < b.path ? -1 : 1));
  return gitlabText(models.flatMap(({ diagnostics }) => diagnostics));
}

export function gitlabText(diagnostics: readonly Diagnostic[]): string {
  const unique = new UniqueFingerprints();
  return jsonText(diagnostics.map((diagnostic) => issueOf(diagnostic, unique.of(diagnostic))));
}

function issueOf({ level, place, code, rule, message }: Diagnostic, fingerprint: string) {
  return {
    description: message,
    check_name: ruleTitle(code, rule),
    fingerprint,
    severity: severities[level],
    location: { path: place.file, lines: { begin: place.line } },
  };
}

/**
 * GitLab shows one issue a fingerprint, and copies of a model share theirs: the second is numbered 2, and so on. A model that is moved, and one
 * that a copy is made of, keep what they have: it is the set of fingerprints that two reports are compared by.
 */
class UniqueFingerprints {
  readonly #seen = new Map<string, number>();

  of({ fingerprint }: Diagnostic): string {
    const number = (this.#seen.get(fingerprint) ?? 0) + 1;
    this.#seen.set(fingerprint, number);
    return number === 1 ? fingerprint : `${fingerprint}-${number}`;
  }
}
