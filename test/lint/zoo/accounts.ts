/** @file One account: what lint says of a model, step by step, is what --diff and --fix say of it, and it adds up. */
import { expect } from "vitest";
import { fix } from "../../../src/api/fix.ts";
import type { StackId } from "../../../src/hardware/stacks.ts";
import type { AccountStep, ModelReport } from "../../../src/lint/result.ts";
import { standingOf } from "../../../src/report/standing.ts";
import { eachModel, zooModel, zooNames } from "../../zoo.ts";
import { expectAlike, expectKernelsStay, expectParts, expectRanked, expectSteps, rounding } from "../sums.ts";
import type { ZooReports } from "./reports.ts";

/** Planning repairs takes longer than pricing them; every kind of layer is in these. */
const planned = ["crnn", "mobilenet_v2", "llama", "sd_unet", "misaligned_cnn", "resnet50"];

export function testAccounts(reports: ZooReports): void {
  const { stack } = reports;
  // The bundled runtime's planner may price a kernel far from the cost model: what a finding saves is a part of the planner's time.
  eachModel(zooNames)(
    "%s: steps add up, and no saving is more than its step or its kernels",
    async (name) => {
      const report = await reports.of(zooModel(name));
      expectSteps(report);
      expectRanked(report);
      expectParts(report);
      expectKernelsStay(report);
      expectEnd(report);
      expectChosen(report);
    },
    60_000,
  );

  eachModel(stack === "tc-runtime" ? planned : zooNames)(
    "%s: its steps are those of --diff",
    async (name) => expectDiff(zooModel(name), await reports.of(zooModel(name)), stack),
    60_000,
  );
}

/** Of a file and lint's report of it. */
export async function expectDiff(file: string, report: ModelReport, stack: StackId): Promise<void> {
  // As --unsafe-fixes decides, half precision being named by nobody.
  const unnamed = { halfOnlyWhereFaster: true, nhwc: true, nhwcOnlyWhereFaster: true } as const;
  const { account } = await fix(file, { stack, dryRun: true, ...unnamed });
  // What half takes once it is written is no step where nobody asks for it, and what a setting saves is no repair's.
  const all = report.account.filter(
    ({ step, setting }) => step !== "author" && step !== "kept" && setting === undefined,
  );
  // What pays in half alone is no step of a file that stays FP32, and what comes behind it is of another model.
  const left = all.findIndex(({ needsHalf }) => needsHalf === true);
  const shared = left < 0 ? all : all.slice(0, left);
  if (left >= 0) {
    // What `--fix` makes of such a step is told beside it.
    const made = account?.find(({ step }) => step === all[left]?.step);
    expect(made?.written).toEqual(all[left]?.alone);
    for (const [index, step] of shared.entries()) expectAlike(account?.[index], step);
    return;
  }
  expect(account?.map(({ step }) => step)).toEqual(shared.map(({ step }) => step));
  for (const [index, step] of shared.entries()) expectAlike(account?.[index], step);
}

/**
 * The headline, which shares and severities are of, is no state that takes longer than the file as it is stored, but on the way to one in half that a
 * command is sure to gain by.
 */
function expectChosen({ account, predicted }: ModelReport): void {
  const [stored] = account;
  const isReached = account.some(
    ({ command, step, written }) =>
      command?.includes("--precision") === true ||
      (step === "layout" && command !== undefined && written === undefined),
  );
  if (stored === undefined || isReached) return;
  expect(predicted.microseconds).toBeLessThanOrEqual(stored.microseconds + rounding);
}

/** What tables end at is a row of the account, or what that says of the file as it is stored: of a file that commands are sure to make, with a setting and its author. */
function expectEnd({ account, predicted, nodes }: ModelReport): void {
  const standing = standingOf({ account, predicted, nodes });
  const last = account.at(-1);
  const layout = account.find(({ step }) => step === "layout");
  if (standing === undefined || last === undefined) return;
  const { afterAll, stored, afterFix } = standing;
  expect(afterAll).toBeLessThanOrEqual(Math.min(stored, afterFix));
  if (afterAll === Math.min(stored, afterFix)) return;
  expect([last.microseconds, layout?.written?.after, last.written?.after]).toContain(afterAll);
  if (last.restsOn !== undefined) {
    // A file in half that may save nothing is not where anybody is told to go.
    expect(afterAll).toBe(last.written?.after);
    return;
  }
  expect(afterAll === last.microseconds && last.castsIn !== undefined).toBe(false);
  // Of a file in half a command says how it comes about; what is computed in half and costs by itself is a part of another's.
  const steps = account.filter(({ step }) => step !== "exported" && step !== "author");
  const wayOf = ({ command, setting }: AccountStep): unknown => command ?? setting;
  const isReached = steps.length === 0 || steps.some((step) => wayOf(step) !== undefined);
  expect(isReached, `after all ${afterAll}`).toBe(true);
  const end = steps.at(-1);
  if (afterAll === last.microseconds && end !== undefined) expect(wayOf(end)).toBeDefined();
}
