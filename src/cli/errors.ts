/** @file What the user sees of a failure, and what it exits with. */
import { InputError } from "../ir/errors.ts";
import { exitCodes } from "./exit-code.ts";
import { StdoutError } from "./stdout.ts";

/** A bad input is its message; anything else is a bug in tc-lint, said so with its stack. Returns the exit code. */
export function reportFailure(error: unknown): number {
  if (error instanceof StdoutError) {
    process.stderr.write(`tc-lint: ${error.message}\n`);
  } else if (error instanceof InputError) {
    const hint = error.code === "usage" ? "\nRun tc-lint --help for what there is." : "";
    process.stderr.write(`tc-lint: ${error.message}${hint}\n`);
  } else {
    const stack = error instanceof Error ? (error.stack ?? error.message) : String(error);
    process.stderr.write(`${bugNotice}\n${stack}\n`);
  }
  return exitCodes.failure;
}

export const bugNotice =
  "tc-lint: this is a bug in tc-lint, not in your model; please report it with the lines below";
