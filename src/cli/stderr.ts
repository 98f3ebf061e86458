/** @file The other way out: what is said to people beside a report. Quotes what it is given, for names come from models. */
import { printable } from "../ir/format.ts";

let takeDown: (() => void) | undefined;

/** A line of progress stands there: whatever is said next begins in its place. */
export function standsUntilSaid(erase: (() => void) | undefined): void {
  takeDown = erase;
}

/** One line, after the tool's name. */
export function complain(message: string, who = "tc-lint"): void {
  takeDown?.();
  process.stderr.write(`${who}: ${printable(message)}\n`);
}

/** A stack, line by line. */
export function complainOfBug(stack: string): void {
  complain("this is a bug in tc-lint, not in your model; please report it with the lines below");
  process.stderr.write(`${stack.split("\n").map(printable).join("\n")}\n`);
}
