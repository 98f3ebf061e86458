/** @file A model's account as lines of a terminal, a step each. */
import type { AccountStep } from "../lint/result.ts";
import { accountCells } from "./account-text.ts";
import { foldedLines, hanging } from "./fold.ts";
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
  const rows = account.map((step) => accountCells(step, account, shape.isBrief));
  const ways = rows.map(([, , , way]) => way);
  const figures = alignColumns(rows, ["left", "right", "left"]);
  const beside = alignColumns(rows, ["left", "right", "left", "left"]);
  return beside.flatMap((line, row) => {
    const whole = `  ${line}`;
    if (shape.columns === undefined || textWidth(whole) <= shape.columns) return [whole];
    // A command that is broken reads as another.
    const below = `${" ".repeat(hanging)}${ways[row] ?? ""}`;
    return [`  ${figures[row] ?? ""}`, ...foldedLines([below], shape.columns)];
  });
}
