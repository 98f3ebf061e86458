/** @file The colours of a report: SGR sequences of a terminal, or none. */
import type { Severity } from "../lint/result.ts";
import type { ColorLevel } from "./render.ts";

export type Style = (text: string) => string;

export interface Palette {
  readonly bold: Style;
  readonly dim: Style;
  readonly code: Style;
  readonly good: Style;
  readonly bad: Style;
  readonly heading: Style;
  readonly severity: Readonly<Record<Severity, Style>>;
}

/** What switches each on and off. Source: ECMA-48, 8.3.117. */
const sequences = {
  bold: ["\u001B[1m", "\u001B[22m"],
  dim: ["\u001B[2m", "\u001B[22m"],
  underline: ["\u001B[4m", "\u001B[24m"],
  red: ["\u001B[31m", "\u001B[39m"],
  green: ["\u001B[32m", "\u001B[39m"],
  yellow: ["\u001B[33m", "\u001B[39m"],
  blue: ["\u001B[34m", "\u001B[39m"],
  cyan: ["\u001B[36m", "\u001B[39m"],
} as const;

export function paletteOf(level: ColorLevel): Palette {
  const style = (...names: readonly (keyof typeof sequences)[]): Style =>
    level === 0 ? (text) => text : (text) => styled(text, names);
  return {
    bold: style("bold"),
    dim: style("dim"),
    code: style("cyan"),
    good: style("green"),
    bad: style("red", "bold"),
    heading: style("bold", "underline"),
    severity: { error: style("red"), warn: style("yellow"), info: style("blue") },
  };
}

function styled(text: string, names: readonly (keyof typeof sequences)[]): string {
  if (text === "") return text;
  const on = names.map((name) => sequences[name][0]).join("");
  const off = names
    .map((name) => sequences[name][1])
    .toReversed()
    .join("");
  // Where a style inside ends one of these, it goes on; no style goes over the end of a line.
  const inside = names.reduceRight((whole, name) => {
    const [start, end] = sequences[name];
    return whole.replaceAll(end, `${end}${start}`);
  }, text);
  return `${on}${inside.replaceAll(/\r?\n/g, (line) => `${off}${line}${on}`)}${off}`;
}
