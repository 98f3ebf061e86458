/** @file `tc-lint --fix` and `--diff`: one model after the other, each repaired, verified and put in place on its own. */

import { basename, dirname, join } from "node:path";
import { entryOf, type FixEntry, failedEntry } from "../../api/fix-report.ts";
import { makePlans } from "../../api/make-plans.ts";
import { type Repaired, repair } from "../../api/repair.ts";
import { plannedRows } from "../../api/scenario-plans.ts";
import { progressText } from "../../api/tally.ts";
import { statOf } from "../../files/look.ts";
import { readSamples } from "../../files/read-inputs.ts";
import { InputError } from "../../ir/errors.ts";
import { counted } from "../../ir/format.ts";
import { Guard } from "../../limits/guard.ts";
import type { LintReport } from "../../lint/result.ts";
import { inputErrorOf } from "../../onnx/surroundings.ts";
import { failureAdvice, renderFixText } from "../../report/fix-text.ts";
import { slowerText } from "../../report/fix-view.ts";
import { fixFormats } from "../../report/registry.ts";
import type { LintPlan } from "../../settings/lint-plan.ts";
import { exitCodes } from "../exit.ts";
import type { FixFlags } from "../fix-options.ts";
import type { ReportRequest } from "../formats.ts";
import type { LintFlags } from "../options.ts";
import { Progress, withProgress } from "../progress.ts";
import type { RunParts } from "../run-lint.ts";
import { complain } from "../stderr.ts";
import { refuseAction } from "../suppress-options.ts";
import { reportColor } from "../terminal.ts";
import {
  checkReportsOf,
  filesOf,
  isJson,
  sayConfigurations,
  writeFixReports,
  writeFixText,
} from "../write-reports.ts";

/** Lints the models after their repair, and returns the exit code. */
export type Lint = (paths: readonly string[], parts: RunParts) => Promise<number>;

/** Repairs every model, then lets `lint` report on the results. Returns the exit code. */
export async function runFix(
  patterns: readonly string[],
  flags: LintFlags,
  fix: FixFlags,
  lint: Lint,
): Promise<number> {
  checkReportsOf(flags);
  const plans = onePlanEach(await makePlans(patterns, { ...flags, onNotice: complain }), fix);
  if (fix.output !== undefined && plans.length !== 1) {
    throw new InputError("usage", `--fix-output: takes one model, found ${plans.length}`);
  }
  checkOutput(fix.output, plans[0]);
  if (fix.only || fix.dryRun) {
    checkFormats(flags, fix);
    refuseAction(flags.suppressions, fix.dryRun ? "--diff" : "--fix-only");
  }
  const models = plans.map(({ path }) => path);
  checkReportsOf(flags, {
    inputs: filesOf(plans),
    destinations: fix.output === undefined ? models : [fix.output],
    models,
  });
  const entries: FixEntry[] = [];
  let failed = false;
  const progress = new Progress();
  for (const [done, plan] of plans.entries()) {
    const place = progressText({ done, total: plans.length, running: [plan.path] });
    try {
      entries.push(await reported(plan, flags, fix, { progress, place }));
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
  const fixed = fixCode(entries, failed, { ...fix, exitZero: flags.exitZero });
  const done = entries.filter(({ error }) => error === null);
  const results = done.map(({ destination }) => destination);
  if (fix.only || fix.dryRun || results.length === 0) {
    // Of the formats that tell of repairs, JSON alone names configurations.
    sayConfigurations(plans, (flags.reports ?? []).filter(isJson));
    await writeFixReports(entries, undefined, flags);
    return Math.max(fixed, await untrackedCode(fix.dryRun ? done.map(({ path }) => path) : results, flags));
  }
  await writeFixText(() => "\n", flags, false);
  const repaired = new Set(entries.flatMap(({ written, destination }) => (written ? destination : [])));
  const write = (report: LintReport, shown: LintFlags) => writeFixReports(entries, report, shown);
  progress.enter("linting");
  return Math.max(fixed, await lint(results, { write, repaired, progress }));
}

/** As the lint says it, where there is none. */
async function untrackedCode(models: readonly string[], { failOnUntracked, exitZero }: LintFlags) {
  if (!failOnUntracked) return exitCodes.clean;
  const { dataOf, sayUntracked } = await import("../untracked.ts");
  return sayUntracked(dataOf(models)) && !exitZero ? exitCodes.findings : exitCodes.clean;
}

/** Which layers a fix pads depends on the target and the sizes it is decided for. Throws InputError `usage`. */
function onePlanEach(plans: readonly LintPlan[], { dryRun }: FixFlags): LintPlan[] {
  return plannedRows(plans).flatMap((rows) => {
    const [row, ...others] = rows;
    if (row === undefined) return [];
    if (others.length === 0) return row.plan;
    const { path, scenario } = row.plan;
    const found = `${rows.length} for ${path} (${listed(rows.map(({ name }) => name))})`;
    const how =
      scenario?.name === undefined
        ? "give --gpu, --stack, --precision and each --dim one value"
        : "name one with --scenario";
    const flag = dryRun ? "--diff" : "--fix";
    throw new InputError("usage", `${flag}: is decided for one target and size, found ${found}: ${how}`);
  });
}

const mostNamed = 8;

function listed(names: readonly string[]): string {
  const more = names.length - mostNamed;
  return `${names.slice(0, mostNamed).join("; ")}${more > 0 ? `; and ${more} more` : ""}`;
}

/** What is not linted has no annotations, and its text is on stdout. Throws InputError `usage`. */
function checkFormats({ reports = [] }: LintFlags, { dryRun }: FixFlags): void {
  const has = ({ format, path }: ReportRequest) =>
    isJson({ format }) || format in fixFormats || (format === "text" && path === undefined);
  const lost = reports.find((request) => !has(request));
  if (lost === undefined) return;
  const flag = dryRun ? "--diff" : "--fix-only";
  const what = `${lost.format}${lost.path === undefined ? "" : ` to "${lost.path}"`}`;
  const known = ["json", ...Object.keys(fixFormats)].join(", ");
  throw new InputError(
    "usage",
    `${flag}: makes no lint report, found --format ${what}; expected text on stdout, or ${known}, which have the repairs`,
  );
}

/** Throws InputError. */
function checkOutput(output: string | undefined, plan: LintPlan | undefined): void {
  if (output === undefined) return;
  // Said again where it is written: it may go in between.
  if (statOf(dirname(output), output) === "absent")
    throw new InputError("bad-destination", `${output}: its folder is not there; make it first`);
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

function fixCode(
  entries: readonly FixEntry[],
  failed: boolean,
  { dryRun, exitNonZero, exitZero }: FixFlags & Pick<LintFlags, "exitZero">,
): number {
  if (failed) return exitCodes.failure;
  if (exitZero) return exitCodes.clean;
  const changed = entries.some((entry) => entry.changed);
  return changed && (dryRun || exitNonZero) ? exitCodes.findings : exitCodes.clean;
}

/** Where a run is, and who is told. */
interface At {
  readonly progress: Progress;
  readonly place: string;
}

async function reported(plan: LintPlan, flags: LintFlags, fix: FixFlags, at: At): Promise<FixEntry> {
  const { outcome, ranges } = await repaired(plan, flags, fix, at);
  const color = reportColor(flags.color, true);
  const failures = outcome.notes.filter(({ kind }) => kind === "failed");
  const failed = failures.length;
  if (failed > 0) {
    const what = counted(failed, "part");
    const left = failed === 1 ? "was left out" : "were left out";
    complain(`${plan.path}: ${what} of the fix failed verification and ${left}. ${failureAdvice(failures)}`);
  }
  const slower = slowerText(outcome);
  if (slower !== undefined) complain(`${plan.path}: ${slower}`);
  await writeFixText(
    (columns) => renderFixText(outcome, { color, diff: fix.dryRun, verbose: flags.verbose, ranges, columns }),
    flags,
    fix.only || fix.dryRun,
  );
  return entryOf(outcome, ranges, plan.settings.configFiles);
}

function repaired(
  plan: LintPlan,
  { limits }: LintFlags,
  fix: FixFlags,
  { progress, place }: At,
): Promise<Repaired> {
  const { path } = plan;
  const guard = new Guard({ path, doing: "fixing", ...limits });
  return withProgress((say) => {
    const onProgress = (what: string) => say(`${place}: ${what} …`);
    onProgress("fixing");
    const { samples: name } = fix;
    const samples = () => (name === undefined ? undefined : { name, sets: readSamples(name) });
    return repair(plan, { ...fix, samples }, { guard, memoryBytes: limits.memoryBytes, onProgress });
  }, progress);
}
