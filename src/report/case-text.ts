/** @file One case of the kernels' tests in the terminal. */
import type { CaseGroup, CaseReport } from "../gpu/case/report.ts";
import type { StepCounters } from "../gpu/counters/report.ts";
import { compact, duration, percent, printable, significant } from "../ir/format.ts";
import { paletteOf } from "./color.ts";
import type { ColorLevel } from "./render.ts";
import { textWidth, wrapped } from "./steps-text.ts";
import { alignColumns } from "./table.ts";

export function renderCaseText(report: CaseReport, color: ColorLevel): string {
  const palette = paletteOf(color);
  const { name, gpu, driver, isRight, problem = "", groups, counted, absent } = report;
  const heading = isRight ? "right, and the same over memory with other contents" : "WRONG";
  const times =
    report.mode === "check" || !isRight ? "" : "; medians of replays, operands may come from the L2";
  const counters = counted === undefined ? "" : "; ncu: clocks and caches as they are";
  const lines = [
    palette.heading(`${printable(name)}: ${heading}`),
    ...indented(problem === "" ? [] : problem.split("\n").map(printable)),
    ...indented(alignColumns(groups.map(groupCells), ["left", "right", "right", "right"])),
    ...(counted === undefined ? [] : indented(countedTable(counted))),
    ...(absent.length === 0 ? [] : wrapped(`ncu does not have here: ${absent.join(", ")}`, textWidth, "  ")),
    "",
    palette.dim(`${printable(gpu.name)}, driver ${driver}${times}${counters}`),
  ];
  return `${lines.join("\n")}\n`;
}

function groupCells({ kernels, times, flops, bytes }: CaseGroup): string[] {
  const entries = printable(kernels.join(" + "));
  if (times === undefined) return [entries];
  const { median } = times;
  const rate = flops > 0 ? `${significant(flops / median / 1e6)} TFLOP/s` : "";
  return [entries, duration(median), rate, `${significant(bytes / median / 1e3)} GB/s`];
}

const columns = ["launch", "time", "Tensor", "DRAM", "moved", "instructions by pipe"];

function countedTable(counted: readonly { kernel: string; counters: StepCounters }[]): string[] {
  const rows = counted.map(({ kernel, counters }) => [
    printable(kernel),
    duration(counters.microseconds),
    shareText(counters.tensorActive),
    shareText(counters.dramActive),
    counters.dramBytes === null ? "–" : `${compact(counters.dramBytes)}B`,
    mixOf(counters),
  ]);
  return alignColumns([columns, ...rows], ["left", "right", "right", "right", "right", "left"]);
}

function shareText(share: number | null): string {
  return share === null ? "–" : percent(share);
}

/** Pipes that take less of the instructions are in the JSON. */
const shownShare = 0.05;

/** `alu 31 %, fma 12 %`. */
export function mixOf({ mix }: StepCounters): string {
  return Object.entries(mix)
    .filter(([, share]) => share >= shownShare)
    .sort(([, a], [, b]) => b - a)
    .map(([pipe, share]) => `${pipe} ${percent(share)}`)
    .join(", ");
}

function indented(lines: readonly string[]): string[] {
  return lines.map((line) => `  ${line}`);
}
