/** @file What a repair changes as GitHub-flavoured Markdown. */
import { assumedText } from "../ir/assumed.ts";
import { compact, counted, duration, percent } from "../ir/format.ts";
import { accountCells, rowsOf } from "./account-text.ts";
import { type FixReportView, type FixView, headlineOf, slowerText } from "./fix-view.ts";
import { code, escaped, withinLimit } from "./markdown-text.ts";

/** Nodes and tensors beyond this would push other models out of the summary. */
const maxRows = 200;

export function renderFixMarkdown({ fixes }: FixReportView): string {
  const changed = fixes.filter(({ changed: isChanged }) => isChanged).length;
  const verb = fixes.some(({ written }) => written) ? "repaired" : "to repair";
  const head = `# tc-lint --fix\n\n${changed} of ${counted(fixes.length, "model")} ${verb}.\n`;
  return withinLimit(
    head,
    fixes.map((fix) => sectionOf(fix).join("\n")),
  );
}

function sectionOf(fix: FixView): string[] {
  const { path, destination, changed, error, diff, notes } = fix;
  const title = destination === path ? code(path) : `${code(path)} → ${code(destination)}`;
  const lines = [`## ${title}`, ""];
  if (error !== null) return [...lines, `**${escaped(error.code)}**: ${escaped(error.message)}`, ""];
  if (!changed || diff === null) return [...lines, "Nothing to fix.", ""];
  const done = notes.filter(({ kind }) => kind === "changed");
  return [
    ...lines,
    ...timeLines(fix),
    ...accountLines(fix),
    ...assumedText(Object.keys(fix.assumed), fix.assumed).flatMap((text) => [escaped(text), ""]),
    ...done.map(({ pass, message }) => `- **${escaped(pass)}** ${escaped(message)}`),
    "",
    ...nodeTable(diff.nodes),
    ...tensorTable(diff),
  ];
}

function timeLines(fix: FixView): string[] {
  const headline = headlineOf(fix);
  if (headline === undefined) return [];
  const { before, after, stored, inTarget } = headline;
  const share =
    before > 0 ? `, ${percent(Math.abs(before - after) / before)} ${after < before ? "less" : "more"}` : "";
  const beside = inTarget === undefined ? "" : `; ${inTarget}`;
  const slower = slowerText(fix);
  return [
    `Predicted **${duration(before)} → ${duration(after)}**${share}${stored}${beside}.`,
    "",
    ...(slower === undefined ? [] : [`${escaped(slower)}.`, ""]),
  ];
}

function accountLines({ account }: FixView): string[] {
  if (account === null || account.length < 2) return [];
  const rows = rowsOf(account).map((step) => `| ${accountCells(step, account).map(escaped).join(" | ")} |`);
  return ["| step | predicted | | by |", "|---|---:|---|---|", ...rows, ""];
}

function nodeTable(nodes: NonNullable<FixView["diff"]>["nodes"]): string[] {
  const rows = nodes.map(({ name, op, kind, details }) => [
    kind,
    code(name),
    escaped(op),
    details.map(escaped).join("; "),
  ]);
  return table(["node", "name", "op", "what"], rows, "node");
}

function tensorTable({ tensors, addedElements }: NonNullable<FixView["diff"]>): string[] {
  const rows = tensors.map(({ name, before, after }) => [
    code(name),
    escaped(before ?? "—"),
    escaped(after ?? "—"),
  ]);
  const sign = addedElements < 0 ? "−" : "+";
  const parameters =
    tensors.length === 0 ? [] : [`${sign}${compact(Math.abs(addedElements))} parameters.`, ""];
  return [...table(["tensor", "before", "after"], rows, "tensor"), ...parameters];
}

function table(titles: readonly string[], rows: readonly (readonly string[])[], noun: string): string[] {
  if (rows.length === 0) return [];
  const left = rows.length - maxRows;
  const lines = [titles, titles.map(() => "---"), ...rows.slice(0, maxRows)];
  return [
    ...lines.map((cells) => `| ${cells.join(" | ")} |`),
    "",
    ...(left > 0 ? [`${counted(left, `more ${noun}`)}: \`tc-lint -f json\` has everything.`, ""] : []),
  ];
}
