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
  const models = diagnosedModels(report, options);
  return rdjsonText(
    models.flatMap(({ diagnostics }) => diagnostics),
    { url: options.pages.home },
    (code) => linkOf(docs.get(code), options),
  );
}

export function rdjsonText(
  diagnostics: readonly Diagnostic[],
  source: { readonly url?: string } = {},
  linkTo: (code: string) => { readonly url?: string } = () => ({}),
): string {
  const diagnosticOf = ({ level, place, code, message }: Diagnostic) => ({
    message,
    location: { path: place.file, range: { start: { line: place.line } } },
    severity: severities[level],
    code: { value: code, ...linkTo(code) },
  });
  return jsonText({ source: { name: "tc-lint", ...source }, diagnostics: diagnostics.map(diagnosticOf) });
}

function linkOf(doc: RuleDoc | undefined, { pages }: RenderOptions): { readonly url?: string } {
  if (doc === undefined || doc.url === null) return {};
  return { url: doc.url ?? pages.rule(doc.code) };
}
