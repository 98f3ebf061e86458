/** @file The report in the terminal: what a model takes, what is wrong with it, ranked, and what to do next. */

import { openSymbols, sizesText } from "../ir/assumed.ts";
import { counted, duration, percent, printable, significant } from "../ir/format.ts";
import { byImportance } from "../ir/importance.ts";
import { maxOf, pushAll } from "../ir/lists.ts";
import type { LintReport, ModelReport } from "../lint/result.ts";
import { modelBlocks } from "./blocks.ts";
import { type Palette, paletteOf } from "./color.ts";
import { countedNotes, entriesOf, unlistedOf } from "./entries.ts";
import { entryLines } from "./entry-lines.ts";
import { foldedLines } from "./fold.ts";
import { type Detail, headerLines, stepLines, type ViewOptions } from "./model-view.ts";
import { profileNotes } from "./profile-text.ts";
import type { RenderOptions } from "./render.ts";
import { modelsText } from "./scenarios.ts";
import {
  fitting,
  fittingLayout,
  layoutsOf,
  roomBeside,
  type Screen,
  screenOf,
  spaced,
  type View,
} from "./screen.ts";
import {
  cleanText,
  findingsText,
  fixableBy,
  statisticsOf,
  suppressedText,
  unnamedSaving,
} from "./summary.ts";
import { alignColumns, layerTable } from "./table.ts";
import { unmeasuredText } from "./unmeasured.ts";

export function renderText(report: LintReport, options: RenderOptions): string {
  const palette = paletteOf(options.color);
  const closing = foldedLines(footerLines(report, palette, options.quiet), options.columns);
  const screen = screenOf(options.columns, closing, options.verbose);
  const models = modelBlocks(report, options, palette, (model) =>
    modelLines(model, options, palette, screen),
  );
  const blocks = models.map((lines) => lines.join("\n"));
  if (options.stats) blocks.push(statisticsLines(report, palette).join("\n"));
  blocks.push(closing.join("\n"));
  return `${blocks.filter((block) => block !== "").join("\n\n")}\n`;
}

function modelLines(
  model: ModelReport,
  options: RenderOptions,
  palette: Palette,
  screen: Screen,
): readonly string[] {
  const top = [palette.heading(printable(model.path)), ...errorLines(model, palette)];
  if (model.nodes === 0 && model.error !== null) return top;
  const { columns } = options;
  const views = detailsOf(model, columns).map(
    (detail) => () => viewLines(model, top, { ...options, detail }, palette),
  );
  const layout = fittingLayout(layoutsOf(views), screen);
  const all = entriesOf(model);
  const isError = (entry: number) => all[entry]?.findings[0]?.severity === "error";
  const findings = fitting(layout.entries, roomBeside(layout, screen), screen.width, palette, isError);
  const table = model.layers === undefined ? [] : ["", ...layerTable(model.layers, options, palette)];
  const whole = { ...options, detail: "full" } as const;
  const unlisted = unlistedOf(model).flatMap((entry) => entryLines(entry, model, whole, palette));
  const folded = (lines: readonly string[]) => foldedLines(lines, columns);
  return [
    ...folded(layout.head),
    ...table,
    ...spaced(folded(findings)),
    ...folded(layout.notes),
    ...(unlisted.length > 0 ? ["", `  ${palette.bold("not claimed")}`, ...folded(unlisted)] : []),
  ];
}

function viewLines(model: ModelReport, top: readonly string[], options: ViewOptions, palette: Palette): View {
  return {
    above: [...top, ...headerLines(model, options, palette)],
    account: stepLines(model, options),
    entries: entriesOf(model).map((entry) => entryLines(entry, model, options, palette)),
    notes: noteLines(model, options, palette),
  };
}

/** A report that goes to no terminal has its lines whole; intervals yield where the account says so. */
function detailsOf({ account }: ModelReport, columns: number | undefined): readonly Detail[] {
  if (columns === undefined) return ["full"];
  return account.length < 2 ? ["full", "short"] : ["full", "short", "brief"];
}

function errorLines({ error }: ModelReport, palette: Palette): string[] {
  if (error === null) return [];
  return [`  ${palette.bad("error")} ${palette.bold(error.code)}  ${printable(error.message)}`];
}

/** What is not listed, what was assumed, and what is odd. */
function noteLines(model: ModelReport, { verbose, detail }: ViewOptions, palette: Palette): string[] {
  const notes: string[] = [];
  const { skipped, suppressed, notices } = model;
  for (const note of profileNotes(model)) notes.push(printable(note));
  const unlisted = countedNotes(model, detail === "brief");
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

const fewFlags = 3;

/** `--dim batch=N --dim tokens=N`: what binds these, the first few of many. */
function dimFlags(names: readonly string[]): string {
  const flags = names.slice(0, fewFlags).map((name) => `--dim ${name}=${name === "N" ? "SIZE" : "N"}`);
  return [...flags, ...(names.length > fewFlags ? ["…"] : [])].join(" ");
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
      : [`priced at ${sizesText(given, symbols)} (assumed): bind with ${dimFlags(given)}`]),
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
  const unmeasured = quiet === true ? [] : [unmeasuredText(report)].filter((text) => text !== "");
  if (errors + warnings + infos === 0) {
    const clean = linted.length > 0 ? palette.good(`${cleanText(quiet)} in ${modelsText(linted)}`) : "";
    const unnamed = clean === "" || quiet === true ? "" : unnamedFix(report);
    const unsure = clean === "" || quiet === true || unmeasured.length > 0 ? "" : unsureText(linted);
    const parts = [clean + unnamed, unsure, failed, hidden];
    return [parts.filter((part) => part !== "").join("; ") || "no models", ...unmeasured];
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
      ? `; ${palette.good(`${significant(fixable)} fixable with ${fixableBy(report)}`)}`
      : unnamedFix(report);
  // Of what is on the screen: each model's first entry is.
  const shown = report.models.flatMap((model) => entriesOf(model)[0]?.findings[0] ?? []);
  const [first] = shown.toSorted(byImportance);
  const lines = [
    `${parts.join(", ")}${findingsText(report)} in ${modelsText(report.models)}${fixes}${failed && `; ${failed}`}${hidden && `; ${hidden}`}`,
  ];
  pushAll(lines, unmeasured);
  if (first !== undefined) lines.push(palette.dim(`tc-lint explain ${first.code} says what it is about`));
  return lines;
}

/** Of the time that savings are of: less is what a report without findings may well leave. */
const muchUnsure = 0.1;

/** As exported, where half precision is one of what may be saved: every step takes from what is left before it. */
function savedFrom({ account, predicted }: ModelReport): number {
  return maxOf([predicted.microseconds, ...account.map(({ microseconds }) => microseconds)]);
}

/** `292 µs of 582 µs may be saved, or nothing (--verbose)`: what no finding claims is no clean bill where it is much; empty where it is not. */
function unsureText(models: readonly ModelReport[]): string {
  const much = models.filter(
    (model) => model.uncertain.microseconds >= muchUnsure * savedFrom(model) && model.uncertain.count > 0,
  );
  const [first] = much;
  if (first === undefined) return "";
  const what =
    much.length === 1
      ? `${duration(first.uncertain.microseconds)} of ${duration(savedFrom(first))}`
      : `in ${much.length} of them ${percent(muchUnsure)} of the time and more`;
  return `${what} may be saved, or nothing (--verbose)`;
}
