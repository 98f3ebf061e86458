/** @file The rows of fix-zoo.ts, their sums, and the table that they make. */
import { labelOf, type Model, type Node } from "../src/ir/model.ts";
import { type Measure, type Recovery, sumOf } from "./fix-recovery.ts";

export interface Row {
  readonly model: string;
  /** `verified`, `unchanged`, or what went wrong. */
  readonly result: string;
  /** Largest difference of an output, as a part of the output's largest value. */
  readonly error?: number;
  /** Of product FLOPs, the share in products with an axis off the multiple of 8. */
  readonly misalignedBefore?: number;
  readonly misalignedAfter?: number;
  readonly microsecondsBefore?: number;
  readonly microsecondsAfter?: number;
  readonly nodesAdded?: number;
  /** Of stored tensors. */
  readonly bytesAdded?: number;
  readonly innerPads?: number;
  readonly recovery?: Recovery;
  /** What fixing the result again does. */
  readonly secondTime?: string;
  readonly notes?: readonly string[];
}

/** What may stand between an edge of the graph and the Pad or Slice at it: other passes put it there. */
const edgeOps = new Set(["Cast", "Transpose"]);

/** Pads and Slices that the fix put between two nodes of the graph. */
export function innerPads(before: Model, after: Model): number {
  // A node that is there already may give its result under another name, in another layout.
  const known = new Set(before.graph.nodes.map((node) => `${node.opType} ${labelOf(node)}`));
  return after.graph.nodes.filter((node) => {
    if (node.opType !== "Pad" && node.opType !== "Slice") return false;
    if (known.has(`${node.opType} ${labelOf(node)}`)) return false;
    return !(isAtInput(node) || isAtOutput(node));
  }).length;
}

function isAtInput(node: Node): boolean {
  const [value] = node.inputs;
  if (value === undefined) return false;
  if (value.isInput) return true;
  return value.producer !== undefined && edgeOps.has(value.producer.opType) && isAtInput(value.producer);
}

function isAtOutput(node: Node): boolean {
  const [value] = node.outputs;
  if (value === undefined) return false;
  if (value.isOutput) return true;
  return (
    value.consumers.length > 0 &&
    value.consumers.every((reader) => edgeOps.has(reader.opType) && isAtOutput(reader))
  );
}

const columns = [
  "model",
  "result",
  "rel. error",
  "misaligned FLOPs",
  "predicted µs",
  "saving",
  "nodes added",
  "bytes added",
  "inner Pad/Slice",
  "recovered µs",
  "second time",
] as const;
const widths = [26, 11, 10, 17, 16, 7, 12, 11, 15, 16, 11] as const;

export function headingOf(): string {
  return aligned(columns);
}

export function lineOf(row: Row): string {
  return aligned(cellsOf(row));
}

/** One row a model, and what all come to. */
export function markdownOf(rows: readonly Row[], command: string): string {
  const line = (cells: readonly string[]) => `| ${cells.join(" | ")} |`;
  const rule = columns.map((_, index) => (index < 2 ? "---" : "---:"));
  const table = [line(columns), line(rule), ...rows.map((row) => line(cellsOf(row)))];
  return `# What --fix does to the zoo\n\n\`${command}\`\n\n${table.join("\n")}\n\n\`\`\`\n${totalsText(rows)}\n\`\`\`\n`;
}

function aligned(cells: readonly string[]): string {
  return cells
    .map((cell, index) => (index < 2 ? cell.padEnd(widths[index] ?? 0) : cell.padStart(widths[index] ?? 0)))
    .join(" ");
}

function cellsOf(row: Row): string[] {
  const { microsecondsBefore: before, microsecondsAfter: after, recovery } = row;
  const fixed = (value: number | undefined, digits: number) => value?.toFixed(digits) ?? "-";
  const share = (value: number | undefined) => (value === undefined ? "-" : `${(100 * value).toFixed(1)} %`);
  const saving = before === undefined || after === undefined ? undefined : (before - after) / before;
  return [
    row.model,
    row.result.slice(0, 200),
    row.error?.toExponential(1) ?? "-",
    `${share(row.misalignedBefore)} → ${share(row.misalignedAfter)}`,
    `${fixed(before, 1)} → ${fixed(after, 1)}`,
    share(saving),
    fixed(row.nodesAdded, 0),
    fixed(row.bytesAdded, 0),
    fixed(row.innerPads, 0),
    recovery === undefined
      ? "-"
      : `${fixed(recovery.recoveredMicroseconds, 1)} of ${fixed(recovery.recoverableMicroseconds, 1)}`,
    row.secondTime ?? "-",
  ];
}

export interface Totals {
  readonly models: number;
  readonly verified: number;
  readonly unchanged: number;
  readonly same: number;
  readonly innerPads: number;
  readonly largestError: number;
  /** Null where nothing of it was measured. */
  readonly recovery:
    | (Measure & { readonly share: number; readonly alone: Measure & { readonly share: number } })
    | null;
}

export function totalsOf(rows: readonly Row[]): Totals {
  const count = (test: (row: Row) => boolean) => rows.filter(test).length;
  const recoveries = rows.flatMap(({ recovery }) => recovery ?? []);
  return {
    models: rows.length,
    verified: count(({ result }) => result === "verified"),
    unchanged: count(({ result }) => result === "unchanged"),
    same: count(({ secondTime }) => secondTime === "same"),
    innerPads: rows.reduce((total, row) => total + (row.innerPads ?? 0), 0),
    largestError: rows.reduce((largest, row) => Math.max(largest, row.error ?? 0), 0),
    recovery:
      recoveries.length === 0
        ? null
        : { ...withShare(sumOf(recoveries)), alone: withShare(sumOf(recoveries.map(({ alone }) => alone))) },
  };
}

function withShare(measure: Measure): Measure & { readonly share: number } {
  const { recoverableMicroseconds: all, recoveredMicroseconds: part } = measure;
  return { ...measure, share: all > 0 ? part / all : 1 };
}

export function totalsText(rows: readonly Row[]): string {
  const { models, verified, unchanged, same, innerPads: pads, largestError, recovery } = totalsOf(rows);
  const lines = [
    `${models} models: ${verified} verified, ${unchanged} unchanged; ${same} the same when fixed again`,
    `Pad or Slice inside a graph: ${pads}; largest relative error ${largestError.toExponential(1)}`,
  ];
  if (recovery !== null) {
    lines.push(
      ...measureLines("recoverable by padding, all of the model counted", recovery),
      ...measureLines("what rules say of each product alone", recovery.alone),
    );
  }
  return lines.join("\n");
}

function measureLines(what: string, measure: Measure & { readonly share: number }): string[] {
  const { recoverableMicroseconds: all, recoveredMicroseconds: part, share, remainder } = measure;
  return [
    `${what}: recovered ${(100 * share).toFixed(1)} % (${part.toFixed(1)} of ${all.toFixed(1)} µs); the rest:`,
    ...remainder.map(
      ({ reason, products, microseconds }) =>
        `  ${microseconds.toFixed(1).padStart(8)} µs in ${products} products: ${reason}`,
    ),
  ];
}
