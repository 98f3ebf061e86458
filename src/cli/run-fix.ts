/** @file `tc-lint --fix` and `--diff`: one model after the other, each repaired, verified and put in place on its own. */
import { rules } from "../../rules/index.ts";
import { type FixOutcome, fixModel, type Proof } from "../fix/fix.ts";
import type { FixSettings } from "../fix/pipeline.ts";
import { InputError } from "../ir/errors.ts";
import { openModel } from "../onnx/open.ts";
import { align } from "../passes/align/align.ts";
import { channelsLast } from "../passes/channels-last/channels-last.ts";
import { fold } from "../passes/fold/fold.ts";
import { half } from "../passes/half/half.ts";
import type { Pass } from "../passes/pass.ts";
import { lintSettings } from "../settings/lint-settings.ts";
import { type Budget, budgets, compareModels } from "../verify/index.ts";
import { colorLevel } from "./color.ts";
import { exitCodes } from "./exit-code.ts";
import type { FixFlags } from "./fix-options.ts";
import { renderFixText } from "./fix-text.ts";
import { makePlans } from "./make-plans.ts";
import type { LintFlags } from "./options.ts";
import { writeStdout } from "./output.ts";
import type { LintPlan } from "./plan.ts";
import { ProgressLine } from "./progress.ts";
import { readCalibration } from "./read-calibration.ts";

/** Repairs every model, then lets `lint` report on the results. Returns the exit code. */
export async function runFix(
  patterns: readonly string[],
  flags: LintFlags,
  fix: FixFlags,
  lint: (paths: readonly string[]) => Promise<number>,
): Promise<number> {
  const plans = await makePlans(patterns, flags);
  if (fix.output !== undefined && plans.length !== 1) {
    throw new InputError("usage", `--fix-output: takes one model, found ${plans.length}`);
  }
  const results: string[] = [];
  let [changed, failed] = [false, false];
  for (const plan of plans) {
    try {
      const outcome = await fixOne(plan, fix);
      changed ||= outcome.changed;
      await writeStdout(renderFixText(outcome, { color: color(flags), diff: fix.dryRun }));
      results.push(outcome.destination);
    } catch (error) {
      if (!(error instanceof InputError)) throw error;
      failed = true;
      process.stderr.write(`tc-lint: ${error.message}\n`);
    }
  }
  const fixed = fixCode(changed, failed, fix);
  if (fix.only || fix.dryRun || results.length === 0) return fixed;
  await writeStdout("\n");
  return Math.max(fixed, await lint(results));
}

function fixCode(changed: boolean, failed: boolean, { dryRun, exitNonZero }: FixFlags): number {
  if (failed) return exitCodes.failure;
  return changed && (dryRun || exitNonZero) ? exitCodes.findings : exitCodes.clean;
}

async function fixOne(plan: LintPlan, fix: FixFlags): Promise<FixOutcome> {
  const progress = new ProgressLine({
    isTerminal: process.stderr.isTTY === true,
    columns: process.stderr.columns,
  });
  try {
    progress.show(`${plan.path}: fixing …`);
    return await fixModel({
      path: plan.path,
      destination: fix.output ?? plan.path,
      settings: settingsOf(plan, fix),
      dryRun: fix.dryRun,
      verify: (original, candidate) => verify(original, candidate, fix, plan, progress),
    });
  } finally {
    progress.erase();
  }
}

function settingsOf(plan: LintPlan, fix: FixFlags): FixSettings {
  using model = openModel(plan.path);
  const calibration = readCalibration(plan.settings.calibration);
  const { target, cost, shapes, dims, minSaving } = lintSettings(model, {
    ...plan,
    rules,
    calibration,
    notices: [],
  });
  return {
    target,
    cost,
    shapes,
    dims,
    minSaving,
    passes: passesOf(fix),
    options: {
      halfType: fix.half === "bf16" ? "bfloat16" : "float16",
      halfIo: fix.halfIo,
      ranges: undefined,
      nhwcIo: fix.nhwcIo,
      nhwcForm: "portable",
    },
  };
}

function passesOf(fix: FixFlags): readonly Pass[] {
  return [fold, align, ...(fix.half === undefined ? [] : [half]), ...(fix.nhwc ? [channelsLast] : [])];
}

/** Throws InputError `not-the-same` where outputs differ: then nothing is put in place. */
async function verify(
  original: string,
  candidate: string,
  fix: FixFlags,
  plan: LintPlan,
  progress: ProgressLine,
): Promise<Proof> {
  if (!fix.verify) return { kind: "unverified", summary: "--no-verify" };
  const budget: Budget =
    fix.half === undefined ? budgets.folding : fix.half === "bf16" ? budgets.bfloat16 : budgets.float16;
  const { report } = await compareModels(original, candidate, {
    childUrl: new URL("../verify-child.js", import.meta.url),
    budget,
    sizes: Object.fromEntries(Object.entries(plan.settings.dims).map(([name, size]) => [name, [size]])),
    onProgress: (what) => progress.show(`${plan.path}: comparing ${what} …`),
  });
  if (!report.same) {
    const worst = report.outputs.find(({ same }) => !same);
    const where = worst === undefined ? report.problems.join("; ") : `output "${worst.name}" differs`;
    throw new InputError(
      "not-the-same",
      `${plan.path}: the result is not the same function (${where}); nothing was written`,
    );
  }
  const draws = `${report.draws.length} input sets`;
  return { kind: "verified", summary: `with ${report.runtime} on ${draws}, within ${budgetText(budget)}` };
}

function budgetText(budget: Budget): string {
  if (budget.kind === "relative") return `${budget.tolerance} of each output's largest value`;
  return `${budget.factor} times what rounding to ${budget.dtype} costs`;
}

function color(flags: LintFlags) {
  return colorLevel({ flag: flags.color, env: process.env, isTerminal: process.stdout.isTTY === true });
}
