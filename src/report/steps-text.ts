/** @file Steps of a plan or a benchmark in the terminal: worst first with repeats folded, or all in order. */
import type { StepFacts } from "../gpu/protocol.ts";
import { counted, duration, headOf, percent, printable, shortened } from "../ir/format.ts";
import { groupBy } from "../ir/group.ts";
import { maxOf } from "../ir/lists.ts";
import type { Palette } from "./color.ts";
import { alignColumns } from "./table.ts";

/** Whatever the terminal: texts go to files and issues too. */
export const textWidth = 120;

/** Steps of less than this share of the time each are told by their kernel alone. */
const smallShare = 0.01;

/** A figure of steps that are listed as one. */
export interface StepColumn<Step> {
  readonly title: string;
  readonly text: (steps: readonly Step[]) => string;
}

export interface StepListing<Step> {
  /** Beside the time, its share and the number of steps. */
  readonly columns: readonly StepColumn<Step>[];
  /** What is said beside the node. */
  readonly about: (steps: readonly Step[]) => string;
  readonly microsecondsOf: (step: Step) => number;
  /** All, in order, with what they read and write. */
  readonly verbose: boolean;
  readonly palette: Palette;
}

interface Entry<Step> {
  readonly steps: readonly Step[];
  /** What runs, whole: the kernel, and its sizes where they are one. */
  readonly what: string;
  /** Place in the order, or how often. */
  readonly count: string;
}

/** What a step is predicted to take one behind another, in microseconds: what is comparable with a launch by itself. */
export function inOrderMicroseconds({
  predictedMicroseconds: planned,
  runShare,
}: Pick<StepFacts, "predictedMicroseconds" | "runShare">): number {
  return planned / (runShare ?? 1);
}

/** No line is wider than `textWidth` but for a word that is, and no kernel's name is cut. */
export function stepLines<Step extends StepFacts>(
  steps: readonly Step[],
  { columns, about, microsecondsOf, verbose, palette }: StepListing<Step>,
): string[] {
  const microseconds = (each: readonly Step[]) =>
    each.reduce((total, step) => total + microsecondsOf(step), 0);
  const total = microseconds(steps);
  const entries = verbose ? inOrder(steps) : worstFirst(steps, microseconds, smallShare * total);
  const { shown, more } = headOf(entries);
  const figures = alignColumns(
    [
      [verbose ? "#" : "runs", verbose ? "time" : "in all", "share", ...columns.map(({ title }) => title)],
      ...shown.map(({ count, steps: of }) => [
        count,
        duration(microseconds(of)),
        total === 0 ? "" : percent(microseconds(of) / total),
        ...columns.map(({ text }) => text(of)),
      ]),
    ],
    ["right", "right", "right", ...columns.map(() => "right" as const)],
  );
  const left = maxOf(figures.map(({ length }) => length));
  const [title = "", ...rows] = figures;
  const lines = shown.flatMap((entry, at) => {
    const [first = "", ...rest] = entryText(entry, about(entry.steps), textWidth - left - 2, verbose);
    const margin = " ".repeat(left + 2);
    return [
      `${(rows[at] ?? "").padEnd(left)}  ${first}`,
      ...rest.map((line) => palette.dim(`${margin}${line}`)),
    ];
  });
  return [palette.bold(`${title.padEnd(left)}  kernel, its sizes, where it is`), ...lines, ...more];
}

function inOrder<Step extends StepFacts>(steps: readonly Step[]): Entry<Step>[] {
  return steps.map((step, at) => ({ steps: [step], what: whatOf(step), count: String(at) }));
}

function worstFirst<Step extends StepFacts>(
  steps: readonly Step[],
  microseconds: (steps: readonly Step[]) => number,
  small: number,
): Entry<Step>[] {
  const repeats = [...groupBy(steps, (step) => `${whatOf(step)} ${step.shapes}`).values()];
  const large = repeats.filter((each) => microseconds(each) >= small);
  const rest = repeats.filter((each) => microseconds(each) < small).flat();
  const kernels = [...groupBy(rest, ({ kernel }) => kernel).values()];
  return [...large, ...kernels]
    .map((each) => ({ steps: each, what: foldedText(each), count: `${each.length} ×` }))
    .sort((a, b) => microseconds(b.steps) - microseconds(a.steps));
}

function foldedText(steps: readonly StepFacts[]): string {
  const [first] = steps;
  if (first === undefined) return "";
  const sizes = new Set(steps.map((step) => `${step.detail} ${step.shapes}`)).size;
  return sizes === 1 ? whatOf(first) : `${printable(first.kernel)}  at ${sizes} sizes`;
}

function whatOf({ kernel, detail, tensor }: StepFacts): string {
  const sizes = [printable(detail), tensor ?? ""].filter((text) => text !== "").join(", ");
  return sizes === "" ? printable(kernel) : `${printable(kernel)}  ${sizes}`;
}

function entryText(
  { steps, what }: Entry<StepFacts>,
  about: string,
  width: number,
  verbose: boolean,
): string[] {
  const [first] = steps;
  if (first === undefined) return [];
  const more = steps.length > 1 ? ` and ${steps.length - 1} more` : "";
  const before = `${about === "" ? "" : `${about}  `}${shortened(printable(first.operator), 20)} `;
  const label = shortened(printable(first.label), width - before.length - more.length);
  return [
    ...wrapped(what, width),
    `${before}${label}${more}`.trimEnd(),
    ...(verbose ? wrapped(printable(first.shapes), width) : []),
  ];
}

/** What runs once, at load: how much of which kernels. */
export function loadingLines(steps: readonly StepFacts[]): string[] {
  if (steps.length === 0) return [];
  const microseconds = steps.reduce((total, step) => total + step.predictedMicroseconds, 0);
  const kernels = [...groupBy(steps, ({ kernel }) => kernel).values()]
    .sort((a, b) => b.length - a.length)
    .map((each) => `${each.length} × ${printable(each[0]?.kernel ?? "")}`);
  const { shown, more } = headOf(kernels);
  const what = `${counted(steps.length, "loading step")}, run once: ${duration(microseconds)}; `;
  return wrapped(`${what}${[...shown, ...more].join(", ")}`, textWidth, "  ");
}

/** Breaks at spaces; a word that is longer than a line stays whole. */
export function wrapped(text: string, width: number, indent = ""): string[] {
  const lines: string[] = [];
  for (const word of text.split(/(?<=\S)(?=\s)/)) {
    const last = lines.at(-1);
    if (last !== undefined && last.length + word.length <= width) lines[lines.length - 1] = last + word;
    else lines.push(last === undefined ? word : indent + word.trimStart());
  }
  return lines;
}
