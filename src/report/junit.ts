/** @file JUnit's XML: a suite a model, a case a rule that found something there, and one a budget that is exceeded. */

import { counted, headOf } from "../ir/format.ts";
import type { LintReport } from "../lint/result.ts";
import { type DiagnosedModel, type Diagnostic, diagnosedModels } from "./diagnostics.ts";
import { fixSentence, sentenceOf } from "./finding-text.ts";
import type { RenderOptions } from "./render.ts";
import { ruleTitle } from "./rule-title.ts";
import { savedText, savedTogether } from "./share.ts";
import { type XmlElement, xmlText } from "./xml.ts";

type Diagnostics = readonly [Diagnostic, ...Diagnostic[]];

interface Suite {
  readonly path: string;
  readonly cases: readonly Diagnostics[];
  readonly groups: DiagnosedModel["groups"];
}

export function renderJunit(report: LintReport, options: RenderOptions): string {
  const suites = diagnosedModels(report, options).map(suiteOf);
  return xmlText({
    name: "testsuites",
    attributes: { name: "tc-lint", ...countsOf(suites) },
    children: suites.map(elementOf),
  });
}

/** The worst of a rule comes first, and says what its case is. */
function suiteOf({ path, diagnostics, groups }: DiagnosedModel): Suite {
  const byTitle = new Map<string, [Diagnostic, ...Diagnostic[]]>();
  for (const diagnostic of diagnostics) {
    const title = ruleTitle(diagnostic.code, diagnostic.rule);
    const before = byTitle.get(title);
    if (before === undefined) byTitle.set(title, [diagnostic]);
    else before.push(diagnostic);
  }
  return { path, cases: [...byTitle.values()], groups };
}

function countsOf(suites: readonly Suite[]) {
  const levels = suites.flatMap(({ cases }) => cases.map(([{ level }]) => level));
  const clean = suites.filter(({ cases }) => cases.length === 0).length;
  return {
    tests: levels.length + clean,
    failures: levels.filter((level) => level === "error" || level === "warn").length,
    errors: levels.filter((level) => level === "failure").length,
  };
}

function elementOf(suite: Suite): XmlElement {
  const { path, cases, groups } = suite;
  // A suite without a case is left out by readers, as if nobody had linted the model.
  const clean: XmlElement = {
    name: "testcase",
    attributes: { name: "tc-lint", classname: path, file: path },
  };
  const children = cases.length === 0 ? [clean] : cases.map((each) => caseOf(each, path, groups));
  return { name: "testsuite", attributes: { name: path, ...countsOf([suite]), skipped: 0 }, children };
}

/** What is for information passes, and is said all the same. */
function caseOf(diagnostics: Diagnostics, path: string, groups: Suite["groups"]): XmlElement {
  const [{ level, code, rule, place }] = diagnostics;
  const name = ruleTitle(code, rule);
  const attributes = { name, classname: path, file: place.file, line: place.line };
  const { shown, more } = headOf(diagnostics);
  const text = [...shown.map((each) => `${each.place.file}:${each.place.line}: ${each.message}`), ...more];
  const summary = summaryOf(diagnostics, groups);
  const results = {
    failure: { name: "error", attributes: { type: code, message: summary }, text },
    error: { name: "failure", attributes: { type: "error", message: summary }, text },
    warn: { name: "failure", attributes: { type: "warning", message: summary }, text },
    // No attribute says it there.
    info: { name: "system-out", attributes: {}, text: diagnostics.length > 1 ? [summary, ...text] : text },
  } as const satisfies Record<Diagnostic["level"], XmlElement>;
  return { name: "testcase", attributes, children: [results[level]] };
}

/** The first says what it is about; what is saved is of all. */
function summaryOf([first, ...others]: Diagnostics, groups: Suite["groups"]): string {
  const findings = [first, ...others].flatMap(({ finding }) => finding ?? []);
  const saved = savedTogether(findings, groups);
  const what =
    first.finding === undefined
      ? first.message
      : sentenceOf({ ...first.finding, saves: null, fixCommand: null });
  const saving = saved === null ? "" : savedText(saved);
  const fix = fixSentence(findings);
  if (others.length === 0) return `${saving === "" ? what : `${what} Saves ${saving}.`}${fix}`;
  const more = `${what} And ${counted(others.length, "more finding")}`;
  return `${saving === "" ? `${more}.` : `${more}; together they save ${saving}.`}${fix}`;
}
