/** @file What a command exits with, and what the user sees of a failure: decided in one place. */
import type { LintReport } from "../lint/result.ts";
import { inputErrorOf } from "../onnx/surroundings.ts";
import { complain, complainOfBug } from "./stderr.ts";
import { StdoutError } from "./stdout.ts";

export const exitCodes = { clean: 0, findings: 1, failure: 2 } as const;

export interface ExitPolicy {
  /** More warnings than this fail the run; undefined: warnings never do. */
  readonly maxWarnings?: number | undefined;
  /** Findings never fail the run. Failures still do. */
  readonly exitZero: boolean;
}

/** 2 where a model could not be linted, else 1 where findings fail the run, else 0. */
export function exitCodeOf(
  { summary }: Pick<LintReport, "summary">,
  { maxWarnings, exitZero }: ExitPolicy,
): number {
  if (summary.failedModels > 0) return exitCodes.failure;
  const tooMany = maxWarnings !== undefined && summary.warnings > maxWarnings;
  return !exitZero && (summary.errors > 0 || tooMany) ? exitCodes.findings : exitCodes.clean;
}

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
