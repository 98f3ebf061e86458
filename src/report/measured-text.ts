/** @file What a repair was measured to gain, in the terminal. */
import type { Difference, MeasuredChange, Measurement } from "../fix/measured.ts";
import { counted, duration, headOf, percent, printable } from "../ir/format.ts";
import { alignColumns } from "./table.ts";

/** Changes that are listed before the rest is counted. */
const most = 20;

export function measuredLines(measurement: Measurement): string[] {
  const { gpu, driver, precision, sizes, microseconds, changes, slowerAsWhole } = measurement;
  const at = Object.entries(sizes).map(([name, size]) => `${name}=${size}`);
  const where = [printable(gpu), driver, precision, ...at.map(printable)].join(", ");
  const { shown, more } = headOf(changes, most);
  const table = alignColumns(shown.map(cells), ["left", "left", "right", "left", "right", "left", "left"]);
  return [
    `  measured with tc-lint's own kernels (${where}), whole runs in turns:`,
    `    ${changeText(microseconds)}`,
    ...table.map((line) => `    ${line}`),
    ...more.map((line) => `    ${line}`),
    ...(slowerAsWhole === null
      ? []
      : [`    all of it together: ${changeText(slowerAsWhole)}; so none of it is made`]),
  ];
}

function cells({ pass, what, places, microseconds, verdict }: MeasuredChange): string[] {
  const { before, after, noise } = microseconds;
  const where = places > 1 ? ` (${counted(places, "place")})` : "";
  return [
    verdict,
    pass,
    duration(before),
    "→",
    duration(after),
    `± ${duration(noise)}`,
    printable(what) + where,
  ];
}

function changeText({ before, after, noise }: Difference): string {
  const times = `${duration(before)} → ${duration(after)}, ± ${duration(noise)}`;
  const change = before - after;
  if (Math.abs(change) <= noise) return `${times}: no difference that can be told`;
  return `${times}: ${percent(Math.abs(change) / before)} ${change > 0 ? "less" : "more"}`;
}
