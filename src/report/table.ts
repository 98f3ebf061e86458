/** @file Tables in the terminal: aligned columns, and every layer of a model. */

import { compact, duration, percent, printable, shortened, significant } from "../ir/format.ts";
import type { LayerReport } from "../lint/result.ts";
import type { Palette } from "./color.ts";
import { sizesText } from "./csv.ts";
import type { RenderOptions } from "./render.ts";

type Alignment = "left" | "right";

/** Pads cells to their column's width; two spaces between columns, none at the end of a line. */
export function alignColumns(
  rows: readonly (readonly string[])[],
  alignments: readonly Alignment[],
): string[] {
  const widths = alignments.map((_, column) => longestOf(rows.map((row) => row[column] ?? "")));
  return rows.map((row) =>
    alignments
      .map((alignment, column) => {
        const cell = row[column] ?? "";
        const width = widths[column] ?? 0;
        return alignment === "left" ? cell.padEnd(width) : cell.padStart(width);
      })
      .join("  ")
      .trimEnd(),
  );
}

function longestOf(texts: readonly string[]): number {
  return texts.reduce((longest, text) => Math.max(longest, text.length), 0);
}

interface Column {
  readonly title: string;
  readonly alignment: Alignment;
  readonly text: (layer: LayerReport) => string;
}

const boundNames = {
  "tensor-core": "tensor",
  "cuda-core": "cuda",
  dram: "dram",
  l2: "l2",
  launch: "launch",
} as const satisfies Record<LayerReport["bound"], string>;

const all: readonly Column[] = [
  { title: "op", alignment: "left", text: ({ op }) => shortened(printable(op), 24) },
  {
    title: "sizes",
    alignment: "left",
    text: ({ sizes, family }) => shortened(shortSizes(sizes, family), 44),
  },
  { title: "as", alignment: "left", text: ({ compute }) => compute },
  { title: "runs", alignment: "right", text: ({ runs }) => (runs === 1 ? "" : `${runs}×`) },
  { title: "FLOPs", alignment: "right", text: ({ flops }) => compact(flops) },
  { title: "bytes", alignment: "right", text: ({ bytes }) => compact(bytes) },
  { title: "FLOPs/B", alignment: "right", text: ({ intensity }) => significant(intensity) },
  { title: "bound", alignment: "left", text: ({ bound }) => boundNames[bound] },
  { title: "time", alignment: "right", text: ({ microseconds }) => duration(microseconds) },
  { title: "share", alignment: "right", text: ({ share }) => percent(share) },
  { title: "findings", alignment: "left", text: ({ findings }) => findings.join(" ") },
];

/** Behind the time, where that was measured. */
const predictedColumn: Column = {
  title: "predicted",
  alignment: "right",
  text: ({ predicted }) => (predicted === undefined ? "" : duration(predicted)),
};

function columnsOf(layers: readonly LayerReport[]): readonly Column[] {
  if (layers.every(({ predicted }) => predicted === undefined)) return all;
  return all.flatMap((column) =>
    column.title === "time" ? [{ ...column, title: "measured" }, predictedColumn] : column,
  );
}

const nodeWidth = { least: 16, standard: 48 };

/** Every layer in graph order. Node names take what the terminal leaves. */
export function layerTable(
  layers: readonly LayerReport[],
  { columns: terminal }: RenderOptions,
  palette: Palette,
): string[] {
  // Of a graph without loops there are no runs to tell.
  const columns = columnsOf(layers).filter(({ text }) => layers.some((layer) => text(layer) !== ""));
  const cells = [
    columns.map(({ title }) => title),
    ...layers.map((layer) => columns.map(({ text }) => text(layer))),
  ];
  const right = alignColumns(
    cells,
    columns.map(({ alignment }) => alignment),
  );
  const rest = terminal === undefined ? nodeWidth.standard : terminal - 4 - longestOf(right);
  const width = Math.max(nodeWidth.least, Math.min(nodeWidth.standard, rest));
  const names = ["node", ...layers.map(({ node, fused }) => nameOf(node, fused.length, width))];
  const longest = longestOf(names);
  const lines = right.map((line, row) => `  ${(names[row] ?? "").padEnd(longest)}  ${line}`);
  return lines.map((line, row) => (row === 0 ? palette.bold(line) : line));
}

/** `+3` counts the nodes that the kernel computes besides. */
function nameOf(node: string, fused: number, width: number): string {
  const suffix = fused > 0 ? ` +${fused}` : "";
  return `${shortened(printable(node), width - suffix.length)}${suffix}`;
}

/** Sizes in the notation of their family: `1×1000×2048`, `64→128 3×3 /2 56×56`. */
function shortSizes(sizes: LayerReport["sizes"], family: LayerReport["family"]): string {
  const text = (name: string) => [sizes[name] ?? []].flat().join("×");
  const { batch, groups, strides = [] } = sizes;
  const times = batch === 1 || batch === undefined ? "" : `${text("batch")}× `;
  switch (family) {
    case "gemm":
      return `${times}${text("m")}×${text("n")}×${text("k")}`;
    case "conv": {
      const grouped = groups === 1 ? "" : ` g${text("groups")}`;
      const steps = new Set([strides].flat());
      const stride =
        steps.size === 1 && steps.has(1) ? "" : ` /${steps.size === 1 ? [...steps][0] : text("strides")}`;
      return `${times}${text("channels")}→${text("filters")} ${text("kernel")}${stride}${grouped} ${text("input")}`;
    }
    case "attention":
      return `${times}${text("heads")}h ${text("queryLength")}×${text("keyLength")}×${text("headDim")}`;
    case "memory":
      return `${text("rows")}×${text("columns")}`;
    case "recurrent":
      return sizesText(sizes);
  }
}
