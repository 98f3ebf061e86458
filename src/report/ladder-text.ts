/** @file A ladder in the terminal. */
import type { LadderReport } from "../gpu/ladder/report.ts";
import { duration, percent, printable, significant } from "../ir/format.ts";
import { paletteOf } from "./color.ts";
import type { ColorLevel } from "./render.ts";
import { textWidth, wrapped } from "./steps-text.ts";
import { alignColumns } from "./table.ts";

const columns = ["rung", "time", "speed", "TFLOP/s", "GB/s", "of roofline", "error", "kernel"];

export function renderLadderText(report: LadderReport, color: ColorLevel): string {
  const palette = paletteOf(color);
  const { ladder, work, gpu, driver, rungs, rooflineMicroseconds } = report;
  const [first] = rungs;
  const rows = rungs.map((rung, at) => [
    `${at + 1} ${rung.name}`,
    duration(rung.microseconds),
    `${significant((first?.microseconds ?? Number.NaN) / rung.microseconds)}×`,
    significant(rung.teraflops),
    significant(rung.gigabytesPerSecond),
    rung.rooflineShare === undefined ? "" : percent(rung.rooflineShare),
    rung.isRight ? rung.error.toExponential(1) : `WRONG: ${rung.error.toExponential(1)}`,
    printable(rung.kernels.join(" + ")),
  ]);
  const [title = "", ...table] = alignColumns(
    [columns, ...rows],
    ["left", ...columns.slice(2).map(() => "right" as const), "left"],
  );
  const roofline =
    rooflineMicroseconds === undefined ? "" : `; the roofline allows ${duration(rooflineMicroseconds)}`;
  const lines = [
    palette.heading(`${ladder}: ${work}`),
    palette.bold(title),
    ...table,
    "",
    ...rungs.flatMap(({ change }, at) => wrapped(`${at + 1} ${change}`, textWidth, "  ")),
    "",
    palette.dim(
      `${printable(gpu.name)}, driver ${driver}; medians of replays of one CUDA graph, from a cold L2${roofline}`,
    ),
  ];
  return `${lines.join("\n")}\n`;
}
