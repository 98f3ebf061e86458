/** @file Columns of the table of layers: the page has its first rows as it is written, and its script makes the others alike. */
import { compact, counted, duration, durationRange, percent, significant } from "../../ir/format.ts";
import type { LayerReport } from "../../lint/result.ts";
import { sizesText } from "../csv.ts";

export interface LayerColumn {
  readonly title: string;
  readonly isNumber: boolean;
  readonly text: (layer: LayerReport) => string;
  /** What it is sorted by. */
  readonly key: (layer: LayerReport) => number | string;
  /** Beside the text, in small type. */
  readonly note?: (layer: LayerReport) => string;
  /** What a pointer that rests on it is told. */
  readonly hint?: (layer: LayerReport) => string;
  /** Drawn behind the text, beside the longest of all layers. */
  readonly bar?: (layer: LayerReport) => number;
}

function words(title: string, text: (layer: LayerReport) => string): LayerColumn {
  return { title, isNumber: false, text, key: text };
}

function figure(
  title: string,
  value: (layer: LayerReport) => number,
  text: (value: number) => string,
): LayerColumn {
  return { title, isNumber: true, text: (layer) => text(value(layer)), key: value };
}

const boundTexts: Readonly<Record<LayerReport["bound"], string>> = {
  "tensor-core": "Tensor Cores",
  "cuda-core": "CUDA cores",
  dram: "DRAM",
  l2: "L2",
  launch: "launch",
};

export function boundText(bound: LayerReport["bound"]): string {
  return boundTexts[bound];
}

export const timeColumn = 8;

/** Of what nobody measured there is no other figure. */
const predictedColumn: LayerColumn = {
  title: "Predicted",
  isNumber: true,
  text: ({ predicted }) => (predicted === undefined ? "" : duration(predicted)),
  key: ({ predicted = -1 }) => predicted,
};

const predictedColumns: readonly LayerColumn[] = [
  {
    ...words("Node", ({ node }) => node),
    note: ({ fused, graph, runs }) =>
      [
        fused.length > 0 ? `+${fused.length} fused` : "",
        runs !== 1 ? counted(runs, "run") : "",
        graph === "graph" ? "" : `in ${graph}`,
      ]
        .filter((part) => part !== "")
        .join(", "),
    hint: ({ node, fused }) => [node, ...fused.slice(0, 20)].join(", "),
  },
  words("Operator", ({ op }) => op),
  words("Sizes", ({ sizes }) => sizesText(sizes)),
  words("Type", ({ compute }) => compute),
  figure("FLOPs", ({ flops }) => flops, compact),
  figure("Bytes", ({ bytes }) => bytes, compact),
  figure("FLOPs/B", ({ intensity }) => intensity, significant),
  words("Bound by", ({ bound }) => boundText(bound)),
  {
    ...figure("Time", ({ microseconds }) => microseconds, duration),
    hint: ({ low, high }) => durationRange(low, high),
  },
  { ...figure("Share", ({ share }) => share, percent), bar: ({ share }) => share },
  words("Findings", ({ findings }) => findings.join(" ")),
];

/** Where times are measured, what was predicted stands behind them. */
const measuredColumns: readonly LayerColumn[] = predictedColumns.flatMap((column, index) =>
  index === timeColumn ? [{ ...column, title: "Measured" }, predictedColumn] : [column],
);

/** Of the table of some layers; their time is column `timeColumn`. */
export function columnsOf(layers: readonly LayerReport[]): readonly LayerColumn[] {
  return layers.some(({ predicted }) => predicted !== undefined) ? measuredColumns : predictedColumns;
}

/** Percent of a cell. */
export function barLength(length: number, longest: number): string {
  return longest > 0 ? `${((100 * length) / longest).toFixed(1)}%` : "0%";
}

/** Layers, sorted by a column; equal ones stay as they are in the graph, and those that have no word in it come last, whatever the direction. */
export function sortedBy(
  layers: readonly LayerReport[],
  column: LayerColumn,
  direction: "ascending" | "descending",
): LayerReport[] {
  const sign = direction === "ascending" ? 1 : -1;
  const keyed = layers.map((layer) => ({ layer, key: column.key(layer) }));
  keyed.sort((a, b) => {
    if (a.key === b.key) return 0;
    if (a.key === "" || b.key === "") return a.key === "" ? 1 : -1;
    return a.key < b.key ? -sign : sign;
  });
  return keyed.map(({ layer }) => layer);
}

/** Whether every word is somewhere in what a layer is called, or in what its row says. */
export function matches({ fused, node, graph, ...layer }: LayerReport, words: readonly string[]): boolean {
  const texts = [node, graph, ...fused, layer.op, layer.compute, layer.family, boundText(layer.bound)];
  const text = [...texts, sizesText(layer.sizes), ...layer.findings].join(" ").toLowerCase();
  return words.every((word) => text.includes(word));
}

/** Rows that are there before anybody asks for more. */
export const firstRows = 100;
