/** @file What the report in the terminal says of one model above its findings: what it is, what it takes, and its account. */
import { compact, counted, duration, percent, printable } from "../ir/format.ts";
import type { ModelReport } from "../lint/result.ts";
import { accountLines } from "./account-table.ts";
import { predictedIn, takenFirstText, unreachedText } from "./account-text.ts";
import { budgetLines } from "./budget-text.ts";
import type { Palette } from "./color.ts";
import { tensorCoreText, timeNote, timeWord, whereText } from "./profile-text.ts";
import type { RenderOptions } from "./render.ts";
import { isUnpriced, pricedText, unpricedText, whyUnpriced } from "./unpriced.ts";

/**
 * How much is said where a terminal shows little: all; shares and files by name in the place of times and paths; and besides no intervals, which
 * is said, and no parts of what may save nothing.
 */
export type Detail = "full" | "short" | "brief";

export interface ViewOptions extends RenderOptions {
  readonly detail: Detail;
}

export function headerLines(model: ModelReport, options: ViewOptions, palette: Palette): string[] {
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
  const where = `${whereText(options.describeTarget(target), model, options.detail === "brief")}, ${predictedIn(model)}`;
  const lines = [palette.dim(printable(facts.join(", "))), `${where}: ${timeText(model, palette)}`];
  if (predicted.microseconds > 0) lines.push(timeLine(model, options.detail));
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

/** `83 % on Tensor Cores; conv 1.1 ms (78 %), memory 0.3 ms (21 %)`; in short `conv 78 %, memory 21 %`. */
function timeLine(model: ModelReport, detail: Detail): string {
  const { families, microseconds } = model.predicted;
  const textOf = (time: number, share: string) =>
    detail === "full" ? `${duration(time)} (${share})` : share;
  const parts = Object.entries(families)
    .filter(([, time]) => time > 0)
    .sort(([, a], [, b]) => b - a)
    .map(([family, time]) => `${family} ${textOf(time, percent(time / microseconds))}`);
  const share = tensorCoreText(model);
  return `${share === undefined ? "" : `${share} on Tensor Cores; `}${parts.join(", ")}`;
}

/** A line a step, and which of them is taken first. */
export function stepLines({ account }: ModelReport, { columns, detail }: ViewOptions): string[] {
  const isBrief = detail === "brief";
  const said = [takenFirstText(account), isBrief ? undefined : unreachedText(account)];
  return [
    ...accountLines(account, { columns, isBrief }),
    ...said.flatMap((text) => (text === undefined ? [] : `  ${text}`)),
  ];
}
