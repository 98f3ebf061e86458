/** One account: what lint says of a model, step by step, is what --diff and --fix say of it, and it adds up. */
import { describe, expect } from "vitest";
import { fix } from "../../src/api/fix.ts";
import { lint } from "../../src/api/lint.ts";
import { stackIds } from "../../src/hardware/stacks.ts";
import type { AccountStep, AccountStepName, ModelReport } from "../../src/lint/result.ts";
import { eachModel, zooModel, zooNames } from "../zoo.ts";

/** Planning takes longer than pricing; every kind of layer is in these. */
const planned = ["crnn", "mobilenet_v2", "llama", "sd_unet", "misaligned_cnn", "resnet50"];
const namesFor = (stack: string) => (stack === "tc-runtime" ? planned : zooNames);

/** Of sums of microseconds that are added up in another order. */
const rounding = 1e-6;

describe.each(stackIds)("on %s", (stack) => {
  eachModel(namesFor(stack))(
    "%s: steps add up, and no saving is more than its step or its kernels",
    async (name) => {
      const path = zooModel(name);
      const report = await lint(path, { stack, verbose: true });
      expectSteps(report);
      expectParts(report);
      const { account } = await fix(path, { stack, dryRun: true, nhwc: true, nhwcOnlyWhereFaster: true });
      const shared = report.account.filter(({ step }) => step !== "author");
      expect(account?.map(({ step }) => step)).toEqual(shared.map(({ step }) => step));
      for (const [index, step] of shared.entries()) expectAlike(account?.[index], step);
    },
    60_000,
  );
});

/** Kernels of a file that was written are added up in another order. */
function expectAlike(step: AccountStep | undefined, predicted: AccountStep): void {
  const sizes = ({ microseconds, low, high, saves }: AccountStep) =>
    [microseconds, low, high, saves?.microseconds, saves?.low, saves?.high].map((value) => value ?? 0);
  const found = step === undefined ? [] : sizes(step);
  for (const [index, size] of sizes(predicted).entries())
    expect(Math.abs(size - (found[index] ?? Number.NaN)), predicted.step).toBeLessThan(rounding);
}

function expectSteps({ account, predicted }: ModelReport): void {
  let before: number | undefined;
  for (const { microseconds, low, high, saves } of account) {
    expect(low).toBeLessThanOrEqual(microseconds);
    expect(high).toBeGreaterThanOrEqual(microseconds);
    if (saves === null) expect(before).toBeUndefined();
    else expect(Math.abs((before ?? 0) - saves.microseconds - microseconds)).toBeLessThan(rounding);
    before = microseconds;
  }
  const inPrecision = account.find(({ step }) => step === "precision") ?? account[0];
  expect(inPrecision?.microseconds ?? 0).toBe(predicted.microseconds);
}

function expectParts({ account, groups, unlisted, findings }: ModelReport): void {
  const parts = new Map<AccountStepName, number>();
  for (const { step, saves, code } of groups) {
    if (step === null || saves === null) continue;
    parts.set(step, (parts.get(step) ?? 0) + saves.microseconds);
    // Nothing that may be nothing is claimed.
    expect(saves.low, code).toBeGreaterThan(0);
  }
  for (const [step, sum] of parts) {
    const whole = account.find((each) => each.step === step)?.saves?.microseconds;
    expect(whole, step).toBeDefined();
    expect(sum).toBeLessThanOrEqual((whole ?? 0) + rounding);
  }
  const layout = groups.filter(({ step }) => step === "layout");
  const step = account.find((each) => each.step === "layout");
  expect(layout.length > 0, "the layout step has its findings").toBe(step !== undefined);
  const [only] = layout;
  if (layout.length === 1 && only?.code === "TC301")
    expect(only.saves?.microseconds).toBeCloseTo(step?.saves?.microseconds ?? 0, 6);
  for (const { saves } of [...groups, ...findings, ...(unlisted?.groups ?? [])])
    if (saves !== null) expect(saves.microseconds).toBeLessThanOrEqual(saves.of + rounding);
}
