/** @file The table that closes a report of several models: a line each, the worst first. */
import { counted, duration, printable, shortened } from "../ir/format.ts";
import type { ModelReport, Severity } from "../lint/result.ts";
import { basisColumn, isMixed } from "./basis-column.ts";
import type { Palette } from "./color.ts";
import {
  type Column,
  countOf,
  hasStoredTime,
  modelsText,
  storedColumn,
  timeText,
  titled,
} from "./scenarios.ts";
import { standingOf } from "./standing.ts";
import { alignColumns } from "./table.ts";

/** Lines of the table; what they leave out is counted. */
const mostRows = 60;
const longestName = 64;

const columns: readonly Column[] = [
  {
    title: "model",
    alignment: "left",
    text: (model) => shortened(printable(titled(model).path), longestName),
  },
  basisColumn,
  { title: "predicted", alignment: "right", text: (model) => timeText(model, standingOf(model)?.now) },
  storedColumn,
  { title: "after --fix", alignment: "right", text: (model) => timeText(model, standingOf(model)?.afterFix) },
  { title: "after all", alignment: "right", text: (model) => timeText(model, standingOf(model)?.afterAll) },
  { title: "errors", alignment: "right", text: (model) => known(model, countOf(model, "error")) },
  { title: "warnings", alignment: "right", text: (model) => known(model, countOf(model, "warn")) },
  { title: "skipped", alignment: "right", text: (model) => known(model, model.skipped.length) },
  { title: "worst", alignment: "left", text: worstOf },
];

/** Without what none of the models has to say; nodes that could not be judged are rare, and never passed over. */
export function closingColumns(models: readonly ModelReport[]): readonly Column[] {
  const isSkipped = models.some(({ skipped }) => skipped.length > 0);
  const isStored = models.some(hasStoredTime);
  const isBased = isMixed(models);
  return columns.filter(
    (column) =>
      (column.title !== "skipped" || isSkipped) &&
      (column !== storedColumn || isStored) &&
      (column !== basisColumn || isBased),
  );
}

/** Of a model that was not linted nothing is known, be it 0. */
function known({ nodes }: ModelReport, count: number): string {
  return nodes === 0 ? "" : String(count);
}

/**
 * Said under the table where a file ends behind what it is predicted: that is of kernels in half alone, and files have Casts, or no command is sure to gain
 * by half.
 */
export function afterAllNote(models: readonly ModelReport[]): string | undefined {
  const isBehind = models.some((model) => {
    const standing = standingOf(model);
    return (
      standing !== undefined &&
      duration(standing.afterAll) !== duration(standing.now) &&
      standing.afterAll > standing.now
    );
  });
  return isBehind
    ? "after all may exceed predicted: files in half have Casts, and half that no command is sure to gain by is left out"
    : undefined;
}

/** Lines, a title first. */
export function closingTable(models: readonly ModelReport[], palette: Palette): string[] {
  const shown = worstFirst(models).slice(0, mostRows);
  const kept = closingColumns(models);
  const cells = [
    kept.map(({ title }) => title),
    ...shown.map((model) => kept.map(({ text }) => text(model))),
  ];
  const lines = alignColumns(
    cells,
    kept.map(({ alignment }) => alignment),
  ).map((line, row) => `  ${row === 0 ? palette.bold(line) : line}`);
  const left = models.length - shown.length;
  const rest = left > 0 ? [`  ${palette.dim(`${counted(left, "more line")}: -f json has all of them`)}`] : [];
  const note = afterAllNote(shown);
  const notes = note === undefined ? [] : [`  ${palette.dim(note)}`];
  return [`${modelsText(models)}, the worst first`, ...lines, ...rest, ...notes];
}

export function worstFirst(models: readonly ModelReport[]): ModelReport[] {
  const keyed = models.map((model) => ({ model, key: keyOf(model) }));
  return keyed.sort((a, b) => compare(a.key, b.key)).map(({ model }) => model);
}

/** What failed, then errors, then the share of its file's time that `--fix` saves, then that of it that every step saves. */
function keyOf(model: ModelReport): readonly number[] {
  const standing = standingOf(model);
  const share = (before = 0, after = 0) => (before > 0 ? (before - after) / before : 0);
  return [
    model.error === null ? 0 : 1,
    countOf(model, "error"),
    share(standing?.stored, standing?.afterFix),
    share(standing?.stored, standing?.afterAll),
  ];
}

function compare(a: readonly number[], b: readonly number[]): number {
  const index = a.findIndex((value, at) => value !== b[at]);
  return index < 0 ? 0 : (b[index] ?? 0) - (a[index] ?? 0);
}

const severities: readonly Severity[] = ["error", "warn", "info"];

/** The code of what is worst: of a model that was not linted, why. */
function worstOf({ error, groups, nodes, notices }: ModelReport): string {
  if (error !== null) return error.code;
  if (nodes === 0) return notices[0]?.code ?? "";
  for (const wanted of severities) {
    const group = groups.find(({ severity }) => severity === wanted);
    if (group !== undefined) return group.code;
  }
  return "";
}
