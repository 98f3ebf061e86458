/** @file The flags of `tc-lint compare`: what yargs is told, and what it gives back, checked. */
import type { InferredOptionTypes } from "yargs";
import type { PlanRequest } from "../api/make-plans.ts";
import { InputError } from "../ir/errors.ts";
import type { Limits } from "../limits/guard.ts";
import { type CompareFormat, compareFormatNames } from "../report/compare-format-names.ts";
import { parseChoice, parseCount, parsePositive } from "../settings/values.ts";
import { mapped, parseMemory, single } from "./arguments.ts";
import { parseFormatsOf, type ReportRequest } from "./formats.ts";
import { lintOptions, parseJobs, readConfigChoice, readSettings, settingOptions } from "./options.ts";
import { readSuppressFlags, type SuppressFlags } from "./suppress-options.ts";

const { color, output, timeout } = lintOptions;

/** Where a note can be kept. GitHub's is the Action's to keep. */
const forges = ["gitlab"] as const;

export const compareOptions = {
  base: {
    type: "string",
    requiresArg: true,
    group: "Models:",
    describe: "Compare models of the working tree with what a branch, tag or commit has",
  },
  ...settingOptions,
  format: {
    type: "string",
    array: true,
    requiresArg: true,
    group: "Report:",
    alias: "f",
    describe: `${compareFormatNames.join(", ")}, to stdout or to a file with =PATH; repeatable (default text)`,
  },
  output,
  verbose: { type: "boolean", group: "Report:", describe: "Every kernel, node and weight that changed" },
  color,
  post: {
    type: "string",
    requiresArg: true,
    group: "Report:",
    describe: `Keep one note on the merge request of this pipeline up to date: ${forges.join(", ")}`,
  },
  "max-warnings": {
    type: "string",
    requiresArg: true,
    group: "Exit code:",
    describe: "Exit with 1 where there are more new warnings than this",
  },
  "exit-zero": lintOptions["exit-zero"],
  "suppressions-location": {
    ...lintOptions["suppressions-location"],
    describe: `With --base: ${lintOptions["suppressions-location"].describe}`,
  },
  "all-files": lintOptions["all-files"],
  "error-on-unmatched-pattern": lintOptions["error-on-unmatched-pattern"],
  jobs: { ...lintOptions.jobs, describe: "Models compared at once (default: one a core)" },
  timeout,
  "memory-gb": lintOptions["memory-gb"],
} as const;

export interface CompareFlags
  extends Pick<
    PlanRequest,
    "settings" | "scenarios" | "config" | "allFiles" | "errorOnUnmatchedPattern" | "patternsOf"
  > {
  readonly base: string | undefined;
  readonly reports: readonly ReportRequest<CompareFormat>[] | undefined;
  readonly verbose: boolean;
  readonly color: boolean | undefined;
  readonly post: (typeof forges)[number] | undefined;
  readonly maxWarnings: number | undefined;
  readonly exitZero: boolean;
  readonly jobs: number | undefined;
  readonly limits: Limits;
  readonly suppressions: Pick<SuppressFlags, "location" | "isRead">;
}

/** Of a variable that is not set nothing is left. */
function parseBase(ref: string): string {
  if (ref.trim() !== "") return ref;
  throw new InputError("usage", `--base: found "${ref}", expected a branch, a tag or a commit`);
}

/** Throws InputError `usage` naming the flag, what was found and what was expected. */
export function readCompareFlags(argv: Partial<InferredOptionTypes<typeof compareOptions>>): CompareFlags {
  const one = (name: "base" | "output" | "post" | "max-warnings" | "jobs" | "timeout" | "memory-gb") =>
    single(argv[name], `--${name}`);
  const suppressions = readSuppressFlags(argv);
  if (suppressions.location !== undefined && argv.base === undefined)
    throw new InputError("usage", "--suppressions-location: says nothing without --base");
  return {
    ...readSettings(argv),
    config: readConfigChoice(argv),
    base: mapped(one("base"), parseBase),
    reports: parseFormatsOf(compareFormatNames, argv.format ?? [], one("output"), "text"),
    verbose: argv.verbose ?? false,
    color: argv.color,
    post: mapped(one("post"), (value) => parseChoice(value, "--post", forges)),
    maxWarnings: mapped(one("max-warnings"), (value) => parseCount(value, "--max-warnings")),
    exitZero: argv["exit-zero"] ?? false,
    jobs: mapped(one("jobs"), parseJobs),
    suppressions,
    allFiles: argv["all-files"] ?? false,
    errorOnUnmatchedPattern: argv["error-on-unmatched-pattern"] ?? true,
    limits: {
      timeoutSeconds: mapped(one("timeout"), (value) => parsePositive(value, "--timeout")),
      memoryBytes: mapped(one("memory-gb"), parseMemory),
    },
  };
}
