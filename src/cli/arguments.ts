/** @file What yargs gives back for a flag, to what it means: pieces that the flags of all commands share. */
import { InputError } from "../ir/errors.ts";
import { parsePositive } from "../settings/values.ts";

/** yargs makes a list of a flag that is given twice; which one is meant, nobody knows. Throws InputError `usage`. */
export function single(value: unknown, name: string): string | undefined {
  if (value === undefined || typeof value === "string") return value;
  const given = Array.isArray(value) ? value.map(String) : [];
  const isList = ["--gpu", "--stack", "--precision"].includes(name) && given.length > 1;
  const hint = isList ? `; several are written ${name} ${given.join(",")}` : "";
  throw new InputError("usage", `${name}: given more than once, or without a value${hint}`);
}

export function mapped<T, U>(value: T | undefined, map: (value: T) => U): U | undefined {
  return value === undefined ? undefined : map(value);
}

/** What Node, tc-lint and ONNX Runtime take before there is a model: below it a limit says when, not whether, it is passed. */
const leastGibibytes = 0.125;

/** `--memory-gb` to bytes. Throws InputError `usage`. */
export function parseMemory(text: string): number {
  const flag = "--memory-gb";
  const gibibytes = parsePositive(text, flag);
  if (gibibytes >= leastGibibytes) return gibibytes * 2 ** 30;
  const what = `expected at least ${leastGibibytes}, which Node itself may take`;
  throw new InputError("usage", `${flag}: "${text}" is too little; ${what}`);
}
