/** @file `tc-lint [lint] <files, folders or patterns…>`: plans, outcomes, reports, exit code. */
import type { Argv } from "yargs";
import type { LintAllOptions } from "../../api/lint-all.ts";
import { InputError } from "../../ir/errors.ts";
import type { LintReport } from "../../lint/result.ts";
import type { LintOutcome } from "../../settings/lint-plan.ts";
import { fixOptions, readFixFlags } from "../fix-options.ts";
import { type LintFlags, lintOptions, pathsOf, readLintFlags } from "../options.ts";

export function addLint(parser: Argv, workerUrl: URL, done: (exitCode: number) => void): Argv {
  return parser.command(
    ["lint [paths..]", "$0"],
    "Find layers that waste Tensor Cores (the default command)",
    (command) =>
      command
        .positional("paths", {
          type: "string",
          array: true,
          describe: "Models, folders that hold models, or patterns such as 'exports/**/*.onnx'",
        })
        .options(lintOptions)
        .options(fixOptions),
    async (argv) => {
      const flags = readLintFlags(argv);
      const paths = pathsOf(argv);
      if (argv["print-config"] === true) {
        const { printConfig } = await import("./print-config.ts");
        await printConfig(paths, flags);
        return done(0);
      }
      const fix = readFixFlags(argv, argv.precision);
      if (fix === undefined) return done(await runLint(paths, flags, workerUrl));
      const { runFix } = await import("./fix.ts");
      return done(await runFix(paths, flags, fix, (fixed, write) => runLint(fixed, flags, workerUrl, write)));
    },
  );
}

type Write = (report: LintReport, flags: LintFlags) => Promise<void>;

/** Returns the exit code; `write` is given the report. Throws InputError where nothing can be linted as asked. */
async function runLint(
  patterns: readonly string[],
  flags: LintFlags,
  workerUrl: URL,
  write?: Write,
): Promise<number> {
  const { lintAll } = await import("../../api/lint-all.ts");
  const { applyPointerPolicy } = await import("../../api/lfs-pointers.ts");
  const { makePlans, sizeNames } = await import("../../api/make-plans.ts");
  const { layerFormats } = await import("../../report/registry.ts");
  const { errorsOnly, reportOf } = await import("../../report/summary.ts");
  const { version } = await import("../../version.ts");
  const { verdictOf } = await import("../exit.ts");
  const { complain, complainOfBug } = await import("../stderr.ts");
  const { checkReportsOf, filesOf, sayConfigurations, standardRequests, writeReports } = await import(
    "../write-reports.ts"
  );
  checkReportsOf(flags);
  const wantsLayers = flags.table || (flags.reports ?? []).some(({ format }) => layerFormats.has(format));
  const plans = await makePlans(patterns, { ...flags, table: wantsLayers, onNotice: complain });
  checkReportsOf(flags, { inputs: filesOf(plans) });
  const outcomes = await withInterrupt(flags, workerUrl, (options) => lintAll(plans, options));
  checkReportsOf(flags, { inputs: outcomes.flatMap(({ weights }) => weights) });
  checkSizesUsed(outcomes, sizeNames(flags));
  for (const { bug } of outcomes) if (bug !== undefined) complainOfBug(bug);
  const { reports, skipped } = applyPointerPolicy(outcomes, flags.lfsPointers);
  for (const message of new Set(skipped)) complain(message);
  const report = reportOf(reports, version);
  sayConfigurations(plans, flags.reports ?? standardRequests());
  // `--quiet` hides, it does not forgive: the exit code counts what is hidden.
  await (write ?? writeReports)(flags.quiet ? errorsOnly(report) : report, flags);
  const { exitCode, why } = verdictOf(report, flags);
  if (why !== undefined) complain(why);
  return exitCode;
}

/** Reports are written at the end and in one piece, so stopping before leaves nothing half done. */
async function withInterrupt(
  { jobs, limits }: LintFlags,
  workerUrl: URL,
  work: (options: LintAllOptions) => Promise<LintOutcome[]>,
): Promise<LintOutcome[]> {
  const { ProgressLine } = await import("../terminal.ts");
  const progress = new ProgressLine();
  const stop = () => {
    progress.erase();
    // 128 + SIGINT, as shells have it.
    process.exit(130);
  };
  const whileThreadsRun = async <T>(threads: () => Promise<T>): Promise<T> => {
    process.once("SIGINT", stop);
    try {
      return await threads();
    } finally {
      process.removeListener("SIGINT", stop);
    }
  };
  try {
    return await work({
      workerUrl,
      jobs,
      limits,
      onProgress: (what) => progress.show(what),
      whileThreadsRun,
    });
  } finally {
    progress.erase();
  }
}

/** A size that no model has a place for is a typing slip. With one model, inference says so itself. */
function checkSizesUsed(outcomes: readonly LintOutcome[], names: readonly string[]): void {
  const read = outcomes.filter(({ report }) => report.error === null);
  if (read.length === 0) return;
  const bound = new Set(read.flatMap((outcome) => outcome.bound));
  const unused = names.find((name) => !bound.has(name));
  if (unused === undefined) return;
  throw new InputError(
    "unknown-dimension",
    `--shape, --dim: no model has an input or a dimension named "${unused}"`,
  );
}
