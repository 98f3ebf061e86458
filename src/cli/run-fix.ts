/** @file `tc-lint --fix` and `--diff`: one model after the other, each repaired, verified and put in place on its own. */
import { basename, join } from "node:path";
import { type FixOutcome, fixModel, type Proof, type Verify, type Within } from "../fix/fix.ts";
import { InputError } from "../ir/errors.ts";
import type { LintReport } from "../lint/result.ts";
import { inputErrorOf } from "../onnx/surroundings.ts";
import { counted } from "../report/format.ts";
import { colorLevel } from "./color.ts";
import { exitCodes } from "./exit-code.ts";
import { proveHalf } from "./fix-half.ts";
import type { FixFlags } from "./fix-options.ts";
import { isJson, writeFixReports, writeFixText } from "./fix-output.ts";
import { rangesFor } from "./fix-ranges.ts";
import { entryOf, type FixEntry, failedEntry } from "./fix-report.ts";
import { fixSettings, withRanges } from "./fix-settings.ts";
import { failureAdvice, renderFixText } from "./fix-text.ts";
import { promisedProof, proveSame } from "./fix-verify.ts";
import { Guard, type Limits } from "./guard.ts";
import { statOf } from "./look.ts";
import { makePlans } from "./make-plans.ts";
import type { LintFlags } from "./options.ts";
import type { LintPlan } from "./plan.ts";
import { ProgressLine } from "./progress.ts";
import { complain } from "./stderr.ts";
import { checkReportsOf, filesOf, sayConfigurations } from "./write-reports.ts";

const childUrl = new URL("../verify-child.js", import.meta.url);

/** Lints the repaired models, hands the report to `write`, and returns the exit code. */
export type Lint = (
  paths: readonly string[],
  write: (report: LintReport, flags: LintFlags) => Promise<void>,
) => Promise<number>;

/** Repairs every model, then lets `lint` report on the results. Returns the exit code. */
export async function runFix(
  patterns: readonly string[],
  flags: LintFlags,
  fix: FixFlags,
  lint: Lint,
): Promise<number> {
  checkReportsOf(flags);
  const plans = await makePlans(patterns, flags);
  if (fix.output !== undefined && plans.length !== 1) {
    throw new InputError("usage", `--fix-output: takes one model, found ${plans.length}`);
  }
  checkOutput(fix.output, plans[0]);
  const models = plans.map(({ path }) => path);
  checkReportsOf(flags, {
    inputs: filesOf(plans),
    destinations: fix.output === undefined ? models : [fix.output],
    models,
  });
  const entries: FixEntry[] = [];
  let failed = false;
  for (const plan of plans) {
    try {
      entries.push(await reported(plan, flags, fix));
    } catch (error) {
      const input = inputErrorOf(error);
      if (input === undefined) throw error;
      complain(input.message);
      if (input.code === "lfs-pointer" && flags.lfsPointers !== "error") continue;
      failed = true;
      entries.push(failedEntry(plan, fix.output ?? plan.path, input));
    }
  }
  // Names that a file system takes for the same, or a link to what was not there before.
  checkReportsOf(flags, { inputs: entries.flatMap(writtenFiles) });
  const fixed = fixCode(entries, failed, fix);
  const results = entries.filter(({ error }) => error === null).map(({ destination }) => destination);
  if (fix.only || fix.dryRun || results.length === 0) {
    // Of the formats, JSON alone tells of repairs.
    sayConfigurations(plans, (flags.reports ?? []).filter(isJson));
    await writeFixReports(entries, undefined, flags);
    return fixed;
  }
  await writeFixText("\n", flags);
  return Math.max(fixed, await lint(results, (report, shown) => writeFixReports(entries, report, shown)));
}

/** Throws InputError. */
function checkOutput(output: string | undefined, plan: LintPlan | undefined): void {
  if (output === undefined) return;
  const there = statOf(output);
  if (typeof there === "string" || !there.isDirectory()) return;
  const example = join(output, basename(plan?.path ?? "model.onnx"));
  throw new InputError(
    "bad-destination",
    `--fix-output: "${output}" is a folder, expected a file such as ${example}`,
  );
}

function writtenFiles({ destination, dataFiles }: FixEntry): string[] {
  return [destination, ...dataFiles.map(({ path }) => path)];
}

function fixCode(entries: readonly FixEntry[], failed: boolean, { dryRun, exitNonZero }: FixFlags): number {
  if (failed) return exitCodes.failure;
  const changed = entries.some((entry) => entry.changed);
  return changed && (dryRun || exitNonZero) ? exitCodes.findings : exitCodes.clean;
}

async function reported(plan: LintPlan, flags: LintFlags, fix: FixFlags): Promise<FixEntry> {
  const { outcome, ranges } = await fixOne(plan, fix, flags.limits);
  const color = colorLevel({
    flag: flags.color,
    env: process.env,
    isTerminal: process.stdout.isTTY === true,
  });
  const failed = outcome.notes.filter(({ kind }) => kind === "failed").length;
  if (failed > 0) {
    const what = counted(failed, "part");
    const left = failed === 1 ? "was left out" : "were left out";
    complain(`${plan.path}: ${what} of the fix failed verification and ${left}. ${failureAdvice}`);
  }
  await writeFixText(renderFixText(outcome, { color, diff: fix.dryRun, ranges }), flags);
  return entryOf(outcome, ranges, plan.settings.configFiles);
}

async function fixOne(
  plan: LintPlan,
  fix: FixFlags,
  limits: Limits,
): Promise<{ readonly outcome: FixOutcome; readonly ranges: string | undefined }> {
  const { path } = plan;
  const progress = new ProgressLine({
    isTerminal: process.stderr.isTTY === true,
    columns: process.stderr.columns,
  });
  const sizes = Object.fromEntries(Object.entries(plan.settings.dims).map(([name, size]) => [name, [size]]));
  const onProgress = (what: string) => progress.show(`${path}: comparing ${what} …`);
  const guard = new Guard({ path, doing: "fixing", ...limits });
  const within: Within = (work) => guard.run(work);
  try {
    progress.show(`${path}: fixing …`);
    const settings = within(() => fixSettings(plan, fix));
    const seen =
      fix.half === undefined
        ? undefined
        : await rangesFor({ path, settings, flags: fix, childUrl, sizes, onProgress, guard });
    const decided = withRanges(settings, seen?.ranges);
    const verify: Verify = (original, candidate, permutations, assumesFinite) => {
      const request = {
        path,
        original,
        candidate,
        permutations,
        assumesFinite,
        half: fix.half,
        childUrl,
        sizes,
        onProgress,
        timeoutSeconds: guard.timeoutSeconds,
        memoryBytes: limits.memoryBytes,
      };
      return fix.half === undefined ? proveSame(request) : proveHalf(request, settings.options.halfType);
    };
    const outcome = await fixModel({
      path,
      destination: fix.output ?? path,
      settings: decided,
      dryRun: fix.dryRun,
      promise: fix.verify ? promisedProof() : "unverified",
      verify: fix.verify ? verify : unverified,
      within,
    });
    return { outcome, ranges: seen?.from };
  } finally {
    progress.erase();
  }
}

function unverified(): Promise<Proof> {
  return Promise.resolve({ kind: "unverified", summary: "--no-verify" });
}
