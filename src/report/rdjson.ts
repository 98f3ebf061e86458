/** @file Reviewdog's diagnostic format: one object, a diagnostic a finding, lines from 1. */
import type { LintReport } from "../lint/result.ts";
import { type Diagnostic, diagnosedModels, type Level } from "./diagnostics.ts";
import { jsonText } from "./json-text.ts";
import type { RenderOptions } from "./render.ts";

const severities = {
  failure: "ERROR",
  error: "ERROR",
  warn: "WARNING",
  info: "INFO",
} as const satisfies Record<Level, string>;

export function renderRdjson(report: LintReport, options: RenderOptions): string {
  const documented = new Set(options.docs.map(({ code }) => code));
  const diagnosticOf = ({ level, place, code, message }: Diagnostic) => ({
    message,
    location: { path: place.file, range: { start: { line: place.line } } },
    severity: severities[level],
    code: { value: code, ...(documented.has(code) ? { url: options.pages.rule(code) } : {}) },
  });
  const models = diagnosedModels(report, options);
  return jsonText({
    source: { name: "tc-lint", url: options.pages.home },
    diagnostics: models.flatMap(({ diagnostics }) => diagnostics.map(diagnosticOf)),
  });
}
