/** @file What timing kernels made of a plan, in the terminal. */
import type { AutotuneReport, TunedStep } from "../gpu/autotune/report.ts";
import { counted, duration, headOf, percent, printable } from "../ir/format.ts";
import { wrapped } from "./steps-text.ts";

/** Kinds of steps that are named before the rest is counted; the JSON report has all. */
const named = 10;
const width = 120;

export function autotuneLines(report: AutotuneReport | undefined): string[] {
  if (report === undefined) return [];
  const { kinds, measured, known, left, seconds, changed, refused } = report;
  if (refused !== null) return [`  autotune: nothing is timed: ${refused}`];
  const late = left === 0 ? "" : `, ${left} left to prediction (time or memory was up)`;
  const timed = `${counted(kinds, "kind")} of steps with a choice, ${measured} timed in ${seconds.toFixed(1)} s, ${known} known from before${late}`;
  const { shown, more } = headOf(changed, named);
  return [
    ...wrapped(`autotune: ${timed}`, width, "  "),
    ...shown.flatMap((step) => wrapped(stepText(step), width, "    ")),
    ...more.map((text) => `    ${text}`),
    ...wrapped(wholeText(report), width, "  "),
  ];
}

function stepText({ operator, places, label, predicted, chosen }: TunedStep): string {
  const times = places === 1 ? "" : ` and ${places - 1} more`;
  const way = ({ what, measuredMicroseconds, predictedMicroseconds }: TunedStep["chosen"]) =>
    `${what}: ${duration(measuredMicroseconds)} (predicted ${duration(predictedMicroseconds)})`;
  return `${printable(operator)} ${printable(label)}${times}: ${way(predicted)} -> ${way(chosen)}`;
}

function wholeText({ microseconds, kept }: AutotuneReport): string {
  if (microseconds === null) return "no other kernel wins: the plan is the predicted one";
  const { before, after, noise } = microseconds;
  const runs = `whole runs in turns: ${duration(before)} -> ${duration(after)} (± ${duration(noise)})`;
  return kept
    ? `${runs}, ${percent(1 - after / before)} less`
    : `${runs}: no gain beyond noise, the predicted plan is kept`;
}
