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
import { type Palette, paletteOf } from "./color.ts";
import type { ColorLevel } from "./render.ts";
import { alignColumns } from "./table.ts";

const widths = { kernel: 44, operator: 20, label: 40 };

export function renderBenchText(report: BenchReport, color: ColorLevel): string {
  const palette = paletteOf(color);
  const { gpu, driver, configurations } = report;
  const detailed = configurations.filter(({ steps }) => steps.length > 0);
  const lines = [
    ...detailed.flatMap((configuration) => [...stepTable(configuration, palette), ""]),
    palette.dim(
      `${printable(gpu.name)}, driver ${driver}; medians of replays of one CUDA graph, from a cold L2`,
    ),
    ...configurationTable(configurations, palette),
  ];
  return `${lines.join("\n")}\n`;
}

function configurationTable(configurations: readonly BenchConfiguration[], palette: Palette): string[] {
  const [first] = configurations;
  const base = first?.times?.median;
  const rows = configurations.map((each) => {
    const { name, model, times, memory, launches, sizes, tensorCoreShare } = each;
    const { median, low, high } = times ?? { median: Number.NaN, low: Number.NaN, high: Number.NaN };
    const weights = `${compact(memory.constantBytes)}B`;
    const activations = `${compact(memory.arenaBytes + memory.inputBytes + memory.outputBytes)}B`;
    return [
      `  ${name}`,
      printable(model),
      sizesText(sizes),
      duration(median),
      `${duration(low)} – ${duration(high)}`,
      base === undefined ? "" : `${significant(base / median)}×`,
      String(launches),
      weights,
      activations,
      tensorCoreShare === undefined ? "" : percent(tensorCoreShare),
    ];
  });
  const title = [
    "  configuration",
    "model",
    "sizes",
    "time",
    "80 % within",
    "speed",
    "steps",
    "weights",
    "activations",
    "on Tensor Cores",
  ];
  const table = alignColumns(
    [title, ...rows],
    ["left", "left", "left", "right", "right", "right", "right", "right", "right", "right"],
  );
  return table.map((line, index) => (index === 0 ? palette.bold(line) : line));
}

/** Symbols that are named before the rest is counted. */
const maxNamedSizes = 100;

function sizesText(sizes: Readonly<Record<string, number>>): string {
  const { shown, more } = headOf(Object.entries(sizes), maxNamedSizes);
  return [...shown.map(([name, size]) => `${printable(name)}=${size}`), ...more].join(" ");
}

function stepTable({ name, model, steps }: BenchConfiguration, palette: Palette): string[] {
  const total = steps.reduce((sum, { times }) => sum + times.median, 0);
  const { shown, more } = headOf(steps);
  const rows = shown.map((step, index) => [
    String(index),
    ...kernelCells(step),
    duration(step.times.median),
    percent(step.times.median / total),
    step.flops > 0 ? significant(step.teraflops) : "",
    significant(step.gigabytesPerSecond),
    rooflineText(step),
    duration(step.predictedMicroseconds),
    step.tensor ?? "",
    ...nodeCells(step),
  ]);
  const title = [
    "#",
    "kernel",
    "time",
    "share",
    "TFLOP/s",
    "GB/s",
    "of roofline",
    "predicted",
    "Tensor Core",
    "operator",
    "node",
  ];
  const alignments = [
    "right",
    "left",
    "right",
    "right",
    "right",
    "right",
    "right",
    "right",
    "left",
    "left",
    "left",
  ] as const;
  const table = alignColumns([title, ...rows], alignments);
  return [
    palette.heading(`${name}: ${printable(model)}`),
    ...table.map((line, index) => (index === 0 ? palette.bold(line) : line)),
    ...more,
  ];
}

function rooflineText({ rooflineMicroseconds, times }: BenchStep): string {
  return rooflineMicroseconds === undefined ? "" : percent(rooflineMicroseconds / times.median);
}

function kernelCells({ kernel, detail }: StepFacts): string[] {
  return [shortened(printable(detail === "" ? kernel : `${kernel} ${detail}`), widths.kernel)];
}

function nodeCells({ operator, label }: StepFacts): string[] {
  return [shortened(printable(operator), widths.operator), shortened(printable(label), widths.label)];
}

export function renderPlanText(plan: PlanReport, color: ColorLevel): string {
  const palette = paletteOf(color);
  const { model, gpu, precision, sizes, prepare, steps, weightBytes, arenaBytes } = plan;
  const predicted = duration(plan.predictedMicroseconds);
  const about = [
    `${printable(model)} for ${gpu}, ${precision}${Object.keys(sizes).length > 0 ? `, ${sizesText(sizes)}` : ""}:`,
    `${counted(steps.length, "step")} (${prepare.length} more once, at load), predicted ${predicted};`,
    `weights ${compact(weightBytes)}B, arena ${compact(arenaBytes)}B`,
  ];
  const lines = [
    palette.heading(about.join(" ")),
    ...portLines("input   ", plan.inputs),
    ...(prepare.length > 0 ? ["", palette.bold("at load"), ...plannedTable(prepare, palette)] : []),
    "",
    palette.bold("every run"),
    ...plannedTable(steps, palette),
    "",
    ...portLines("output  ", plan.outputs),
  ];
  return `${lines.join("\n")}\n`;
}

function portLines(role: string, ports: readonly string[]): string[] {
  const { shown, more } = headOf(ports);
  return [...shown.map((text) => `${role}${printable(text)}`), ...more.map((text) => `${role}${text}`)];
}

function plannedTable(steps: readonly StepFacts[], palette: Palette): string[] {
  const { shown, more } = headOf(steps);
  const rows = shown.map((step, index) => [
    String(index),
    ...kernelCells(step),
    `${compact(step.bytes)}B`,
    step.flops > 0 ? compact(step.flops) : "",
    duration(step.predictedMicroseconds),
    step.tensor ?? "",
    ...nodeCells(step),
    printable(step.shapes),
  ]);
  const title = [
    "#",
    "kernel",
    "bytes",
    "FLOPs",
    "predicted",
    "Tensor Core",
    "operator",
    "node",
    "reads -> writes",
  ];
  const table = alignColumns(
    [title, ...rows],
    ["right", "left", "right", "right", "right", "left", "left", "left", "left"],
  );
  return [...table.map((line, index) => (index === 0 ? palette.dim(line) : line)), ...more];
}
