/** @file Reviewdog's diagnostic format: one object, a diagnostic a finding, lines from 1. */
import type { LintReport } from "../lint/result.ts";
import { type Diagnostic, diagnosedModels, type Level } from "./diagnostics.ts";
import { jsonText } from "./json-text.ts";
import type { RenderOptions, RuleDoc } from "./render.ts";

const severities = {
  failure: "ERROR",
  error: "ERROR",
  warn: "WARNING",
  info: "INFO",
} as const satisfies Record<Level, string>;

export function renderRdjson(report: LintReport, options: RenderOptions): string {
  const docs = new Map(options.docs.map((doc) => [doc.code, doc]));
  const diagnosticOf = ({ level, place, code, message }: Diagnostic) => ({
    message,
    location: { path: place.file, range: { start: { line: place.line } } },
    severity: severities[level],
    code: { value: code, ...linkOf(docs.get(code), options) },
  });
  const models = diagnosedModels(report, options);
  return jsonText({
    source: { name: "tc-lint", url: options.pages.home },
    diagnostics: models.flatMap(({ diagnostics }) => diagnostics.map(diagnosticOf)),
  });
}

function linkOf(doc: RuleDoc | undefined, { pages }: RenderOptions): { readonly url?: string } {
  if (doc === undefined || doc.url === null) return {};
  return { url: doc.url ?? pages.rule(doc.code) };
}
