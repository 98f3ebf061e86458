/** @file Every layer as comma-separated values (RFC 4180): for spreadsheets and notebooks. */

import { printable } from "../ir/format.ts";
import type { LayerReport, LintReport } from "../lint/result.ts";
import { basisColumn, isMixed } from "./basis-column.ts";

export type Cell = string | number | boolean;

/** One column: its name with its unit, and its value. */
const own: readonly (readonly [string, (layer: LayerReport) => Cell])[] = [
  ["graph", (layer) => layer.graph],
  ["node", (layer) => layer.node],
  ["op", (layer) => layer.op],
  ["family", (layer) => layer.family],
  ["sizes", (layer) => sizesText(layer.sizes)],
  ["compute", (layer) => layer.compute],
  ["runs", (layer) => layer.runs],
  ["flops", (layer) => layer.flops],
  ["bytes", (layer) => layer.bytes],
  ["flops_per_byte", (layer) => round(layer.intensity)],
  ["bound", (layer) => layer.bound],
  ["tensor_core", (layer) => layer.tensorCore],
  ["microseconds", (layer) => round(layer.microseconds)],
  ["microseconds_low", (layer) => round(layer.low)],
  ["microseconds_high", (layer) => round(layer.high)],
  ["share", (layer) => round(layer.share)],
  ["findings", (layer) => layer.findings.join(" ")],
  ["fused", (layer) => layer.fused.join(" ")],
];

/** The time is measured; what was predicted stands behind it. */
const predictedColumn = [
  "predicted_microseconds",
  ({ predicted }: LayerReport) => (predicted === undefined ? "" : round(predicted)),
] as const;

export function renderCsv(report: LintReport): string {
  // A column that is there where something is in it: files of runs without scenarios are as they were.
  const hasScenarios = report.models.some(({ scenario }) => scenario !== undefined);
  const isMeasured = report.models.some(({ profile }) => profile !== undefined);
  const columns = isMeasured ? [...own, predictedColumn] : own;
  const isBased = isMixed(report.models);
  const titles = ["model", ...(hasScenarios ? ["scenario"] : []), ...(isBased ? [basisColumn.title] : [])];
  const lines = [[...titles, ...columns.map(([name]) => name)].join(",")];
  for (const model of report.models) {
    const { path, scenario = "", layers } = model;
    const where = [path, ...(hasScenarios ? [scenario] : []), ...(isBased ? [basisColumn.text(model)] : [])];
    for (const layer of layers ?? []) {
      lines.push([...where, ...columns.map(([, value]) => value(layer))].map(cellText).join(","));
    }
  }
  return `${lines.join("\r\n")}\r\n`;
}

/** `m=1 n=1000 k=2048`, `input=224x224`. */
export function sizesText(sizes: LayerReport["sizes"]): string {
  return Object.entries(sizes)
    .map(([name, size]) => `${name}=${typeof size === "number" ? size : size.join("x")}`)
    .join(" ");
}

function round(value: number): number {
  return Number(value.toPrecision(6));
}

/** A spreadsheet computes what starts like a formula: an apostrophe makes text of it (OWASP, CSV injection). */
export function cellText(cell: Cell): string {
  const text = typeof cell === "string" ? printable(cell).replace(/^(?=[=+\-@])/, "'") : String(cell);
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
