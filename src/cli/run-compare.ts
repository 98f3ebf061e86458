/** @file A comparison as the command line runs it: pairs, reports, exit code. */
import { resolve } from "node:path";
import { compareFiles } from "../api/compare-all.ts";
import { compareWithBase } from "../api/compare-base.ts";
import { freshOf } from "../compare/fresh.ts";
import type { CompareReport } from "../compare/result.ts";
import { appendReportFile, checkReportFiles, writeReportFile } from "../files/report-file.ts";
import { findGpu } from "../hardware/gpus.ts";
import { findStack } from "../hardware/stacks.ts";
import { InputError } from "../ir/errors.ts";
import { counted } from "../ir/format.ts";
import type { CompareFormat } from "../report/compare-format-names.ts";
import { compareFormats } from "../report/compare-formats.ts";
import type { CompareFlags } from "./compare-options.ts";
import { exceededBudgets, exitCodes, placeOf, placesText, type Verdict } from "./exit.ts";
import type { ReportRequest } from "./formats.ts";
import { withProgress } from "./progress.ts";
import { complain, complainOfBug } from "./stderr.ts";
import { writeStdout } from "./stdout.ts";
import { reportColor } from "./terminal.ts";

/** Returns the exit code; `write` is given the report. Throws InputError where nothing can be compared as asked. */
export async function runCompare(
  paths: readonly string[],
  flags: CompareFlags,
  workerUrl: URL,
  write: (report: CompareReport, flags: CompareFlags) => Promise<void> = writeReports,
): Promise<number> {
  const { base, config, settings } = flags;
  const reportPaths = (flags.reports ?? []).map(({ path }) => path);
  const named = [
    config.kind === "file" ? config.path : undefined,
    settings.calibration,
    flags.suppressions.location,
  ];
  checkReportFiles(reportPaths, { inputs: named });
  const { report, bugs } = await withProgress((onProgress) => {
    const request = {
      ...flags,
      workerUrl,
      onNotice: complain,
      onProgress,
      checkFiles: (inputs: readonly string[]) =>
        checkReportFiles(reportPaths, { inputs: [...named, ...inputs] }),
    };
    return base === undefined
      ? compareFiles(twoPaths(paths), request)
      : compareWithBase(base, paths.length === 0 ? ["."] : paths, request);
  });
  for (const bug of bugs) complainOfBug(bug);
  await write(report, flags);
  if (flags.post !== undefined) await (await import("./post-note.ts")).postNote(report, describeTarget);
  const { exitCode, why } = compareVerdict(report, flags);
  if (why !== undefined) complain(why);
  return exitCode;
}

function twoPaths(paths: readonly string[]): readonly [base: string, head: string] {
  const [base, head, ...more] = paths;
  if (base === undefined || head === undefined || more.length > 0)
    throw new InputError(
      "usage",
      `compare: found ${counted(paths.length, "path")}, expected two models, or --base REF and models or folders`,
    );
  if (resolve(base) === resolve(head))
    throw new InputError(
      "usage",
      `compare: "${base}" is named as both models; --base REF compares with a commit`,
    );
  return [base, head];
}

/** 2 where a comparison could not be made, else 1 where something new fails the run, else 0. */
export function compareVerdict(
  { summary, models }: CompareReport,
  { maxWarnings, exitZero }: Pick<CompareFlags, "maxWarnings" | "exitZero">,
): Verdict {
  if (summary.failedModels > 0) return { exitCode: exitCodes.failure };
  if (exitZero) return { exitCode: exitCodes.clean };
  if (summary.newErrors > 0) return { exitCode: exitCodes.findings };
  const exceeded = exceededBudgets(models);
  if (exceeded !== undefined) return { exitCode: exitCodes.findings, why: exceeded };
  if (maxWarnings === undefined || summary.newWarnings <= maxWarnings) return { exitCode: exitCodes.clean };
  const places = models.flatMap(({ path, findings }) =>
    freshOf(findings)
      .filter(({ severity }) => severity === "warn")
      .map(({ code, node }) => placeOf(path, code, node)),
  );
  const why = `${counted(summary.newWarnings, "new warning")}, more than --max-warnings ${maxWarnings} allows: ${placesText(places)}`;
  return { exitCode: exitCodes.findings, why };
}

export function describeTarget({ gpu, stack }: { readonly gpu: string; readonly stack: string }): string {
  return `${findGpu(gpu)?.name ?? gpu} with ${findStack(stack)?.name ?? stack}`;
}

/** Files first: what is on stdout then says how it went. */
async function writeReports(report: CompareReport, flags: CompareFlags): Promise<void> {
  const requests: readonly ReportRequest<CompareFormat>[] = flags.reports ?? [
    { format: "text", path: undefined },
  ];
  const render = (format: CompareFormat, toStdout: boolean) =>
    compareFormats[format](report, {
      color: reportColor(flags.color, toStdout),
      verbose: flags.verbose,
      describeTarget,
    });
  for (const { format, path } of requests)
    if (path !== undefined) writeReportFile(path, render(format, false));
  const { GITHUB_ACTIONS: inActions, GITHUB_STEP_SUMMARY: summary = "" } = process.env;
  if (flags.reports === undefined && inActions === "true" && summary !== "")
    appendReportFile(summary, render("markdown", false));
  const onStdout = requests.filter(({ path }) => path === undefined);
  await writeStdout(onStdout.map(({ format }) => render(format, true)).join("\n"));
}
