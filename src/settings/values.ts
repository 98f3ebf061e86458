/** @file Values of flags: text to data, or InputError with what was found and what was expected. */
import type { Precision } from "../hardware/target.ts";
import { InputError } from "../ir/errors.ts";
import { suggestion } from "./closest.ts";
import { precisions } from "./rule-selectors.ts";

function bad(flag: string, found: string, expected: string): InputError {
  return new InputError("usage", `${flag}: found "${found}", expected ${expected}`);
}

/** `0.005` or `0.5%`: a part of the whole, 0 to 1. */
export function parseShare(value: string | number, flag: string): number {
  const text = String(value).trim();
  const match = /^(\d+(?:\.\d*)?|\.\d+)\s*(%?)$/.exec(text);
  const share = match === null ? Number.NaN : Number(match[1]) / (match[2] === "%" ? 100 : 1);
  if (!(share >= 0 && share <= 1)) {
    const isBare = match !== null && match[2] === "" && share > 1 && share <= 100;
    const hint = isBare ? ` (${text} percent is written ${text}%)` : "";
    throw bad(flag, text, `a share such as 0.005 or 0.5%${hint}`);
  }
  return share;
}

/** A number above 0: `1e-5`. */
export function parsePositive(text: string, flag: string): number {
  const value = text.trim() === "" ? Number.NaN : Number(text);
  if (!(value > 0 && Number.isFinite(value))) throw bad(flag, text, "a number above 0");
  return value;
}

/** A whole number, from `minimum` to `maximum`; `others` are words that the caller takes as well: "dynamic, or ". */
export function parseCount(
  text: string,
  flag: string,
  minimum = 0,
  maximum: number = Number.MAX_SAFE_INTEGER,
  others = "",
): number {
  const value = /^\d+$/.test(text.trim()) ? Number(text) : Number.NaN;
  const range = maximum < Number.MAX_SAFE_INTEGER ? `${minimum} to ${maximum}` : `${minimum} or more`;
  if (!(Number.isSafeInteger(value) && value >= minimum && value <= maximum))
    throw bad(flag, text, `${others}a whole number, ${range}`);
  return value;
}

/** `input=1,3,224,224`, once an input. */
export function parseShapes(texts: readonly string[]): Record<string, readonly number[]> {
  const expected = "an input's name and sizes, such as input=1,3,224,224";
  return collect(texts, "--shape", expected, (sizes) =>
    /^(\d+([,x]\d+)*)?$/.test(sizes)
      ? sizes
          .split(/[,x]/)
          .filter((size) => size !== "")
          .map((size) => sizeOf(size, "--shape"))
      : undefined,
  );
}

/** `batch=32`, once a dimension. */
export function parseDims(texts: readonly string[]): Record<string, number> {
  const expected = "a dimension's name and size, such as batch=32";
  return collect(texts, "--dim", expected, (size) =>
    /^\d+$/.test(size) ? sizeOf(size, "--dim") : undefined,
  );
}

/** `batch=1,32`, once a dimension: sizes to take in turn. */
export function parseSizes(texts: readonly string[]): Record<string, readonly number[]> {
  const expected = "a dimension's name and one or more sizes, whole numbers, such as batch=1,32";
  return collect(texts, "--dim", expected, (sizes) =>
    /^\d+(,\d+)*$/.test(sizes) ? sizes.split(",").map((size) => sizeOf(size, "--dim")) : undefined,
  );
}

/** A larger number is not the one that is written. */
function sizeOf(digits: string, flag: string): number {
  const size = Number(digits);
  if (!Number.isSafeInteger(size)) throw bad(flag, digits, `sizes of at most ${Number.MAX_SAFE_INTEGER}`);
  return size;
}

/** `l4,a100`: values of a flag to take in turn, each once. */
export function parseValues(text: string, flag: string): string[] {
  const values = text.split(",").map((value) => value.trim());
  checkDistinct(values, flag);
  return values;
}

/** Throws InputError `usage` for a value that is listed twice. */
export function checkDistinct(values: readonly (string | number)[], flag: string): void {
  const twice = values.find((value, index) => values.indexOf(value) < index);
  if (twice !== undefined) throw new InputError("usage", `${flag}: "${twice}" is given twice`);
}

/** `NAME=VALUE`, split at the last `=`: names of tensors may hold one. */
function collect<T>(
  texts: readonly string[],
  flag: string,
  expected: string,
  parse: (text: string) => T | undefined,
): Record<string, T> {
  const entries = new Map<string, T>();
  for (const text of texts) {
    const at = text.lastIndexOf("=");
    const name = text.slice(0, Math.max(at, 0));
    const value = at > 0 ? parse(text.slice(at + 1).trim()) : undefined;
    if (value === undefined) throw bad(flag, text, expected);
    if (entries.has(name)) throw new InputError("usage", `${flag}: "${name}" is given twice`);
    entries.set(name, value);
  }
  return Object.fromEntries(entries);
}

/** `TC102,misaligned-conv-channels`, repeatable. */
/** Throws InputError where nothing is left: a variable that is not set would switch everything off, or nothing. */
export function parseList(texts: readonly string[], flag: string): string[] {
  const found = texts
    .flatMap((text) => text.split(","))
    .map((text) => text.trim())
    .filter((text) => text !== "");
  if (found.length === 0)
    throw new InputError("usage", `${flag}: found "${texts.join(" ")}", expected rules`);
  return found;
}

export function parsePrecision(text: string): Precision {
  return parseChoice(text, "--precision", precisions);
}

export function parseChoice<T extends string>(text: string, flag: string, choices: readonly T[]): T {
  const choice = choices.find((each) => each === text);
  if (choice === undefined) throw bad(flag, text, `one of ${choices.join(", ")}${suggestion(text, choices)}`);
  return choice;
}
