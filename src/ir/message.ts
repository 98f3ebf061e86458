/**
 * @file What messages print of a file's numbers: those that lost digits as doubles are marked, long lists are counted, and
 * a size that nobody knows is `?`.
 */
import { type Dim, SymbolicDim } from "./dim.ts";

/** Longer lists are cut, of which the head is shown. */
const longestList = 16;
const shownOfLong = 8;

/** Integers of 64 bits are held as doubles: beyond 2^53 the last digits are not the file's. */
export function numberText(value: number): string {
  return Number.isInteger(value) && !Number.isSafeInteger(value)
    ? `about ${value.toExponential(3)}`
    : String(value);
}

/** Unknown dims are numbered to tell them apart, which means nothing to a reader. */
export function dimText(dim: Dim): string {
  return typeof dim === "number" ? numberText(dim) : String(dim).replace(/\?\d+/g, "?");
}

/** `[2,N,64]`, `[0,1,2,3,4,5,6,7,… 2,000,000 entries]`. */
export function listText(dims: readonly Dim[]): string {
  if (dims.length <= longestList) return `[${dims.map(dimText).join(",")}]`;
  const head = dims.slice(0, shownOfLong).map(dimText).join(",");
  return `[${head},… ${dims.length.toLocaleString("en-US")} entries]`;
}

type Printed = string | undefined | Dim | readonly Dim[];

/** Before a template: numbers, sizes and lists of them in it are printed as above. */
export function textOf(strings: TemplateStringsArray, ...values: readonly Printed[]): string {
  return strings.map((part, index) => (index === 0 ? part : `${printed(values[index - 1])}${part}`)).join("");
}

function printed(value: Printed): string {
  if (typeof value === "number" || value instanceof SymbolicDim) return dimText(value);
  return typeof value === "string" || value === undefined ? String(value) : listText(value);
}
