/** @file A model's account as lines of a terminal, a step each. */
import type { AccountStep } from "../lint/result.ts";
import { accountCells, rowsOf } from "./account-text.ts";
import { foldedLines, hanging } from "./fold.ts";
import { usualColumns } from "./screen.ts";
import { alignColumns } from "./table.ts";
import textWidth from "./text-width.ts";

export interface AccountShape {
  /** Columns of the terminal; undefined where the lines do not go to one. */
  readonly columns?: number | undefined;
  /** Without intervals: the first line says who has them. */
  readonly isBrief?: boolean;
}

/** One line a step, as columns; none where there is but one. */
export function accountLines(account: readonly AccountStep[], shape: AccountShape = {}): string[] {
  if (account.length < 2) return [];
  const { columns = Number.POSITIVE_INFINITY, isBrief } = shape;
  const shown = rowsOf(account);
  const cellsOf = (isTight?: boolean) => shown.map((step) => accountCells(step, account, isBrief, isTight));
  const isWide = (line: string, most = columns) => textWidth(line) > most - indent.length;
  const all = cellsOf();
  // Sooner than a line more, of which a screen has so many, be it written to a file.
  const isTight = columnsOf(all).some((line) => isWide(line, shape.columns ?? usualColumns));
  const rows = isTight ? cellsOf(true) : all;
  const figures = alignColumns(rows, ["left", "right", "left"]);
  return columnsOf(rows).flatMap((line, row) => {
    if (!isWide(line)) return [`${indent}${line}`];
    // A command that is broken reads as another.
    const below = `${" ".repeat(hanging)}${rows[row]?.[3] ?? ""}`;
    return [`${indent}${figures[row] ?? ""}`, ...foldedLines([below], columns)];
  });
}

const indent = "  ";

function columnsOf(rows: readonly (readonly string[])[]): string[] {
  return alignColumns(rows, ["left", "right", "left", "left"]);
}
