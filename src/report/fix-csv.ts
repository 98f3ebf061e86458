/** @file What a repair changes as comma-separated values: a row a node, a row a tensor. */
import { type Cell, cellText } from "./csv.ts";
import type { FixReportView, FixView } from "./fix-view.ts";

const titles = ["model", "what", "change", "name", "op", "before", "after", "details"];

export function renderFixCsv({ fixes }: FixReportView): string {
  const rows = fixes.flatMap(({ path, diff }) => rowsOf(diff).map((row) => [path, ...row]));
  return [titles, ...rows].map((row) => `${row.map(cellText).join(",")}\r\n`).join("");
}

function rowsOf(diff: FixView["diff"]): Cell[][] {
  if (diff === null) return [];
  return [
    ...diff.nodes.map(({ name, op, kind, details }) => ["node", kind, name, op, "", "", details.join("; ")]),
    ...diff.tensors.map(({ name, before, after }) => {
      const change = before === null ? "added" : after === null ? "removed" : "changed";
      return ["tensor", change, name, "", before ?? "", after ?? "", ""];
    }),
  ];
}
