/** @file A line an entry, with what to do: for programs that read text and pay by the word. No colours, no tables, nothing left out. */
import { counted, printable } from "../ir/format.ts";
import type { LintReport, ModelReport } from "../lint/result.ts";
import { budgetText } from "./budget-text.ts";
import { type Entry, entriesOf, moreText, originsOf } from "./entries.ts";
import type { RenderOptions } from "./render.ts";
import { modelsText, titled } from "./scenarios.ts";
import { savedText } from "./share.ts";
import { entriesText, fixableBy, suppressedText } from "./summary.ts";
import { unmeasuredText } from "./unmeasured.ts";

export function renderAgent(report: LintReport, options: Pick<RenderOptions, "quiet">): string {
  const lines = report.models.flatMap((model) => linesOf(titled(model)));
  return `${[...lines, summaryLine(report, options)].join("\n")}\n`;
}

function linesOf(model: ModelReport): string[] {
  const { error, skipped, notices } = model;
  const path = printable(model.path);
  const failed =
    error === null ? [] : [`${path}: failed ${printable(error.code)}: ${printable(error.message)}`];
  const budgets = (model.budgets ?? []).map((report) => `${path}: ${budgetText(report)}`);
  const unseen =
    skipped.length === 0 ? [] : [`${path}: note: ${counted(skipped.length, "node")} not looked at`];
  const notes = notices.map(({ message }) => `${path}: note: ${printable(message)}`);
  return [
    ...failed,
    ...budgets,
    ...entriesOf(model).map((entry) => `${path}: ${entryText(entry)}`),
    ...unseen,
    ...notes,
  ];
}

/** `error TC102 misaligned-gemm /head/MatMul (MatMul): N is 50257 …. Saves 1.96 ms (63 %). Fix: --fix. At: model.py:12`. */
function entryText(entry: Entry): string {
  const { group, findings } = entry;
  const { severity, code, rule, message, saves, fixCommand, left } = group;
  const [{ node, op }] = findings;
  const head = `${severity} ${code} ${rule} ${printable(node)} (${printable(op)})${moreText(entry)}`;
  const origins = originsOf(entry);
  const parts = [
    `${head}: ${printable(message)}.`,
    saves === null ? "" : `Saves ${savedText(saves)}.`,
    fixCommand === null ? "" : `Fix: ${fixCommand}.`,
    left === null ? "" : `--fix leaves it: ${printable(left)}.`,
    origins.length === 0 ? "" : `At: ${printable(origins.join(" "))}.`,
  ];
  return parts.filter((part) => part !== "").join(" ");
}

function summaryLine(report: LintReport, { quiet }: Pick<RenderOptions, "quiet">): string {
  const { fixable, failedModels, budgetsExceeded } = report.summary;
  const parts = [
    `${entriesText(report, quiet)} in ${modelsText(report.models)}`,
    fixable > 0 ? `${fixable} fixable with ${fixableBy(report)}` : "",
    failedModels > 0 ? counted(failedModels, "model failed", "models failed") : "",
    budgetsExceeded > 0 ? `${counted(budgetsExceeded, "budget")} exceeded` : "",
    suppressedText(report),
    quiet === true ? "" : unmeasuredText(report),
  ];
  return parts.filter((part) => part !== "").join("; ");
}
