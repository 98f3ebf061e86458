/** @file The flags of `tc-lint merge-reports`: what yargs is told, and what it gives back, checked. */
import { InputError } from "../ir/errors.ts";
import { single } from "./arguments.ts";
import { parseFormats, type ReportRequest } from "./formats.ts";
import { lintOptions } from "./options.ts";

const { output, color } = lintOptions;

export const mergeOptions = {
  format: {
    ...lintOptions.format,
    describe:
      "Any format of lint, to stdout or to a file with =PATH; repeatable (default text; csv and html need --merge-as)",
  },
  output,
  color,
} as const;

export interface MergeFlags {
  readonly reports: readonly ReportRequest[] | undefined;
  readonly color: boolean | undefined;
}

/** Throws InputError `usage`. */
export function readMergeFlags(argv: {
  readonly format?: readonly string[] | undefined;
  readonly output?: unknown;
  readonly color?: boolean | undefined;
}): MergeFlags {
  const { reports, blob } = parseFormats(argv.format ?? [], single(argv.output, "--output"));
  if (blob !== undefined)
    throw new InputError("usage", "--format: blob is what merge-reports reads; expected another format");
  return { reports, color: argv.color };
}
