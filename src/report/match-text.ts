/** @file Why a pattern fits a node or does not, in the terminal. */
import { printable } from "../ir/format.ts";
import { type Palette, paletteOf } from "./color.ts";
import type { ColorLevel } from "./render.ts";

/** Of MatchReport, what is shown. */
export interface ShownMatch {
  readonly rule: string;
  readonly node: string;
  readonly fits: boolean;
  readonly root: string;
  readonly op: string;
  readonly fitted: readonly string[];
  readonly at: readonly string[];
  readonly expected: string | null;
  readonly found: string | null;
  readonly message: string | null;
  readonly off: boolean;
}

export function renderMatch(match: ShownMatch, color: ColorLevel): string {
  const palette = paletteOf(color);
  const { rule, root, op, fits } = match;
  const verdict = fits ? palette.good("fits") : palette.bad("does not fit");
  const head = `${palette.bold(rule)} ${verdict} at ${palette.code(printable(root))} (${printable(op)})`;
  const lines = rowsOf(match, palette).map(([what, text]) => `  ${what.padEnd(10)}${text}`);
  return `${[head, ...lines].join("\n")}\n`;
}

function rowsOf(match: ShownMatch, palette: Palette): (readonly [string, string])[] {
  const { fits, fitted, at, expected, found, message, off } = match;
  const rows: (readonly [string, string])[] = [];
  const parts = fitted.map((each) => printable(each)).join(", ");
  rows.push([fits ? "nodes" : "fits", parts === "" ? "nothing" : parts]);
  if (!fits) {
    rows.push(["misses", at.length === 0 ? "the node that the pattern ends in" : printable(at.join(" → "))]);
    rows.push(["expected", printable(expected ?? "")], ["found", printable(found ?? "")]);
  } else if (message === null) rows.push(["says", "nothing: its report leaves the match"]);
  else rows.push(["says", printable(message)]);
  if (off) rows.push(["note", palette.dim("the configuration has this rule off for this model")]);
  return rows;
}
