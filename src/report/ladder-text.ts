/** @file Ladders in the terminal. */
import type { LadderReport, Peer, Rung, WorkReport } from "../gpu/ladder/report.ts";
import { compact, duration, percent, printable, significant } from "../ir/format.ts";
import { type Palette, paletteOf } from "./color.ts";
import type { ColorLevel } from "./render.ts";
import { textWidth, wrapped } from "./steps-text.ts";
import { alignColumns } from "./table.ts";

const columns = ["rung", "time", "speed", "TFLOP/s", "GB/s", "DRAM", "of roofline", "error", "kernel"];

export function renderLadderText(report: LadderReport, color: ColorLevel): string {
  const palette = paletteOf(color);
  const { gpu, driver, copyGigabytesPerSecond, torch, works } = report;
  const machine = [
    printable(gpu.name),
    `driver ${driver}`,
    ...(torch === undefined ? [] : [printable(torch)]),
    `a copy moves ${significant(copyGigabytesPerSecond)} GB/s`,
  ].join(", ");
  const lines = [
    ...works.flatMap((work, at) => [...workLines(work, palette), ...sentences(work, works.slice(0, at)), ""]),
    palette.dim(machine),
    palette.dim(
      "Medians of replays of one CUDA graph, from a cold L2. DRAM: by model, what each launch reads and writes once over.",
    ),
  ];
  return `${lines.join("\n")}\n`;
}

function workLines(
  { ladder, work, rungs, bounds, rooflineMicroseconds: roofline, peer }: WorkReport,
  palette: Palette,
): string[] {
  const [first] = rungs;
  const rows = rungs.map((rung, at) => [
    `${at + 1} ${rung.name}`,
    duration(rung.microseconds),
    `${significant((first?.microseconds ?? Number.NaN) / rung.microseconds)}×`,
    significant(rung.teraflops),
    significant(rung.gigabytesPerSecond),
    `${compact(rung.dramBytes)}B`,
    rung.rooflineShare === undefined ? "" : percent(rung.rooflineShare),
    rung.isRight ? rung.error.toExponential(1) : `WRONG: ${rung.error.toExponential(1)}`,
    printable(rung.kernels.join(" + ")),
  ]);
  const [title = "", ...table] = alignColumns(
    [columns, ...rows],
    ["left", ...columns.slice(2).map(() => "right" as const), "left"],
  );
  return [
    palette.heading(`${ladder}: ${work}`),
    palette.bold(title),
    ...table,
    ...(roofline === undefined ? [] : [`The roofline allows ${duration(roofline)}.`]),
    ...bounds.flatMap(({ name, note, microseconds }) =>
      wrapped(`${name}: no faster than ${duration(microseconds)}. ${note}`, textWidth),
    ),
    ...peerLines(peer, rungs.at(-1)),
  ];
}

function peerLines({ name, microseconds }: Peer, last: Rung | undefined): string[] {
  if (microseconds === undefined || last === undefined) return [];
  const ratio = significant(microseconds / last.microseconds);
  return [`${printable(name)}: ${duration(microseconds)}, ${ratio}× of the last rung's.`];
}

/** Of rungs that no work of the ladder before has told of. */
function sentences({ ladder, rungs }: WorkReport, before: readonly WorkReport[]): string[] {
  const told = new Set(
    before.flatMap((work) => (work.ladder === ladder ? work.rungs.map(({ name }) => name) : [])),
  );
  const lines = rungs
    .filter(({ name }) => !told.has(name))
    .flatMap(({ name, change }) => wrapped(`${name}: ${change}`, textWidth, "  "));
  return lines.length === 0 ? [] : ["", ...lines];
}
