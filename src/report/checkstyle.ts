/** @file Checkstyle's XML: files, and in each what is wrong at a line. */
import type { LintReport } from "../lint/result.ts";
import { type Diagnostic, diagnosedModels, type Level } from "./diagnostics.ts";
import type { RenderOptions } from "./render.ts";
import { type XmlElement, xmlText } from "./xml.ts";

const severities = {
  failure: "error",
  error: "error",
  warn: "warning",
  info: "info",
} as const satisfies Record<Level, string>;

/** Readers look at the first number of the version of Checkstyle that first wrote what they read. */
const formatVersion = "4.3";

/** Every model has its file, also where nothing is wrong with it; lines of Python are in files of their own. */
export function renderCheckstyle(report: LintReport, options: RenderOptions): string {
  const byFile = new Map<string, Diagnostic[]>();
  for (const { path, diagnostics } of diagnosedModels(report, options)) {
    if (!byFile.has(path)) byFile.set(path, []);
    for (const diagnostic of diagnostics) {
      const { file } = diagnostic.place;
      const before = byFile.get(file);
      if (before === undefined) byFile.set(file, [diagnostic]);
      else before.push(diagnostic);
    }
  }
  return checkstyleText(byFile);
}

export function checkstyleText(byFile: Iterable<readonly [file: string, readonly Diagnostic[]]>): string {
  const children = [...byFile].map(
    ([name, diagnostics]): XmlElement => ({
      name: "file",
      attributes: { name },
      children: diagnostics.map(errorOf),
    }),
  );
  return xmlText({ name: "checkstyle", attributes: { version: formatVersion }, children });
}

function errorOf({ level, place: { line }, code, rule, message }: Diagnostic): XmlElement {
  const source = `tc-lint.${code === rule ? code : `${code}.${rule}`}`;
  return { name: "error", attributes: { line, severity: severities[level], message, source } };
}
