/** @file A validation in the terminal. */

import type { TimedRun, ValidateReport } from "../gpu/validate/report.ts";
import { compact, counted, duration, percent, printable, significant } from "../ir/format.ts";
import { halfName } from "../ir/half.ts";
import type { Overflow } from "../passes/half/overflow.ts";
import { autotuneLines } from "./autotune-text.ts";
import { type Palette, paletteOf } from "./color.ts";
import type { ColorLevel } from "./render.ts";
import { alignColumns } from "./table.ts";
import { differenceLines, outputLines } from "./verify-text.ts";

function typesText(precision: ValidateReport["precision"]): string {
  return precision === "model" ? "the types that it stores" : precision;
}

export function renderValidateText(report: ValidateReport, color: ColorLevel): string {
  const palette = paletteOf(color);
  const { model, against, precision, gpu, driver, reference, same, outputs, draws } = report;
  const verdict = same ? palette.good("computes the same") : palette.bad("computes something else");
  const than = model === against ? "" : ` as ${printable(against)}`;
  const lines = [
    `${palette.heading(printable(model))} ${verdict}${than} in ${typesText(precision)}, within ${budgetText(report)}`,
    ...outputs.flatMap((output) => outputLines(output, palette)),
    ...overflowLines(report.overflow),
    ...layerLines(report),
    "",
    ...timeTable(report.runs, palette),
    ...speedLines(report),
    ...autotuneLines(report.autotune),
    ...report.notices.map((notice) => palette.dim(`  note   ${printable(notice)}`)),
    palette.dim(
      `  ${printable(gpu.name)} (${driver}) against ${reference}; ${counted(draws.length, "set")} of inputs; ${secondsText(report)}`,
    ),
  ];
  return `${lines.join("\n")}\n`;
}

function budgetText({ budget }: ValidateReport): string {
  if (budget.kind === "relative") {
    const { tolerance, codesFactor } = budget;
    const codes = `, or ${codesFactor} times what rounding to codes the other way makes of the original`;
    return `${tolerance} of the largest value${codesFactor === undefined ? "" : codes}`;
  }
  return `${budget.factor} times what rounding weights and inputs to ${budget.dtype} costs`;
}

/** Names that are listed before the rest is counted; the JSON report has all. */
const named = 4;

/** Where half overflows, and what would not. */
export function overflowLines(overflow: Overflow | undefined): string[] {
  if (overflow === undefined) return [];
  const { type, limit, node, operator, reaches, largest, nodes, isInBfloat16 } = overflow;
  const label = halfName[type];
  const size = (value: number) => String(Number(value.toPrecision(3)));
  const more = largest > reaches ? `, and values behind it up to ${size(largest)}` : "";
  const list = nodes.slice(0, named).map((name) => `"${printable(name)}"`);
  const rest = nodes.length > named ? ` and ${nodes.length - named} more` : "";
  const bfloat = type === "float16" && isInBfloat16 ? "BF16 holds that; " : "";
  return [
    `  ${label} overflows at ${printable(operator)} "${printable(node)}": |v| up to ${size(reaches)} > ${limit > 1e6 ? size(limit) : limit}${more}`,
    `    ${bfloat}${label} does with ${counted(nodes.length, "node")} in FP32: ${list.join(", ")}${rest}`,
    "    --fix --unsafe-fixes scales weights so that it fits, or leaves nodes FP32 where that cannot be, and compares",
  ];
}

function layerLines({ layers }: ValidateReport): string[] {
  if (layers === undefined) return [];
  const { looked, first } = layers;
  if (first === undefined) return [`  ${counted(looked, "inner value")} looked at: none is off`];
  const { value, node, operator, difference } = first;
  const where = `"${printable(value)}", made by ${printable(operator)} "${printable(node)}"`;
  return [
    `  The first inner value that is off is ${where} (${counted(looked, "value")} looked at)`,
    ...differenceLines(difference),
  ];
}

function timeTable(runs: readonly TimedRun[], palette: Palette): string[] {
  const rows = runs.map(({ name, model, times, launches, memory }) => [
    `  ${name}`,
    printable(model),
    times === undefined ? "" : duration(times.median),
    times === undefined ? "" : `${duration(times.low)} – ${duration(times.high)}`,
    String(launches),
    `${compact(memory.constantBytes)}B`,
    `${compact(memory.arenaBytes)}B`,
  ]);
  const title = ["  run", "model", "time", "80 % within", "steps", "weights", "arena"];
  const table = alignColumns([title, ...rows], ["left", "left", "right", "right", "right", "right", "right"]);
  return table.map((line, index) => (index === 0 ? palette.bold(line) : line));
}

function speedLines({ speedup, tensorCoreShare }: ValidateReport): string[] {
  const parts = [
    ...(speedup === undefined ? [] : [`${significant(speedup)} times as fast as before`]),
    ...(tensorCoreShare === undefined
      ? []
      : [`${percent(tensorCoreShare)} of its time in kernels on Tensor Cores`]),
  ];
  return parts.length === 0 ? [] : [`  ${parts.join(", ")}`];
}

function secondsText({ seconds }: ValidateReport): string {
  return Object.entries(seconds)
    .map(([name, value]) => `${name} ${significant(value)} s`)
    .join(", ");
}
