/** @file A comparison as a pull request's comment: the verdict first, a row a model, details folded; one line where nothing moved. */

import type { CompareReport, FindingChange, KernelChange, ModelComparison } from "../compare/result.ts";
import { counted, duration } from "../ir/format.ts";
import type { Finding } from "../lint/result.ts";
import { budgetItems } from "./budget-text.ts";
import {
  alike,
  baseText,
  type CompareOptions,
  differenceText,
  isNews,
  modelsText,
  movedTexts,
  nodesText,
  quietText,
  sizeText,
  statusText,
  storedText,
  timeText,
  titleOf,
} from "./compare-prose.ts";
import { basisText } from "./entries.ts";
import { code, commentBytes, escaped, withinLimit } from "./markdown-text.ts";
import { ruleTitle } from "./rule-title.ts";
import { pricedText } from "./unpriced.ts";

export function renderCompareMarkdown(report: CompareReport, options: CompareOptions): string {
  const moved = movedTexts(report);
  const base = baseText(report);
  const against = base === "" ? "" : `, against ${code(base)}`;
  const by = `predicted by tc-lint ${escaped(report.tool.version)}`;
  const models = escaped(modelsText(report));
  if (moved.length === 0) return `**${capitalized(quietText(report))}**; ${models}${against} (${by}).\n`;
  const news = report.models.filter(isNews);
  const head = [`**${moved.join(", ")}**; ${models}${against} (${by}).`, "", ...table(news), ""];
  const sections = news.map((model) => details(model, options).join("\n"));
  return withinLimit(head.join("\n"), sections, commentBytes);
}

function capitalized(text: string): string {
  return `${text.slice(0, 1).toUpperCase()}${text.slice(1)}`;
}

/** Rows of the table: of names as long as paths get, they leave room for details. */
const mostModels = 50;

function table(models: readonly ModelComparison[]): string[] {
  if (models.length === 0) return [];
  return [
    "| model | target | base | head | | findings |",
    "|---|---|---:|---:|---|---|",
    ...models.slice(0, mostModels).map((model) => `| ${rowOf(model).join(" | ")} |`),
    ...(models.length > mostModels
      ? ["", `${models.length - mostModels} more that moved: \`-f json\` has them.`]
      : []),
  ];
}

function rowOf(model: ModelComparison): string[] {
  const { target, base, head, time, error, findings } = model;
  const timeOf = (side: ModelComparison["head"]) => (side === null ? "" : pricedText(side));
  const status = escaped(statusText(model));
  const verdict = time === null ? "" : timeText(time);
  const said =
    error === null
      ? [status, verdict, storedText(model) ?? ""]
      : [`**not compared**: ${escaped(error.code)}`];
  return [
    code(titleOf(model)),
    escaped(`${target.gpu}, ${target.stack}, ${target.precision}`),
    timeOf(base),
    timeOf(head),
    said.filter((part) => part !== "").join("; "),
    findingCounts(findings),
  ];
}

/** `**2 new**, 1 worse, 3 fixed`. */
function findingCounts(findings: FindingChange): string {
  const kept = findings.unchanged.length + findings.renamed.length;
  const parts = [
    findings.new.length > 0 ? `**${findings.new.length} new**` : "",
    findings.worse.length > 0 ? `**${findings.worse.length} worse**` : "",
    findings.fixed.length > 0 ? `${findings.fixed.length} fixed` : "",
    findings.eased.length > 0 ? `${findings.eased.length} eased` : "",
    findings.suppressed.length > 0 ? `${findings.suppressed.length} suppressed` : "",
    kept > 0 ? `${kept} as before` : "",
  ];
  return parts.filter((part) => part !== "").join(", ");
}

/** Rows of each list; a comment is read by people. */
const mostRows = 20;

function details(model: ModelComparison, options: CompareOptions): string[] {
  const { error, target, notices, configFiles } = model;
  const side = model.head ?? model.base;
  const basis = side === null ? "" : `, ${basisText[side.predicted.basis]}`;
  const facts = [nodesText(model), sizeText(model)].filter((text) => text !== "");
  const notes = [
    ...notices.map(({ message }) => escaped(message)),
    ...(configFiles.length > 0 ? [`configured by ${configFiles.map(code).join(", ")}`] : []),
  ];
  return [
    `<details><summary>${escaped(titleOf(model))}</summary>`,
    "",
    ...(error === null ? [] : [`**${escaped(error.code)}** (${error.side}): ${escaped(error.message)}`, ""]),
    `${escaped(options.describeTarget(target))}, ${target.precision}${basis}${baseOf(model)}.`,
    "",
    ...budgetItems(model.budgets),
    ...findingItems(model.findings),
    ...facts.map((fact) => `- ${escaped(fact)}`),
    ...notes.map((note) => `- ${note}`),
    "",
    ...kernelTable(model.kernels),
    ...graphTable(model),
    "</details>",
    "",
  ];
}

function baseOf({ base, status }: ModelComparison): string {
  return base === null || status === "deleted" ? "" : `, against ${code(base.path)}`;
}

const marks = { error: "🔴", warn: "🟡", info: "🔵" } as const;

function findingItems(findings: FindingChange): string[] {
  const item = (what: string, finding: Finding, count: number) => {
    const more = count > 1 ? ` and ${count - 1} more` : "";
    const cost =
      finding.saves === null
        ? ""
        : `; costs ${duration(finding.saves.microseconds)}${count > 1 ? " each" : ""}`;
    const { severity, code: rule, rule: name, node, op, message, source } = finding;
    const line = source === null ? "" : `; ${code(`${source.file}:${source.line}`)}`;
    return `- ${marks[severity]} **${what} ${severity}** ${escaped(ruleTitle(rule, name))}: ${code(node)}${more} (${escaped(op)}): ${escaped(message)}${cost}${line}`;
  };
  const items = [
    ...alike(findings.new).map(({ first, count }) => item("new", first, count)),
    ...alike(findings.worse).map(({ first, count }) => item("worse", first, count)),
    ...alike(findings.fixed).map(({ first, count }) => {
      const more = count > 1 ? ` and ${count - 1} more` : "";
      return `- fixed: ${escaped(ruleTitle(first.code, first.rule))}: ${code(first.node)}${more}`;
    }),
  ];
  const left = items.length - mostRows;
  return left > 0 ? [...items.slice(0, mostRows), `- and ${left} more: \`-f json\` has them`] : items;
}

function kernelTable(kernels: readonly KernelChange[]): string[] {
  if (kernels.length === 0) return [];
  const time = (microseconds: number | null) => (microseconds === null ? "" : duration(microseconds));
  const rows = kernels.slice(0, mostRows).map(({ node, op, base, head, change }) => {
    const name = node === "" ? escaped(op) : `${code(node)} (${escaped(op)})`;
    return `| ${[name, time(base), time(head), differenceText(change)].join(" | ")} |`;
  });
  return [
    "| kernel | base | head | |",
    "|---|---:|---:|---|",
    ...rows,
    "",
    ...leftOut(kernels.length, "kernel"),
  ];
}

function graphTable({ graph }: ModelComparison): string[] {
  if (graph === null) return [];
  const rows = [
    ...graph.interface.map(({ name, before, after }) => [
      "interface",
      name,
      "",
      `${before ?? "(none)"} → ${after ?? "(none)"}`,
    ]),
    ...graph.nodes.map(({ kind, name, op, details: changes }) => [kind, name, op, changes.join("; ")]),
    ...graph.tensors.map(({ name, before, after }) => [
      "weights",
      name,
      "",
      `${before ?? "(none)"} → ${after ?? "(none)"}`,
    ]),
  ];
  if (rows.length === 0) return [];
  const lines = rows.slice(0, mostRows).map(([kind = "", name = "", op = "", what = ""]) => {
    const cells = [escaped(kind), code(name), escaped(op), escaped(what)];
    return `| ${cells.join(" | ")} |`;
  });
  return ["| graph | | | |", "|---|---|---|---|", ...lines, "", ...leftOut(rows.length, "change")];
}

function leftOut(count: number, noun: string): string[] {
  const left = count - mostRows;
  return left > 0 ? [`${counted(left, `more ${noun}`)}: \`-f json\` has everything.`, ""] : [];
}
