/** @file What a comparison of two models found, in the terminal. */

import { counted, printable, significant } from "../ir/format.ts";
import { butFor, otherwiseIn, otherwiseText } from "../ir/otherwise.ts";
import type {
  Allowance,
  Budget,
  Difference,
  DivergenceReport,
  DrawReport,
  OutputReport,
  VerifyReport,
} from "../verify/index.ts";
import { type Palette, paletteOf } from "./color.ts";
import type { ColorLevel } from "./render.ts";

export function renderVerifyText(report: VerifyReport, color: ColorLevel): string {
  const palette = paletteOf(color);
  const { original, candidate, problems, outputs, firstDivergence, notices, draws } = report;
  const title = `${palette.heading(printable(candidate))} and ${palette.heading(printable(original))}`;
  const verdict = report.same
    ? `${palette.good("are the same function")}${printable(butFor(outputs))}`
    : palette.bad(isUnproven(report) ? "are not proven to be the same function" : "differ");
  const lines = [
    `${title} ${verdict}`,
    ...problems.map((problem) => `  ${palette.bad("✗")} ${printable(problem)}`),
    ...outputs.flatMap((output) => outputLines(output, palette)),
    ...(firstDivergence === undefined ? [] : divergenceLines(firstDivergence)),
    ...(draws.length > 0 ? [`  ${drawsText(draws)}; ${budgetText(report.budget)}`] : []),
    ...notices.map((notice) => palette.dim(`  note   ${printable(notice)}`)),
    palette.dim(`  ${report.runtime}, ${significant(report.seconds)} s`),
  ];
  return `${lines.join("\n")}\n`;
}

/** Whether nothing refutes it but that so much is allowed. */
function isUnproven({ problems, outputs }: VerifyReport): boolean {
  const failed = outputs.filter(({ same }) => !same);
  return problems.length === 0 && failed.length > 0 && failed.every(({ unproven }) => unproven === true);
}

/** An output, and where it differs, how. */
export function outputLines(output: OutputReport, palette: Palette): string[] {
  const { name, dtype, dims, same, problem, difference, allowed, draw } = output;
  const sign = same ? palette.good("✓") : palette.bad("✗");
  const head = `  ${sign} output ${palette.bold(printable(name))} ${dtype}[${dims.join(",")}]`;
  if (problem !== undefined) return [`${head} ${printable(problem)} (${printable(draw)})`];
  if (difference === undefined || allowed === undefined) return [head];
  const doubt = output.unproven === true ? "not proven, for so much is allowed: " : "";
  const text = `${head}: ${doubt}${printable(errorText(output, difference, allowed))} (${printable(draw)})`;
  return same ? [text] : [text, ...differenceLines(difference)];
}

/** The worst element, and the error as a whole. */
export function differenceLines(difference: Difference): string[] {
  return [...worstLines(difference), `    ${shapeText(difference)}`];
}

function errorText({ name, ties }: OutputReport, difference: Difference, allowed: Allowance): string {
  const { mismatches, maximumError, largest, elements } = difference;
  if (ties !== undefined && ties.unexplained > 0)
    return `${mismatchText(mismatches, elements)}, ${ties.unexplained} of them no tie of ${ties.of} (within ${small(ties.within)})`;
  if (mismatches > allowed.mismatches) {
    return mismatchText(mismatches, elements);
  }
  const limit = `allowed ${small(allowed.maximumError)}`;
  const parts = [
    ...otherwiseIn([{ name, difference, allowed, ties }]).map(otherwiseText),
    ...(maximumError > 0 ? [`largest error ${small(maximumError)} of ${small(largest)}, ${limit}`] : []),
  ];
  return parts.length === 0 ? "no difference" : parts.join("; ");
}

function mismatchText(mismatches: number, elements: number): string {
  return `${counted(mismatches, "element")} of ${elements} ${mismatches === 1 ? "differs" : "differ"} in kind or value`;
}

function worstLines({ worst }: Difference): string[] {
  if (worst === undefined) return [];
  const { index, expected, actual } = worst;
  return [`    worst at [${index.join(",")}]: expected ${expected}, found ${actual}`];
}

function shapeText({
  meanError,
  rootMeanSquareError,
  cosine,
  signalToNoiseDecibels: noise,
}: Difference): string {
  const parts = [`mean error ${small(meanError)}`, `rms ${small(rootMeanSquareError)}`];
  if (cosine !== undefined) parts.push(`cosine ${Number(cosine.toFixed(9))}`);
  if (noise !== undefined) parts.push(`signal to noise ${significant(noise)} dB`);
  return parts.join(", ");
}

function divergenceLines(report: DivergenceReport): string[] {
  const { value, node, operator, difference, draw, isDecision } = report;
  const where = `"${printable(value)}", made by ${printable(operator)} "${printable(node)}"`;
  const agrees = isDecision
    ? "what decides it agrees to rounding, so it decides between values that half precision does not tell apart"
    : "what it is computed from agrees";
  return [
    `  They part at ${where}: ${partingText(report)} (${printable(draw)}); ${agrees}`,
    ...(difference === undefined ? [] : worstLines(difference)),
  ];
}

function partingText({ difference, problem = "" }: DivergenceReport): string {
  if (difference === undefined) return printable(problem);
  const { mismatches, elements, maximumError, largest } = difference;
  return mismatches > 0
    ? mismatchText(mismatches, elements)
    : `largest error ${small(maximumError)} of ${small(largest)}`;
}

/** `6 sets of inputs: normal ×3, large, negative, zero; batch 1 and 3`. */
function drawsText(draws: readonly DrawReport[]): string {
  const kinds = new Map<string, number>();
  const sizes = new Map<string, Set<number>>();
  for (const draw of draws) {
    const kind = draw.name.split(",")[0] ?? draw.name;
    kinds.set(kind, (kinds.get(kind) ?? 0) + 1);
    for (const [symbol, size] of Object.entries(draw.sizes)) {
      sizes.set(symbol, (sizes.get(symbol) ?? new Set()).add(size));
    }
  }
  const names = [...kinds].map(([kind, count]) => (count > 1 ? `${kind} ×${count}` : kind)).join(", ");
  const symbols = [...sizes].map(([symbol, each]) => `; ${printable(symbol)} ${[...each].join(" and ")}`);
  return `${counted(draws.length, "set")} of inputs: ${names}${symbols.join("")}`;
}

function budgetText(budget: Budget): string {
  if (budget.kind === "relative") return `errors to ${small(budget.tolerance)} of the largest value`;
  return `errors to ${budget.factor} times what rounding weights and inputs to ${budget.dtype} costs`;
}

/** Two significant digits, with an exponent where it is shorter. */
function small(value: number): string {
  const isPlain = value === 0 || (Math.abs(value) >= 0.001 && Math.abs(value) < 1e6);
  return isPlain ? significant(value) : Number(value.toPrecision(2)).toExponential().replace("e+", "e");
}
