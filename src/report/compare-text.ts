/** @file A comparison in the terminal: a block a model, what moved first. */

import type { CompareReport, KernelChange, ModelComparison } from "../compare/result.ts";
import type { TensorChange } from "../fix/diff.ts";
import { assumedText } from "../ir/assumed.ts";
import { counted, duration, printable } from "../ir/format.ts";
import type { Finding } from "../lint/result.ts";
import { budgetLines } from "./budget-text.ts";
import { type Palette, paletteOf } from "./color.ts";
import {
  alike,
  baseText,
  type CompareOptions,
  differenceText,
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
import { nameBehind } from "./rule-title.ts";
import { alignColumns } from "./table.ts";
import { pricedText } from "./unpriced.ts";

/** Kernels, nodes and weights of each model that are listed without --verbose. */
const mostListed = 5;

export function renderCompareText(report: CompareReport, options: CompareOptions): string {
  const palette = paletteOf(options.color);
  const blocks = report.models.map((model) => modelLines(model, options, palette).join("\n"));
  return `${[...blocks, footer(report, palette)].join("\n\n")}\n`;
}

function modelLines(model: ModelComparison, options: CompareOptions, palette: Palette): string[] {
  const { error, notices, configFiles } = model;
  const against = model.base === null ? "" : `against ${model.base.path}`;
  const status = statusText(model) || against;
  const title = `${palette.heading(printable(titleOf(model)))}${status === "" ? "" : `  ${printable(status)}`}`;
  const notes = [
    ...notices.map(({ message }) => message),
    ...sideNotes(model),
    ...(configFiles.length > 0 ? [`configured by ${configFiles.join(", ")}`] : []),
  ];
  return [
    title,
    ...(error === null
      ? []
      : [`  ${palette.bad("error")}  ${palette.bold(error.code)}  ${printable(error.message)}`]),
    ...(model.base === null && model.head === null ? budgetNotes : bodyLines)(model, options, palette),
    ...notes.map((note) => `  ${palette.dim("note")}   ${printable(note)}`),
  ];
}

function bodyLines(model: ModelComparison, options: CompareOptions, palette: Palette): string[] {
  const facts = [nodesText(model), sizeText(model)].filter((text) => text !== "").map(printable);
  return [
    ...timeLines(model, options, palette).map((line) => `  ${line}`),
    ...budgetNotes(model, options, palette),
    ...findingLines(model, palette).map((line) => `  ${line}`),
    ...facts.map((fact) => `  ${fact}`),
    ...graphLines(model, options, palette).map((line) => `  ${line}`),
  ];
}

function budgetNotes({ budgets }: ModelComparison, _: CompareOptions, palette: Palette): string[] {
  return budgetLines(budgets, palette).map((line) => `  ${line}`);
}

function timeLines(model: ModelComparison, options: CompareOptions, palette: Palette): string[] {
  const { base, head, time, target, kernels } = model;
  const where = `${options.describeTarget(target)}, ${target.precision}`;
  const side = head ?? base;
  const basis = side === null ? "" : `, ${basisText[side.predicted.basis]}`;
  const times = [base, head].flatMap((each) => (each === null ? [] : [pricedText(each)]));
  const verdict = time === null ? "" : `: ${coloredTime(time, palette)}`;
  const listed = options.verbose ? kernels : kernels.slice(0, mostListed);
  const rows = listed.map(kernelCells);
  const table = alignColumns(rows, ["left", "right", "left", "right", "left"]);
  return [
    `${where}${basis}`,
    `${palette.bold(times.join(" → "))} predicted${verdict}`,
    ...[storedText(model)].filter((line) => line !== undefined),
    ...table.map((line) => `  ${line}`),
    ...moreLine(kernels.length - listed.length, "kernels", palette),
  ];
}

function coloredTime(time: NonNullable<ModelComparison["time"]>, palette: Palette): string {
  const text = timeText(time);
  if (time.verdict === "slower") return palette.bad(text);
  return time.verdict === "faster" ? palette.good(text) : text;
}

function kernelCells({ node, op, base, head, change }: KernelChange): string[] {
  const time = (microseconds: number | null, none: string) =>
    microseconds === null ? none : duration(microseconds);
  const name = node === "" ? printable(op) : `${printable(node)} (${printable(op)})`;
  return [name, time(base, "new"), "→", time(head, "gone"), differenceText(change)];
}

function moreLine(count: number, what: string, palette: Palette): string[] {
  return count > 0 ? [palette.dim(`  and ${count} more ${what}: --verbose lists them`)] : [];
}

function findingLines({ findings }: ModelComparison, palette: Palette): string[] {
  const { unchanged, eased, renamed, suppressed } = findings;
  const counts = [
    ["unchanged", unchanged],
    ["at other nodes", renamed],
    ["eased", eased],
    ["suppressed", suppressed],
  ] as const;
  const rest = counts.filter(([, list]) => list.length > 0).map(([what, list]) => `${list.length} ${what}`);
  return [
    ...linesOf("new", findings.new, palette),
    ...linesOf("worse", findings.worse, palette),
    ...alike(findings.fixed).map(({ first, count }) => {
      const what = `${palette.bold(first.code)}${nameBehind(first.code, first.rule)}  ${palette.code(printable(first.node))}${andMore(count)}`;
      return `${palette.good("fixed")}  ${what}`;
    }),
    ...(rest.length > 0 ? [palette.dim(`findings: ${rest.join(", ")}`)] : []),
  ];
}

function linesOf(what: "new" | "worse", findings: readonly Finding[], palette: Palette): string[] {
  return alike(findings).flatMap(({ first, count }) => {
    const { severity, code, rule, node, op, message, saves } = first;
    const each = count > 1 ? " each" : "";
    const saved = saves === null ? "" : `  ${palette.bold(`costs ${duration(saves.microseconds)}${each}`)}`;
    return [
      `${palette.severity[severity](`${what} ${severity}`)}  ${palette.bold(code)}${nameBehind(code, rule)}  ${palette.code(printable(node))}${andMore(count)} ${palette.dim(`(${printable(op)})`)}${saved}`,
      `       ${printable(message)}`,
    ];
  });
}

function andMore(count: number): string {
  return count > 1 ? ` and ${count - 1} more` : "";
}

function graphLines({ graph }: ModelComparison, { verbose }: CompareOptions, palette: Palette): string[] {
  if (graph === null) return [];
  const changes = [
    ...graph.interface.map((change) => tensorLine("interface", change)),
    ...graph.nodes.map(({ kind, name, op, details }) => {
      const what = details.length > 0 ? `: ${details.join("; ")}` : "";
      return `${kind}  ${name} (${op})${what}`;
    }),
    ...graph.tensors.map((change) => tensorLine("weights", change)),
  ];
  const listed = verbose ? changes : changes.slice(0, mostListed);
  return [
    ...listed.map((line) => printable(line)),
    ...moreLine(changes.length - listed.length, "changes of the graph", palette),
  ];
}

function tensorLine(what: string, { name, before, after }: TensorChange): string {
  return `${what}  ${name} ${before ?? "(none)"} → ${after ?? "(none)"}`;
}

/** What is odd about either side. */
function sideNotes({ base, head }: ModelComparison): string[] {
  const texts = [base, head].flatMap((side) =>
    side === null
      ? []
      : [
          ...side.notices.map(({ message }) => message),
          ...(side.skipped > 0
            ? [`${side.path}: ${counted(side.skipped, "node has", "nodes have")} no predicted time`]
            : []),
        ],
  );
  const assumed = (head ?? base)?.assumed ?? [];
  const sizes = (head ?? base)?.symbols ?? {};
  return [...new Set([...texts, ...assumedText(assumed, sizes)])];
}

function footer(report: CompareReport, palette: Palette): string {
  const moved = movedTexts(report);
  const base = baseText(report);
  const verdict = moved.length > 0 ? palette.bold(moved.join(", ")) : palette.good(quietText(report));
  return `${verdict}; ${modelsText(report)}${base === "" ? "" : palette.dim(`, against ${base}`)}`;
}
