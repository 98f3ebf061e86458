/** @file A benchmark, and a plan, in the terminal. */

import type { BenchConfiguration, BenchReport, BenchStep } from "../gpu/bench-report.ts";
import type { PlanReport } from "../gpu/plan-report.ts";
import type { StepFacts } from "../gpu/protocol.ts";
import {
  compact,
  counted,
  duration,
  headOf,
  percent,
  printable,
  shortened,
  significant,
} from "../ir/format.ts";
import { autotuneLines } from "./autotune-text.ts";
import { type Palette, paletteOf } from "./color.ts";
import type { ColorLevel } from "./render.ts";
import {
  inOrderMicroseconds,
  loadingLines,
  type StepColumn,
  stepLines,
  textWidth,
  wrapped,
} from "./steps-text.ts";
import { alignColumns } from "./table.ts";

/** How runs of models are told in the terminal. */
export interface RunText {
  readonly color: ColorLevel;
  /** Every step, in order, instead of the worst first and repeats folded. */
  readonly verbose: boolean;
}

export function renderBenchText(report: BenchReport, { color, verbose }: RunText): string {
  const palette = paletteOf(color);
  const { gpu, driver, configurations } = report;
  const detailed = listed(configurations);
  const lines = [
    ...detailed.flatMap(({ name, model, steps }) => [
      palette.heading(`${name}: ${printable(model)}`),
      ...stepLines(steps, { columns: measuredColumns, about: () => "", microsecondsOf, verbose, palette }),
      "",
    ]),
    palette.dim(
      `${printable(gpu.name)}, driver ${driver}; medians of replays of one CUDA graph, from a cold L2`,
    ),
    ...configurationTable(configurations, palette),
    ...configurations.flatMap(besideText),
    ...configurations.flatMap(({ name, autotune }) =>
      autotune === undefined ? [] : [palette.bold(name), ...autotuneLines(autotune)],
    ),
  ];
  return `${lines.join("\n")}\n`;
}

/** Of a model that ran repaired as well as it is, the repaired one's steps, and of one with nothing to repair the first: JSON has both. */
function listed(configurations: readonly BenchConfiguration[]): BenchConfiguration[] {
  const timed = configurations.filter(({ steps }) => steps.length > 0);
  const repaired = new Set(timed.flatMap(({ fixed, model }) => (fixed ? [model] : [])));
  const shown = new Set<string>();
  return timed.filter(({ fixed, model, precision }) => {
    if (fixed) return true;
    const key = `${precision}\u0000${model}`;
    const isFirst = !shown.has(key);
    shown.add(key);
    return isFirst && !repaired.has(model);
  });
}

const configurationColumns = [
  "  configuration",
  "time",
  "80 % within",
  "speed",
  "steps",
  "weights",
  "activations",
  "on Tensor Cores",
];

function configurationTable(configurations: readonly BenchConfiguration[], palette: Palette): string[] {
  const [first] = configurations;
  const base = first?.times?.median;
  const rows = configurations.map(({ name, times, memory, launches, tensorCoreShare }) => {
    const { median, low, high } = times ?? { median: Number.NaN, low: Number.NaN, high: Number.NaN };
    return [
      `  ${name}`,
      duration(median),
      `${duration(low)} – ${duration(high)}`,
      base === undefined ? "" : `${significant(base / median)}×`,
      String(launches),
      `${compact(memory.constantBytes)}B`,
      `${compact(memory.arenaBytes + memory.inputBytes + memory.outputBytes)}B`,
      tensorCoreShare === undefined ? "" : percent(tensorCoreShare),
    ];
  });
  const numbers = configurationColumns.slice(1).map(() => "right" as const);
  const [title = "", ...table] = alignColumns([configurationColumns, ...rows], ["left", ...numbers]);
  const models = configurations.map(({ model, sizes }) => modelText(model, "", sizes));
  return [
    palette.bold(title),
    ...table.flatMap((line, at) => [...(models[at] === models[at - 1] ? [] : (models[at] ?? [])), line]),
  ];
}

/** Symbols that are named before the rest is counted. */
const maxNamedSizes = 100;

/** `model.onnx for h200, fp16 fixed, batch=1`; `fp16, nothing to fix`. */
function modelText(model: string, about: string, sizes: Readonly<Record<string, number>>): string[] {
  const { shown, more } = headOf(Object.entries(sizes), maxNamedSizes);
  const named = [...shown.map(([name, size]) => `${printable(name)}=${size}`), ...more].join(" ");
  return wrapped(`${printable(model)}${about}${named === "" ? "" : `, ${named}`}`, textWidth, "  ");
}

const microsecondsOf = ({ times }: BenchStep): number => times.median;

const measuredColumns: readonly StepColumn<BenchStep>[] = [
  {
    title: "TFLOP/s",
    text: (steps) => {
      const flops = sum(steps, (step) => step.flops);
      return flops > 0 ? significant(flops / sum(steps, microsecondsOf) / 1e6) : "";
    },
  },
  {
    title: "GB/s",
    text: (steps) => significant(sum(steps, ({ bytes }) => bytes) / sum(steps, microsecondsOf) / 1e3),
  },
  {
    title: "of roofline",
    text: (steps) => {
      const roofline = sum(steps, ({ rooflineMicroseconds = Number.NaN }) => rooflineMicroseconds);
      return Number.isNaN(roofline) ? "" : percent(roofline / sum(steps, microsecondsOf));
    },
  },
  { title: "predicted", text: (steps) => duration(sum(steps, inOrderMicroseconds)) },
];

/** `55 MB, 6 GFLOP, beside others on lane 2`. */
function plannedText(steps: readonly StepFacts[]): string {
  const flops = sum(steps, (step) => step.flops);
  const work = `${compact(sum(steps, ({ bytes }) => bytes))}B${flops > 0 ? `, ${compact(flops)}FLOP` : ""}`;
  const beside = steps.filter(isBeside);
  if (beside.length === 0) return work;
  const [only, ...more] = steps;
  if (more.length === 0) return `${work}, beside others on lane ${only?.lane ?? 0}`;
  return `${work}, ${beside.length === steps.length ? "" : `${beside.length} of them `}beside others`;
}

const isBeside = ({ runShare }: StepFacts): boolean => runShare !== null;

/** Where branches run beside each other: how many launches of how many, and what they would take one behind another. */
function besideLines(steps: readonly StepFacts[]): string[] {
  const beside = steps.filter(isBeside);
  if (beside.length === 0) return [];
  const lanes = new Set(beside.map(({ lane }) => lane)).size;
  const text =
    `${beside.length} of the launches run beside others, on ${counted(lanes, "lane")} of the graph: ` +
    `one behind another they would take ${duration(sum(beside, inOrderMicroseconds))}, and take ${duration(sum(beside, predictedOf))} (predicted)`;
  return wrapped(text, textWidth, "  ");
}

const predictedOf = ({ predictedMicroseconds }: StepFacts): number => predictedMicroseconds;

function sum<Step>(steps: readonly Step[], of: (step: Step) => number): number {
  return steps.reduce((total, step) => total + of(step), 0);
}

export function renderPlanText(plan: PlanReport, { color, verbose }: RunText): string {
  const palette = paletteOf(color);
  const { model, gpu, precision, sizes, prepare, steps, weightBytes, arenaBytes } = plan;
  const listing = { columns: [], about: plannedText, microsecondsOf: predictedOf, verbose, palette };
  const ofHost = steps.filter(({ kernel }) => kernel === hostKernel);
  const launches = counted(steps.length - ofHost.length, "launch", "launches");
  const share = percent(plan.tensorCoreShare);
  const predicted = `predicted ${duration(plan.predictedMicroseconds)} in ${launches}, ${share} on Tensor Cores`;
  const lines = [
    ...modelText(model, ` for ${gpu}, ${precision}`, sizes).map((line) => palette.heading(line)),
    `${palette.bold(predicted)}; weights ${compact(weightBytes)}B, arena ${compact(arenaBytes)}B`,
    ...hostLines(plan, ofHost),
    ...besideLines(steps),
    ...portLines("input   ", plan.inputs, verbose),
    ...portLines("output  ", plan.outputs, verbose),
    ...loadingLines(prepare),
    ...(verbose && prepare.length > 0
      ? ["", palette.heading("at load"), ...stepLines(prepare, listing)]
      : []),
    "",
    palette.heading(verbose ? "every run" : "every run, worst first (--verbose: in order)"),
    ...stepLines(steps, listing),
  ];
  return `${lines.join("\n")}\n`;
}

/** A run takes less than its steps, which are timed by themselves. */
function besideText({ name, steps }: BenchConfiguration): string[] {
  const lines = besideLines(steps);
  const own = duration(sum(steps, microsecondsOf));
  return lines.length === 0 ? [] : [`  ${name}: steps by themselves add up to ${own}`, ...lines];
}

/** As `describedHost` names it. */
const hostKernel = "host";

/** What data decides: how many graphs there are, what the host between them costs, and what nobody can tell yet. */
function hostLines({ graphs, open }: PlanReport, ofHost: readonly StepFacts[]): string[] {
  const time = duration(sum(ofHost, predictedOf));
  const cost = `${counted(graphs, "graph")}; between them the host works ${counted(ofHost.length, "time")}, predicted ${time} with copies and waiting, sizes at their largest`;
  return [
    ...(ofHost.length === 0 ? [] : wrapped(cost, textWidth, "  ")),
    ...open.flatMap((text) =>
      wrapped(`what follows is planned when there is data: ${printable(text)}`, textWidth, "  "),
    ),
  ];
}

/** Inputs that the head names: caches of a decoder are dozens. */
const fewPorts = 8;

function portLines(role: string, ports: readonly string[], verbose: boolean): string[] {
  const { shown, more } = verbose
    ? headOf(ports)
    : headOf(ports, ports.length > fewPorts + 1 ? fewPorts : ports.length, "--verbose lists them");
  return [
    ...shown.map((text) => `${role}${shortened(printable(text), textWidth - role.length)}`),
    ...more.map((text) => `${role}${text}`),
  ];
}
