/** @file What the user sees of a failure, and what it exits with. */

import { inputErrorOf } from "../onnx/surroundings.ts";
import { exitCodes } from "./exit-code.ts";
import { complain, complainOfBug } from "./stderr.ts";
import { StdoutError } from "./stdout.ts";

/** A bad input is its message; anything else is a bug in tc-lint, said so with its stack. Returns the exit code. */
export function reportFailure(error: unknown): number {
  const input = inputErrorOf(error);
  if (error instanceof StdoutError) {
    complain(error.message);
  } else if (input !== undefined) {
    complain(input.message);
    if (input.code === "usage") process.stderr.write("Run tc-lint --help for what there is.\n");
  } else {
    const stack = error instanceof Error ? (error.stack ?? error.message) : String(error);
    complainOfBug(stack);
  }
  return exitCodes.failure;
}
