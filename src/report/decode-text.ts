/** @file Decoding in the terminal. */
import type { DecodeReport } from "../gpu/decode/report.ts";
import type { DecodePhase } from "../gpu/protocol.ts";
import { compact, counted, duration, percent, printable, significant } from "../ir/format.ts";
import { type Palette, paletteOf } from "./color.ts";
import type { ColorLevel } from "./render.ts";
import { alignColumns } from "./table.ts";

/** Steps that are listed before the rest is counted; the JSON report has all. */
const listed = 5;

export function renderDecodeText(report: DecodeReport, color: ColorLevel): string {
  const palette = paletteOf(color);
  const { model, precision, gpu, driver, reference, same, prompt, tokens, others, largestError } = report;
  const verdict = same ? palette.good("says the same") : palette.bad("says something else");
  const count = `${counted(tokens.length, "token")} behind ${prompt.length}`;
  const ties = others.filter(({ isTie }) => isTie).length;
  const error =
    largestError === null ? "scores are no numbers" : `scores within ${percent(largestError)} of the largest`;
  const lines = [
    `${palette.heading(printable(model))} ${verdict} in ${precision === "model" ? "the types that it stores" : precision}: ${count}`,
    `  ${tokens.length - others.length} of ${tokens.length} tokens equal${ties === 0 ? "" : `, ${counted(ties, "choice")} between equals`}; ${error}`,
    ...otherLines(report),
    "",
    ...phaseTable(report, palette),
    `  ${bandwidthText(report)}`,
    palette.dim(
      `  ${printable(gpu.name)} (${driver}) against ${reference}; reference ${significant(report.seconds["reference"] ?? 0)} s, GPU ${significant(report.seconds["GPU"] ?? 0)} s`,
    ),
  ];
  return `${lines.join("\n")}\n`;
}

function otherLines({ others }: DecodeReport): string[] {
  const lines = others
    .slice(0, listed)
    .map(
      ({ step, expected, actual, gap, isTie }) =>
        `  token ${step + 1}: ${actual} instead of ${expected}, whose score is ${percent(gap)} of the largest above it${isTie ? ": a tie" : ""}`,
    );
  const rest = others.length - listed;
  return rest > 0 ? [...lines, `  and ${rest} more`] : lines;
}

function phaseTable({ prompt, prefill, step }: DecodeReport, palette: Palette): string[] {
  const row = (name: string, { times, launches, memory, weightBytes }: DecodePhase) => [
    `  ${name}`,
    duration(times.median),
    `${duration(times.low)} – ${duration(times.high)}`,
    String(launches),
    `${compact(weightBytes)}B`,
    `${compact(memory.constantBytes + memory.inputBytes + memory.outputBytes + memory.arenaBytes)}B`,
  ];
  const title = ["  run", "time", "80 % within", "steps", "weights read", "memory"];
  const rows = [title, row(`prompt of ${prompt.length}`, prefill), row("one token", step)];
  const table = alignColumns(rows, ["left", "right", "right", "right", "right", "right"]);
  return table.map((line, index) => (index === 0 ? palette.bold(line) : line));
}

function bandwidthText({ step, weightBandwidth, bandwidthShare, isInPlace }: DecodeReport): string {
  const share =
    bandwidthShare === undefined ? "" : `, ${percent(bandwidthShare)} of what its memory promises`;
  const caches = isInPlace ? "caches stay where they are" : "caches go by way of the host between steps";
  const rate = significant(1e6 / step.times.median);
  return `${rate} tokens a second; weights come at ${compact(weightBandwidth)}B/s${share}; ${caches}`;
}
