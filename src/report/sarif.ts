/**
 * @file SARIF 2.1.0, the way GitHub takes it: every result has a physical location, rules have help, nothing is empty.
 *
 * A binary model has no lines. Results point at line 1 all the same (GitHub rejects the file otherwise) and name the node
 * as a logical location; fingerprints are tc-lint's own.
 */

import { counted, duration, percent, printable } from "../ir/format.ts";
import type { Finding, LintReport, ModelReport, NoticeReport, Severity } from "../lint/result.ts";
import { jsonText } from "./json-text.ts";
import type { RenderOptions, RuleDoc } from "./render.ts";
import { acrossScenarios } from "./scenarios.ts";
import { byImportance } from "./summary.ts";

/** GitHub rejects a run with more results, and shows the first 5,000. */
const maxResults = 25_000;

/** GitHub's longest description. */
const maxDescription = 1024;

/**
 * With a region, GitHub's uploader hashes the whole file as text, about a second for ten megabytes; above this size
 * results name the file only.
 */
const maxBytesWithRegion = 64 * 1024 * 1024;

const levels = { error: "error", warn: "warning", info: "note" } as const satisfies Record<Severity, string>;

interface Located {
  readonly finding: Finding;
  readonly model: ModelReport;
}

export function renderSarif(whole: LintReport, options: RenderOptions): string {
  const report = { ...whole, models: acrossScenarios(whole.models) };
  const all = report.models.flatMap((model) => model.findings.map((finding) => ({ finding, model })));
  all.sort((a, b) => byImportance(a.finding, b.finding));
  const shown = all.slice(0, maxResults);
  const rules = rulesOf(shown, options.docs);
  const indexOf = new Map(rules.map(({ id }, index) => [id, index]));
  const run = {
    tool: {
      driver: { name: "tc-lint", version: report.tool.version, semanticVersion: report.tool.version, rules },
    },
    columnKind: "utf16CodeUnits",
    invocations: [invocationOf(report, all.length - shown.length, options)],
    artifacts: report.models.map(({ path }) => ({
      location: { uri: uriOf(path, options) },
      roles: ["analysisTarget"],
    })),
    results: shown.map((located) => resultOf(located, indexOf.get(located.finding.code) ?? -1, options)),
  };
  const log = {
    $schema: "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json",
    version: "2.1.0",
    runs: [run],
  };
  return jsonText(log);
}

/** Every documented rule, and any other that a finding names. */
function rulesOf(shown: readonly Located[], docs: readonly RuleDoc[]) {
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
    defaultConfiguration: { level: levels[doc.severity] },
    properties: {
      precision: "high",
      "problem.severity": doc.severity === "warn" ? "warning" : "recommendation",
      tags: ["performance", "tensor-cores"],
    },
  }));
}

function resultOf({ finding, model }: Located, ruleIndex: number, options: RenderOptions) {
  const { code, severity, fingerprint, fix, saves, source, data } = finding;
  return {
    ruleId: code,
    ruleIndex,
    level: levels[severity],
    message: { text: messageOf(finding) },
    locations: [locationOf(finding, model, options)],
    ...relatedOf(source, options),
    partialFingerprints: { primaryLocationLineHash: `${fingerprint}:1`, "tcLint/v1": fingerprint },
    properties: { fix, saves, data },
  };
}

function messageOf({ node, op, message, saves, module }: Finding): string {
  const saving = saves === null ? "" : ` Saves ${duration(saves.microseconds)} (${percent(saves.share)}).`;
  const where = module === null ? "" : ` in ${quoted(module)}`;
  return `${quoted(node)} (${quoted(op)})${where}: ${quoted(message)}${/[.!?]$/.test(message) ? "" : "."}${saving}`;
}

/** Brackets make links in a message (SARIF 2.1.0, 3.11.6). */
function quoted(text: string): string {
  return printable(text).replaceAll(/[\\[\]]/g, "\\$&");
}

function locationOf({ node, op, graph }: Finding, { path }: ModelReport, options: RenderOptions) {
  const isLarge = (options.bytesOf(path) ?? 0) > maxBytesWithRegion;
  const region = { startLine: 1, startColumn: 1, endLine: 1, endColumn: 1 };
  return {
    physicalLocation: { artifactLocation: { uri: uriOf(path, options) }, ...(isLarge ? {} : { region }) },
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
            message: { text: `${counted(leftOut, "result")} left out: GitHub takes ${maxResults} a run` },
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

/** A relative reference: what GitHub resolves against the checkout. Paths that lead out of it become file URIs where they are absolute. */
function uriOf(path: string, { repositoryPath }: RenderOptions): string {
  return encoded(repositoryPath(path));
}

function encoded(path: string): string {
  const parts = path.split("/").map(encodeURIComponent).join("/");
  return path.startsWith("/") ? `file://${parts}` : parts;
}

function cut(text: string): string {
  return text.length > maxDescription ? `${text.slice(0, maxDescription - 1)}…` : text;
}
