/** @file What Nsight Compute counted of a model's steps, in the terminal. */
import type { CountersReport, CountersStep, StepCounters } from "../gpu/counters/report.ts";
import { compact, counted as countOf, duration, percent, printable } from "../ir/format.ts";
import type { RunText } from "./bench-text.ts";
import { mixOf } from "./case-text.ts";
import { paletteOf } from "./color.ts";
import { type StepColumn, stepLines, textWidth, wrapped } from "./steps-text.ts";

export function renderCountersText(report: CountersReport, { color, verbose }: RunText): string {
  const palette = paletteOf(color);
  const { model, name, gpu, driver, times, absent, tensorActive, tensorNeeded, tensorCoreShare } = report;
  const counted = report.steps.filter(({ counters }) => counters !== null);
  const sizes = Object.entries(report.sizes).map(([symbol, size]) => ` ${printable(symbol)}=${size}`);
  const profiled = counted.reduce((total, step) => total + microsecondsOf(step), 0);
  const own = times === undefined ? "" : `; bench: ${duration(times.median)} a run`;
  const share =
    tensorCoreShare === undefined ? "" : `; kernels that have them take ${percent(tensorCoreShare)}`;
  const lines = [
    palette.heading(`${name}: ${printable(model)}${sizes.join("")}`),
    ...stepLines(counted, { columns, about: mixText, microsecondsOf, verbose, palette }),
    "",
    palette.bold(
      `Tensor Cores active ${shareText(tensorActive)} of the time, ${shareText(tensorNeeded)} needed for the FLOP at their peak${share}`,
    ),
    ...wrapped(
      `${printable(gpu.name)}, driver ${driver}; ncu: ${duration(profiled)} in ${countOf(counted.length, "launch", "launches")}, one at a time, clocks and caches as they are${own}`,
      textWidth,
      "  ",
    ).map(palette.dim),
    ...(absent.length === 0 ? [] : wrapped(`ncu does not have here: ${absent.join(", ")}`, textWidth, "  ")),
  ];
  return `${lines.join("\n")}\n`;
}

const microsecondsOf = ({ counters }: CountersStep): number => counters?.microseconds ?? 0;

/** Weighted by time; a dash where ncu did not say. */
function average(steps: readonly CountersStep[], of: (step: CountersStep) => number | null): number | null {
  let [sum, time] = [0, 0];
  for (const step of steps) {
    const value = of(step);
    if (value === null) return null;
    sum += value * microsecondsOf(step);
    time += microsecondsOf(step);
  }
  return time === 0 ? null : sum / time;
}

function shareText(share: number | null): string {
  return share === null ? "–" : percent(share);
}

const counter =
  (of: (counters: StepCounters) => number | null) =>
  ({ counters }: CountersStep): number | null =>
    counters === null ? null : of(counters);

const columns: readonly StepColumn<CountersStep>[] = [
  {
    title: "bench",
    text: (steps) => duration(steps.reduce((total, { times }) => total + times.median, 0)),
  },
  {
    title: "Tensor",
    text: (steps) =>
      shareText(
        average(
          steps,
          counter(({ tensorActive }) => tensorActive),
        ),
      ),
  },
  { title: "needed", text: (steps) => shareText(average(steps, ({ tensorNeeded }) => tensorNeeded)) },
  {
    title: "DRAM",
    text: (steps) =>
      shareText(
        average(
          steps,
          counter(({ dramActive }) => dramActive),
        ),
      ),
  },
  {
    title: "moved",
    text: (steps) => {
      const bytes = steps.map(counter(({ dramBytes }) => dramBytes));
      const known = bytes.filter((each) => each !== null);
      return known.length < bytes.length
        ? "–"
        : `${compact(known.reduce((total, each) => total + each, 0))}B`;
    },
  },
];

/** Of the first of equals, which the others resemble. */
function mixText([first]: readonly CountersStep[]): string {
  return first?.counters === null || first === undefined ? "" : mixOf(first.counters);
}
