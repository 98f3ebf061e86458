/** @file The report in the terminal: what a model takes, what is wrong with it, ranked, and what to do next. */

import { openSymbols, sizesText } from "../ir/assumed.ts";
import { compact, counted, duration, durationRange, percent, printable, significant } from "../ir/format.ts";
import type { FindingGroup, LintReport, ModelReport } from "../lint/result.ts";
import { accountLines, predictedIn, storedLayout, takenFirstText } from "./account-text.ts";
import { modelBlocks } from "./blocks.ts";
import { budgetLines } from "./budget-text.ts";
import { type Palette, paletteOf } from "./color.ts";
import { countedNotes, type Entry, entriesOf, moreText, originOf, originsOf, unlistedOf } from "./entries.ts";
import { foldedLines } from "./fold.ts";
import { profileNotes, timeNote, timeWord } from "./profile-text.ts";
import type { RenderOptions } from "./render.ts";
import { nameBehind } from "./rule-title.ts";
import { modelsText } from "./scenarios.ts";
import { fitting, roomBeside, spaced, usualColumns, withGaps } from "./screen.ts";
import { shareOfText, storedText } from "./share.ts";
import {
  byImportance,
  cleanText,
  findingsText,
  statisticsOf,
  suppressedText,
  unnamedSaving,
} from "./summary.ts";
import { alignColumns, layerTable } from "./table.ts";
import { isUnpriced, pricedText, unpricedText, whyUnpriced } from "./unpriced.ts";

export function renderText(report: LintReport, options: RenderOptions): string {
  const palette = paletteOf(options.color);
  const models = modelBlocks(report, options, palette, (model) => modelLines(model, options, palette));
  const blocks = models.map((lines) => lines.join("\n"));
  if (options.stats) blocks.push(statisticsLines(report, palette).join("\n"));
  blocks.push(footerLines(report, palette, options.quiet).join("\n"));
  return `${blocks.filter((block) => block !== "").join("\n\n")}\n`;
}

function modelLines(model: ModelReport, options: RenderOptions, palette: Palette): string[] {
  const title = palette.heading(printable(model.path));
  const error =
    model.error === null
      ? []
      : [`  ${palette.bad("error")} ${palette.bold(model.error.code)}  ${printable(model.error.message)}`];
  if (model.nodes === 0 && model.error !== null) return [title, ...error];
  const table = model.layers === undefined ? [] : ["", ...layerTable(model.layers, options, palette)];
  const first = takenFirstText(model.account);
  const account = [...accountLines(model.account), ...(first === undefined ? [] : [first])].map(
    (line) => `  ${line}`,
  );
  const above = [title, ...error, ...headerLines(model, options, palette)];
  const said = noteLines(model, options, palette);
  const width = options.columns ?? usualColumns;
  const entries = entriesOf(model).map((entry) => entryLines(entry, model, options, palette));
  const { head, notes } = withGaps({ above, account, said, worst: entries[0] ?? [] }, options.verbose, width);
  const room = options.verbose ? undefined : roomBeside([...head, ...notes], width);
  const findings = room === undefined ? entries.flat() : fitting(entries, room, width, palette);
  const unlisted = unlistedOf(model).flatMap((entry) => entryLines(entry, model, options, palette));
  const folded = (lines: readonly string[]) => foldedLines(lines, options.columns);
  return [
    ...folded(head),
    ...table,
    ...spaced(folded(findings)),
    ...folded(notes),
    ...(unlisted.length > 0 ? ["", `  ${palette.bold("not claimed")}`, ...folded(unlisted)] : []),
  ];
}

function headerLines(model: ModelReport, options: RenderOptions, palette: Palette): string[] {
  if (model.nodes === 0) return [];
  const { predicted, target } = model;
  const opset = Object.entries(model.opset)
    .map(([domain, version]) => (domain === "ai.onnx" ? `opset ${version}` : `${domain} ${version}`))
    .join(", ");
  const facts = [
    model.producer,
    opset,
    counted(model.nodes, "node"),
    `${compact(model.parameters)} parameters`,
  ].filter((fact) => fact !== "");
  const where = `${options.describeTarget(target)}, ${predictedIn(model)}`;
  const lines = [palette.dim(printable(facts.join(", "))), `${where}: ${timeText(model, palette)}`];
  if (predicted.microseconds > 0) lines.push(timeLine(predicted));
  for (const line of budgetLines(model.budgets, palette)) lines.push(line);
  return lines.map((line) => `  ${line}`);
}

/** `50.7 µs predicted (40 to 61 µs), fitted to measurements`. */
function timeText(model: ModelReport, palette: Palette): string {
  if (isUnpriced(model)) return `${palette.bold(pricedText(model))}: ${whyUnpriced(model)}`;
  const left = unpricedText(model);
  const { range, basis } = timeNote(model);
  const time = palette.bold(`${pricedText(model)} ${timeWord(model)}`);
  return [`${time} (${range})`, ...(left === undefined ? [] : [left]), printable(basis)].join(", ");
}

/** `83 % on Tensor Cores; conv 1.1 ms (78 %), memory 0.3 ms (21 %)`. */
function timeLine({ tensorCoreShare, families, microseconds }: ModelReport["predicted"]): string {
  const parts = Object.entries(families)
    .filter(([, time]) => time > 0)
    .sort(([, a], [, b]) => b - a)
    .map(([family, time]) => `${family} ${duration(time)} (${percent(time / microseconds)})`);
  return `${percent(tensorCoreShare)} on Tensor Cores; ${parts.join(", ")}`;
}

/** The first line says all by itself; what to do stands below. */
function entryLines(entry: Entry, model: ModelReport, options: RenderOptions, palette: Palette): string[] {
  const { group, findings } = entry;
  const { severity, code, rule, message, saves } = group;
  const [{ node, op, graph }] = findings;
  const where = graph === "graph" ? "" : palette.dim(` in ${printable(graph)}`);
  const verb = (saves?.low ?? 0) > 0 ? "saves" : "may save";
  const saved = saves === null ? "" : `  ${palette.bold(`${verb} ${duration(saves.microseconds)}`)}`;
  const head = `  ${palette.severity[severity](severity.padEnd(5))}  ${palette.bold(code)}${nameBehind(code, rule)}  ${palette.code(printable(node))}${moreText(entry)} ${palette.dim(`(${printable(op)})`)}${where}${saved}`;
  const details = [shareText(group), fixText(group, model, palette)].filter((text) => text !== "");
  const isEach = options.verbose && findings.length > 1;
  const origins = isEach
    ? findings.map((finding) => [finding.node, ...originOf(finding)].join("  "))
    : [originsOf(entry).join("  ")].filter((origin) => !isSame(origin, node));
  const lines = [printable(message)];
  const about = [details.join("; "), isEach ? "" : palette.dim(printable(origins.join("")))];
  if (about.some((text) => text !== "")) lines.push(about.filter((text) => text !== "").join("  "));
  if (isEach) for (const origin of origins) lines.push(palette.dim(printable(origin)));
  return [head, ...lines.map((line) => `         ${line}`)];
}

/** A module that the node's own name says already. */
function isSame(origin: string, node: string): boolean {
  const plain = (text: string) => text.replaceAll(/[^a-zA-Z0-9]/g, "");
  return origin === "" || plain(node).includes(plain(origin));
}

/** `15 % of 50.7 µs, between 4.17 and 13.6 µs`. */
function shareText({ saves }: FindingGroup): string {
  if (saves === null) return "";
  const between = `between ${durationRange(saves.low, saves.high).replace(" to ", " and ")}`;
  return `${shareOfText(saves)}, ${between}${storedText(saves)}`;
}

function fixText(group: FindingGroup, { account }: ModelReport, palette: Palette): string {
  const { fix, fixCommand, left, setting } = group;
  if (setting !== undefined) return `with ${setting.option}${storedLayout(group, account)}`;
  if (fixCommand !== null) return palette.good(`fixed by ${fixCommand}`) + storedLayout(group, account);
  if (fix !== "none") return "no fix is sure to gain";
  return left === null ? "" : `--fix leaves it: ${printable(left)}`;
}

/** What is not listed, what was assumed, and what is odd. */
function noteLines(model: ModelReport, { verbose }: RenderOptions, palette: Palette): string[] {
  const notes: string[] = [];
  const { skipped, suppressed, notices } = model;
  for (const note of profileNotes(model)) notes.push(printable(note));
  const unlisted = countedNotes(model);
  if (unlisted.length > 0) notes.push(`${unlisted.join("; ")}${verbose ? "" : ": --verbose lists them"}`);
  if (suppressed > 0)
    notes.push(
      `${counted(suppressed, "finding")} suppressed by configuration, metadata or tc-lint-suppressions.json`,
    );
  for (const note of assumedNotes(model)) notes.push(printable(note));
  if (model.configFiles.length > 0) notes.push(`configured by ${printable(model.configFiles.join(", "))}`);
  for (const { message } of notices) notes.push(printable(message));
  if (skipped.length > 0) for (const note of skippedNotes(model)) notes.push(note);
  return notes.map((note) => `  ${palette.dim("note")}   ${note}`);
}

/** A size that the model finds when it runs is nobody's to give. */
function assumedNotes({ assumed, found = [], symbols }: ModelReport): string[] {
  const ofData = new Set(found);
  const open = openSymbols(assumed, symbols);
  const given = open.filter((name) => !ofData.has(name));
  const left = open.filter((name) => ofData.has(name));
  return [
    ...(given.length === 0
      ? []
      : [
          `priced at ${sizesText(given, symbols)} (assumed): bind with --dim ${given[0]}=${given[0] === "N" ? "SIZE" : "N"}`,
        ]),
    ...(left.length === 0
      ? []
      : [`priced at ${sizesText(left, symbols)} (assumed): found when the model runs`]),
  ];
}

/** By reason and operator: a missing operator description skips many nodes at once. */
function skippedNotes({ skipped }: ModelReport): string[] {
  const byReason = new Map<string, { readonly first: string; count: number }>();
  for (const { node, op, reason } of skipped) {
    const key = `${op}: ${reason}`;
    const group = byReason.get(key);
    if (group === undefined) byReason.set(key, { first: node, count: 1 });
    else group.count += 1;
  }
  return [...byReason].map(([key, { first, count }]) => {
    const more = count > 1 ? ` and ${count - 1} more` : "";
    return printable(`not looked at: ${first}${more} (${key})`);
  });
}

function statisticsLines(report: LintReport, palette: Palette): string[] {
  const rows = statisticsOf(report).map(({ code, rule, count, fixable, microseconds }) => [
    code,
    code === rule ? "" : rule,
    String(count),
    fixable > 0 ? `${fixable} fixable` : "",
    microseconds > 0 ? `up to ${duration(microseconds)}` : "",
  ]);
  if (rows.length === 0) return [];
  const lines = alignColumns(rows, ["left", "left", "right", "left", "left"]);
  return [palette.bold("By rule"), ...lines.map((line) => `  ${line}`)];
}

function unnamedFix(report: LintReport): string {
  const sure = unnamedSaving(report);
  return sure > 0 ? `; --fix saves ${duration(sure)} by what no finding names` : "";
}

function footerLines(report: LintReport, palette: Palette, quiet: boolean | undefined): string[] {
  const { errors, warnings, infos, fixable, failedModels, budgetsExceeded: exceeded } = report.summary;
  const failed = [
    failedModels > 0 ? palette.bad(counted(failedModels, "model failed", "models failed")) : "",
    exceeded > 0 ? palette.bad(`${counted(exceeded, "budget")} exceeded`) : "",
  ]
    .filter((part) => part !== "")
    .join("; ");
  const linted = report.models.filter(({ error }) => error === null);
  const hidden = suppressedText(report);
  if (errors + warnings + infos === 0) {
    const clean = linted.length > 0 ? palette.good(`${cleanText(quiet)} in ${modelsText(linted)}`) : "";
    const unnamed = clean === "" || hidden !== "" || quiet === true ? "" : unnamedFix(report);
    const parts = [clean + unnamed, failed, hidden];
    return [parts.filter((part) => part !== "").join("; ") || "no models"];
  }
  const counts = [
    [errors, "error", "error"],
    [warnings, "warning", "warn"],
    [infos, "info", "info"],
  ] as const;
  const parts = counts
    .filter(([count]) => count > 0)
    .map(([count, noun, severity]) => palette.severity[severity](counted(count, noun)));
  const fixes =
    fixable > 0
      ? `; ${palette.good(`${significant(fixable)} fixable with --fix`)}`
      : hidden === ""
        ? unnamedFix(report)
        : "";
  const [first] = report.models.flatMap(({ findings }) => findings).toSorted(byImportance);
  const lines = [
    `${parts.join(", ")}${findingsText(report)} in ${modelsText(report.models)}${fixes}${failed && `; ${failed}`}${hidden && `; ${hidden}`}`,
  ];
  if (first !== undefined) lines.push(palette.dim(`tc-lint explain ${first.code} says what it is about`));
  return lines;
}
