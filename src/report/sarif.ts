/**
 * @file SARIF 2.1.0, the way GitHub takes it: every result has a physical location, rules have help, nothing is empty.
 *
 * A binary model has no lines. Results point at line 1 all the same (GitHub rejects the file otherwise) and name the node
 * as a logical location; fingerprints are tc-lint's own.
 */

import { counted } from "../ir/format.ts";
import { byImportance } from "../ir/importance.ts";
import type {
  Finding,
  LintReport,
  ModelReport,
  NoticeReport,
  Severity,
  SuppressedFinding,
} from "../lint/result.ts";
import { sentenceOf } from "./finding-text.ts";
import { jsonText } from "./json-text.ts";
import type { RenderOptions, RuleDoc } from "./render.ts";
import { budgetResults, budgetRule } from "./sarif-budgets.ts";
import { driverOf, encoded, fileLocation, logOf, mostResults, quoted, uriOf } from "./sarif-parts.ts";
import { acrossScenarios } from "./scenarios.ts";

/** GitHub's longest description. */
const maxDescription = 1024;

const levels = { error: "error", warn: "warning", info: "note" } as const satisfies Record<Severity, string>;

interface Located {
  readonly finding: Finding | SuppressedFinding;
  readonly model: ModelReport;
}

export function renderSarif(whole: LintReport, options: RenderOptions): string {
  const report = { ...whole, models: acrossScenarios(whole.models) };
  const all: Located[] = report.models.flatMap((model) =>
    [...model.findings, ...(model.suppressions ?? [])].map((finding) => ({ finding, model })),
  );
  all.sort((a, b) => byImportance(a.finding, b.finding));
  const known = rulesOf(all.slice(0, mostResults), options);
  const budgets = report.models.flatMap((model) => budgetResults(model, known.length, options));
  const shown = all.slice(0, Math.max(0, mostResults - budgets.length));
  const rules = budgets.length === 0 ? known : [...known, budgetRule];
  const indexOf = new Map(known.map(({ id }, index) => [id, index]));
  const run = {
    tool: { driver: driverOf(report.tool.version, rules, options) },
    automationDetails: { id: categoryOf(report) },
    columnKind: "utf16CodeUnits",
    invocations: [invocationOf(report, all.length - shown.length, options)],
    artifacts: report.models.map(({ path }) => ({
      location: { uri: uriOf(path, options) },
      roles: ["analysisTarget"],
    })),
    results: [
      ...budgets,
      ...shown.map((located) => resultOf(located, indexOf.get(located.finding.code) ?? -1, options)),
    ],
    ...accountsOf(whole, options),
  };
  return jsonText(logOf(run));
}

/** Where each model stands after each step, as JSON has it: results have savings alone. */
function accountsOf({ models }: LintReport, options: RenderOptions): object {
  const accounts = models.flatMap(({ path, scenario, target, account }) =>
    account.length === 0 ? [] : [{ uri: uriOf(path, options), scenario, target, account }],
  );
  return accounts.length === 0 ? {} : { properties: { accounts } };
}

/**
 * GitHub keeps the alerts of each category apart (what stands before the last slash): a matrix of targets uploads one each, and none closes
 * the others' alerts.
 */
function categoryOf({ models }: LintReport): string {
  const [first, ...more] = new Set(
    models.map(({ target: { gpu, stack, precision } }) => `${gpu}/${stack}/${precision}`),
  );
  return `tc-lint/${first === undefined || more.length > 0 ? "several" : first}/`;
}

/** Every documented rule, and any other that a finding names. */
function rulesOf(shown: readonly Located[], { docs, pages }: RenderOptions) {
  const known = new Set(docs.map(({ code }) => code));
  const missing = new Map<string, Finding>();
  for (const { finding } of shown) if (!known.has(finding.code)) missing.set(finding.code, finding);
  const undocumented = [...missing.values()].map(
    ({ code, rule, fix }): RuleDoc => ({
      code,
      name: rule,
      severity: "warn",
      fix,
      summary: rule,
      markdown: rule,
    }),
  );
  return [...docs, ...undocumented].map((doc) => ({
    id: doc.code,
    name: doc.name,
    shortDescription: { text: cut(doc.summary) },
    fullDescription: { text: cut(doc.summary) },
    help: { text: doc.markdown, markdown: doc.markdown },
    ...helpOf(doc, known, pages),
    defaultConfiguration: { level: levels[doc.severity] },
    properties: {
      precision: "high",
      "problem.severity": doc.severity === "warn" ? "warning" : "recommendation",
      tags: ["performance", "tensor-cores"],
    },
  }));
}

function helpOf({ code, url }: RuleDoc, known: ReadonlySet<string>, pages: RenderOptions["pages"]): object {
  if (url === null || !known.has(code)) return {};
  return { helpUri: url ?? pages.rule(code) };
}

function resultOf(located: Located, ruleIndex: number, options: RenderOptions) {
  const { finding, model } = located;
  const { code, severity, fingerprint, fix, fixCommand, saves, source, module, data } = finding;
  return {
    ruleId: code,
    ruleIndex,
    level: levels[severity],
    message: { text: sentenceOf(finding, quoted) },
    locations: [locationOf(finding, model, options)],
    ...relatedOf(source, options),
    ...suppressionsOf(located),
    partialFingerprints: { primaryLocationLineHash: `${fingerprint}:1`, "tcLint/v1": fingerprint },
    properties: { fix, fixCommand, saves, data, source, module },
  };
}

/** Where one result of a run has them, all do: an empty list is none (SARIF 2.1.0, 3.27.23). */
function suppressionsOf({ finding, model }: Located) {
  if (!("by" in finding)) return model.suppressions === undefined ? {} : { suppressions: [] };
  const { by, reason } = finding;
  const kind = by === "model" ? "inSource" : "external";
  return {
    suppressions: [{ kind, ...(reason === null || reason === "" ? {} : { justification: quoted(reason) }) }],
  };
}

function locationOf({ node, op, graph }: Finding, { path }: ModelReport, options: RenderOptions) {
  return {
    physicalLocation: fileLocation(path, options),
    logicalLocations: [
      { name: node, fullyQualifiedName: `${graph}/${node}`, kind: "node", decoratedName: op },
    ],
  };
}

/** The line of Python that made the layer, where it is part of this checkout. */
function relatedOf(source: Finding["source"], { localPath }: RenderOptions) {
  const file = source === null ? undefined : localPath(source.file);
  if (source === null || file === undefined) return {};
  return {
    relatedLocations: [
      {
        id: 1,
        message: { text: "made by this line" },
        physicalLocation: {
          artifactLocation: { uri: encoded(file) },
          region: { startLine: Math.max(1, source.line) },
        },
      },
    ],
  };
}

function invocationOf(report: LintReport, leftOut: number, options: RenderOptions) {
  const failures = report.models.flatMap(({ path, error }) =>
    error === null ? [] : [notificationOf(path, error, "error", options)],
  );
  const notices = report.models.flatMap(({ path, notices: each }) =>
    each.map((notice) => notificationOf(path, notice, "note", options)),
  );
  const truncated =
    leftOut === 0
      ? []
      : [
          {
            level: "warning",
            message: { text: `${counted(leftOut, "result")} left out: GitHub takes ${mostResults} a run` },
          },
        ];
  const configFiles = [...new Set(report.models.flatMap((model) => model.configFiles))];
  return {
    executionSuccessful: failures.length === 0,
    toolExecutionNotifications: [...failures, ...notices, ...truncated],
    ...(configFiles.length === 0 ? {} : { properties: { configFiles } }),
  };
}

function notificationOf(
  path: string,
  { code, message }: NoticeReport,
  level: "error" | "note",
  options: RenderOptions,
) {
  return {
    level,
    descriptor: { id: code },
    message: { text: quoted(message) },
    locations: [{ physicalLocation: { artifactLocation: { uri: uriOf(path, options) } } }],
  };
}

function cut(text: string): string {
  return text.length > maxDescription ? `${text.slice(0, maxDescription - 1)}…` : text;
}
