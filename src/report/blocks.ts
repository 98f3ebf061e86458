/** @file Which blocks the report in the terminal has: one a model, fewer of many models, and a table of them all. */
import { assumedText, openSymbols } from "../ir/assumed.ts";
import { compact, counted, printable } from "../ir/format.ts";
import { push } from "../ir/group.ts";
import type { LintReport, ModelReport } from "../lint/result.ts";
import { basisNote, isMixed } from "./basis-column.ts";
import { budgetLines } from "./budget-text.ts";
import { closingTable, worstFirst } from "./closing-table.ts";
import type { Palette } from "./color.ts";
import { basisText } from "./entries.ts";
import type { RenderOptions } from "./render.ts";
import { groupsOf, hasErrors, type ModelGroup, scenarioColumns, sharedTarget, titled } from "./scenarios.ts";
import { alignColumns } from "./table.ts";

/** More models than this are read by their table: blocks are of those with errors. */
const mostBlocks = 8;
/** And of no more than these, the worst: the table has the next ones, JSON all. */
const mostErrorBlocks = 20;

/** Blocks of lines; `blockOf` is a model's own. */
export function modelBlocks(
  report: LintReport,
  options: RenderOptions,
  palette: Palette,
  blockOf: (model: ModelReport) => readonly string[],
): (readonly string[])[] {
  const all = groupsOf(report.models);
  const groups = options.quiet === true ? all.filter((group) => group.some(hasErrors)) : all;
  const isWhole = options.verbose || groups.length <= mostBlocks;
  const hasLayers = (group: ModelGroup) => group.some(({ layers }) => layers !== undefined);
  const worst = new Set(isWhole ? [] : worstOf(groups.filter((group) => group.some(hasErrors))));
  const isShown = (group: ModelGroup) => isWhole || hasLayers(group) || worst.has(group);
  const blocks = groups.filter(isShown).flatMap((group) => blocksOf(group, options, palette, blockOf));
  const hidden = groups.filter((group) => !isShown(group));
  const table = groups.length > 1 ? [closingTable(groups.flat(), palette)] : [];
  const notes = hidden.length > 0 ? [hiddenLines(hidden, groups.length, palette)] : [];
  return [...blocks, ...notes, ...table];
}

/** In the order of the report. */
function worstOf(failing: readonly ModelGroup[]): readonly ModelGroup[] {
  if (failing.length <= mostErrorBlocks) return failing;
  const groupOf = new Map(failing.flatMap((group) => group.map((model) => [model, group] as const)));
  const byRank = worstFirst([...groupOf.keys()]).flatMap((model) => {
    const group = groupOf.get(model);
    return group === undefined ? [] : [group];
  });
  return [...new Set(byRank)].slice(0, mostErrorBlocks);
}

function blocksOf(
  group: ModelGroup,
  options: RenderOptions,
  palette: Palette,
  blockOf: (model: ModelReport) => readonly string[],
): (readonly string[])[] {
  if (group.length === 1) return [blockOf(titled(group[0]))];
  const isEach = options.verbose || group.some(({ layers }) => layers !== undefined);
  const hint = isEach ? [] : [`  ${palette.dim("--verbose shows what is found in each")}`];
  const table = [...scenarioLines(group, palette), ...hint];
  return isEach ? [table, ...group.map((model) => blockOf(titled(model)))] : [table];
}

/** What is said of models without a block of their own. */
function hiddenLines(hidden: readonly ModelGroup[], all: number, palette: Palette): string[] {
  const models = hidden.flat();
  const [has, stands] = hidden.length === 1 ? ["has", "stands"] : ["have", "stand"];
  const failing = hidden.filter((group) => group.some(hasErrors)).length;
  const which =
    failing === 0
      ? `${hidden.length} of ${counted(all, "model")} ${has} no errors and`
      : `the ${mostErrorBlocks} worst are shown; ${failing} more with errors, and ${hidden.length - failing} without,`;
  const notes = [`${which} ${stands} in the table alone: --verbose shows what is found in each`];
  const assumed = models.filter((model) => openSymbols(model.assumed, model.symbols).length > 0).length;
  if (assumed > 0) notes.push(`${assumed} of these ${assumed === 1 ? "is" : "are"} priced at assumed sizes`);
  const files = [...new Set(models.flatMap(({ configFiles }) => configFiles))];
  if (files.length > 0) notes.push(`configured by ${printable(files.join(", "))}`);
  return notes.map((note) => palette.dim(note));
}

/** A line a scenario, and what holds for all of them. */
function scenarioLines(group: ModelGroup, palette: Palette): string[] {
  const [{ path }] = group;
  const columns = scenarioColumns(group);
  const cells = [
    columns.map(({ title }) => title),
    ...group.map((model) => columns.map(({ text }) => printable(text(model)))),
  ];
  const table = alignColumns(
    cells,
    columns.map(({ alignment }) => alignment),
  );
  return [
    palette.heading(printable(path)),
    `  ${factsOf(group)}`,
    "",
    ...table.map((line, row) => `  ${row === 0 ? palette.bold(line) : line}`),
    "",
    ...errorLines(group, palette),
    ...budgetNotes(group, palette),
    ...noteLines(group, palette),
  ];
}

function factsOf(group: ModelGroup): string {
  const { nodes, parameters } = group.find((model) => model.nodes > 0) ?? group[0];
  const facts = [
    nodes > 0 ? `${counted(nodes, "node")}, ${compact(parameters)} parameters` : "",
    sharedTarget(group),
    counted(group.length, "scenario"),
  ];
  return facts.filter((fact) => fact !== "").join("; ");
}

function errorLines(group: ModelGroup, palette: Palette): string[] {
  return group.flatMap(({ error, scenario = "" }) => {
    if (error === null) return [];
    const head = `${palette.bad("error")}  ${palette.bold(error.code)}`;
    return [`  ${head}  ${printable(error.message)} ${palette.dim(`(${printable(scenario)})`)}`];
  });
}

function budgetNotes(group: ModelGroup, palette: Palette): string[] {
  return group.flatMap(({ budgets }) => budgetLines(budgets, palette).map((line) => `  ${line}`));
}

/** On what predictions rest, and what is noted: once where it holds for every scenario, else with those that it is of. */
function noteLines(group: ModelGroup, palette: Palette): string[] {
  const linted = group.filter(({ nodes }) => nodes > 0);
  const scenariosOf = new Map<string, string[]>();
  for (const model of linted)
    for (const note of new Set(notesOf(model))) push(scenariosOf, note, model.scenario ?? "");
  const notes = [...scenariosOf].map(([note, scenarios]) =>
    scenarios.length === linted.length ? note : `${note} (${listOf(scenarios)})`,
  );
  const files = group.flatMap(({ configFiles }) => configFiles);
  if (files.length > 0) notes.push(`configured by ${[...new Set(files)].join(", ")}`);
  const distinct = [basisLine(linted), ...new Set(notes)].filter((note) => note !== "");
  return distinct.map((note) => `  ${palette.dim("note")}   ${printable(note)}`);
}

function notesOf({ assumed, symbols, skipped, notices }: ModelReport): string[] {
  return [
    ...assumedText(assumed, symbols),
    ...(skipped.length > 0 ? [`${counted(skipped.length, "node")} not looked at`] : []),
    ...notices.map(({ message }) => message),
  ];
}

const mostNamed = 3;

function listOf(scenarios: readonly string[]): string {
  const more = scenarios.length - mostNamed;
  return more > 0 ? `${scenarios.slice(0, mostNamed).join("; ")} and ${more} more` : scenarios.join("; ");
}

/** On what the predictions rest: by GPU and stack, where that differs and has no column. */
function basisLine(models: readonly ModelReport[]): string {
  if (isMixed(models)) return basisNote(models);
  const byBasis = new Map<ModelReport["predicted"]["basis"], Set<string>>();
  for (const { predicted, target } of models) {
    const where = byBasis.get(predicted.basis) ?? new Set();
    byBasis.set(predicted.basis, where.add(`${target.gpu} ${target.stack}`));
  }
  if (byBasis.size === 1) return [...byBasis.keys()].map((basis) => basisText[basis]).join("");
  return [...byBasis].map(([basis, where]) => `${basisText[basis]} (${[...where].join(", ")})`).join("; ");
}
