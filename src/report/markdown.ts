/** @file The report as GitHub-flavoured Markdown: step summaries and pull request comments. */

import { assumedText } from "../ir/assumed.ts";
import { compact, counted, duration, percent, significant } from "../ir/format.ts";
import type { LintReport, ModelReport } from "../lint/result.ts";
import { accountCells, predictedIn, rowsOf } from "./account-text.ts";
import { basisNote } from "./basis-column.ts";
import { budgetItems } from "./budget-text.ts";
import { sizesText } from "./csv.ts";
import { countedNotes, type Entry, entriesOf, moreText, originsOf } from "./entries.ts";
import { code, escaped, withinLimit } from "./markdown-text.ts";
import { profileNotes, tensorCoreText, timeNote, timeWord, whereText } from "./profile-text.ts";
import type { RenderOptions } from "./render.ts";
import { groupsOf, type ModelGroup, modelsText, scenarioColumns, sharedTarget, titled } from "./scenarios.ts";
import { savedText } from "./share.ts";
import { cleanSentence, entriesText, fixableBy, statisticsOf, suppressedText } from "./summary.ts";
import { unmeasuredText } from "./unmeasured.ts";
import { isUnpriced, pricedText, unpricedText, whyUnpriced } from "./unpriced.ts";

export function renderMarkdown(report: LintReport, options: RenderOptions): string {
  const { fixable, failedModels, budgetsExceeded: exceeded } = report.summary;
  const counts = [
    entriesText(report, options.quiet),
    `${fixable} fixable with \`${fixableBy(report)}\``,
    ...(failedModels > 0 ? [`**${counted(failedModels, "model")} failed**`] : []),
    ...(exceeded > 0 ? [`**${counted(exceeded, "budget")} exceeded**`] : []),
    suppressedText(report),
  ].filter((part) => part !== "");
  const head = ["# tc-lint", "", `${counts.join(", ")} in ${modelsText(report.models)}.`, ""];
  const unmeasured = options.quiet ? "" : unmeasuredText(report);
  if (unmeasured !== "") head.push(`${escaped(unmeasured)}.`, "");
  if (options.stats) for (const line of statistics(report)) head.push(line);
  return withinLimit(
    head.join("\n"),
    groupsOf(report.models).map((group) => sectionOf(group, options).join("\n")),
  );
}

function sectionOf(group: ModelGroup, options: RenderOptions): string[] {
  return group.length === 1 ? section(titled(group[0]), options) : scenarioSection(group);
}

/** A row a scenario; what is found in each has no room beside other models. */
function scenarioSection(group: ModelGroup): string[] {
  const columns = scenarioColumns(group);
  const rule = columns.map(({ alignment }) => (alignment === "left" ? "---" : "---:"));
  const rows = group.map((model) => columns.map(({ text }) => escaped(text(model))));
  const table = [columns.map(({ title }) => escaped(title)), rule, ...rows].map(
    (cells) => `| ${cells.join(" | ")} |`,
  );
  const failures = group.flatMap(({ error, scenario = "" }) =>
    error === null ? [] : [`- **${escaped(error.code)}**: ${escaped(error.message)} (${escaped(scenario)})`],
  );
  const files = new Set(group.flatMap(({ configFiles }) => configFiles));
  const configured = files.size > 0 ? [`- configured by ${[...files].map(code).join(", ")}`] : [];
  const target = sharedTarget(group);
  const basis = basisNote(group);
  return [
    `## ${code(group[0].path)}`,
    "",
    ...(target === "" ? [] : [`${escaped(target)}.`, ""]),
    ...table,
    "",
    ...(basis === "" ? [] : [`${escaped(basis)}.`, ""]),
    ...(failures.length + configured.length > 0 ? [...failures, ...configured, ""] : []),
  ];
}

function section(model: ModelReport, options: RenderOptions): string[] {
  const { error, findings } = model;
  const lines = [`## ${code(model.path)}`, ""];
  if (error !== null) lines.push(`**${escaped(error.code)}**: ${escaped(error.message)}`, "");
  if (model.nodes === 0) return [...lines, ...notes(model)];
  const body =
    findings.length > 0
      ? table(entriesOf(model), model)
      : error === null
        ? [cleanSentence(options.quiet), ""]
        : [];
  const layers = model.layers === undefined ? [] : layerDetails(model.layers);
  return [
    ...lines,
    ...predictionLines(model, options),
    ...budgetItems(model.budgets),
    ...accountTable(model),
    ...body,
    ...layers,
    ...notes(model),
  ];
}

function accountTable({ account, profile }: ModelReport): string[] {
  if (account.length < 2) return [];
  const rows = rowsOf(account).map((step) => `| ${accountCells(step, account).map(escaped).join(" | ")} |`);
  return [
    `| step | ${profile === undefined ? "predicted" : "time"} | | by |`,
    "|---|---:|---|---|",
    ...rows,
    "",
  ];
}

function predictionLines(model: ModelReport, { describeTarget }: RenderOptions): string[] {
  const { target } = model;
  const { range, basis } = timeNote(model);
  const where = `${escaped(whereText(describeTarget(target), model))}, ${predictedIn(model)}`;
  if (isUnpriced(model)) return [`${where}: **${pricedText(model)}** (${whyUnpriced(model)}).`, ""];
  const left = unpricedText(model);
  const notes = [range, ...(left === undefined ? [] : [left]), escaped(basis)];
  const time = `**${pricedText(model)}** ${timeWord(model)} (${notes.join(", ")})`;
  const share = tensorCoreText(model);
  return [`${where}: ${time}${share === undefined ? "" : `, ${share} on Tensor Cores`}.`, ""];
}

/** Findings and layers beyond this would push other models out of the summary. */
const maxRows = 200;

function table(entries: readonly Entry[], model: ModelReport): string[] {
  const rows = entries.slice(0, maxRows).map((entry) => row(entry, model));
  const left = entries.slice(maxRows).reduce((sum, { findings }) => sum + findings.length, 0);
  return [
    "| | rule | node | finding | saves | fix |",
    "|---|---|---|---|---:|---|",
    ...rows,
    "",
    ...(left > 0 ? [`${counted(left, "more finding")}: \`tc-lint -f json\` has everything.`, ""] : []),
  ];
}

const marks = { error: "🔴 error", warn: "🟡 warn", info: "🔵 info" } as const;

function row(entry: Entry, model: ModelReport): string {
  const { predicted } = model;
  const { severity, rule, message, saves, fixCommand } = entry.group;
  const [{ node, op }] = entry.findings;
  const origins = originsOf(entry).map((part) => code(part));
  const where = [`${code(node)}${moreText(entry)} (${escaped(op)})`, ...origins].join("<br>");
  const saving = saves === null || predicted.microseconds === 0 ? "" : savedText(saves);
  const cells = [
    marks[severity],
    `${entry.group.code} ${escaped(rule)}`,
    where,
    escaped(message),
    saving,
    fixCommand === null ? "" : `\`${fixCommand}\``,
  ];
  return `| ${cells.join(" | ")} |`;
}

function layerDetails(layers: NonNullable<ModelReport["layers"]>): string[] {
  const isMeasured = layers.some(({ predicted }) => predicted !== undefined);
  const rows = layers.slice(0, maxRows).map((layer) => {
    const cells = [
      code(layer.node),
      escaped(layer.op),
      escaped(sizesText(layer.sizes)),
      compact(layer.flops),
      compact(layer.bytes),
      significant(layer.intensity),
      layer.bound,
      duration(layer.microseconds),
      ...(isMeasured ? [duration(layer.predicted ?? 0)] : []),
      percent(layer.share),
      layer.findings.join(" "),
    ];
    return `| ${cells.join(" | ")} |`;
  });
  return [
    `<details><summary>${counted(layers.length, "layer")}</summary>`,
    "",
    `| node | op | sizes | FLOPs | bytes | FLOPs/B | bound | ${isMeasured ? "measured | predicted" : "time"} | share | findings |`,
    `|---|---|---|---:|---:|---:|---|---:|${isMeasured ? "---:|" : ""}---:|---|`,
    ...rows,
    "",
    ...(layers.length > rows.length
      ? [`The first ${rows.length} of them: \`tc-lint -f csv\` has everything.`, ""]
      : []),
    "</details>",
    "",
  ];
}

function notes(model: ModelReport): string[] {
  const { suppressed, assumed, configFiles, notices, skipped } = model;
  const lines = [...profileNotes(model).map(escaped), ...countedNotes(model)];
  if (suppressed > 0) lines.push(`${counted(suppressed, "finding")} suppressed`);
  for (const text of assumedText(assumed, model.symbols)) lines.push(escaped(text));
  if (configFiles.length > 0) lines.push(`configured by ${configFiles.map(code).join(", ")}`);
  for (const { message } of notices) lines.push(escaped(message));
  if (skipped.length > 0) {
    const names = skipped.slice(0, 5).map(({ node, reason }) => `${code(node)} (${escaped(reason)})`);
    const more = skipped.length > 5 ? ` and ${skipped.length - 5} more` : "";
    lines.push(`not looked at: ${names.join(", ")}${more}`);
  }
  return lines.length === 0 ? [] : [...lines.map((line) => `- ${line}`), ""];
}

function statistics(report: LintReport): string[] {
  const rows = statisticsOf(report).map(
    ({ code: id, rule, count, fixable, microseconds }) =>
      `| ${id} ${escaped(rule)} | ${count} | ${fixable} | ${microseconds > 0 ? `≤ ${duration(microseconds)}` : ""} |`,
  );
  return rows.length === 0
    ? []
    : ["| rule | findings | fixable | saves |", "|---|---:|---:|---:|", ...rows, ""];
}
