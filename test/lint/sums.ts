/** @file What holds of every account: its steps add up, and nothing is claimed twice. */
import { expect } from "vitest";
import type { Saving } from "../../src/cost/model.ts";
import type { AccountStep, AccountStepName, ModelReport } from "../../src/lint/result.ts";

/** Of sums of microseconds that are added up in another order. */
export const rounding = 1e-6;

/** The same step of two accounts. Kernels of a file that was written are added up in another order. */
export function expectAlike(step: AccountStep | undefined, predicted: AccountStep): void {
  const sizes = ({ microseconds, low, high, saves }: AccountStep) =>
    [microseconds, low, high, saves?.microseconds, saves?.low, saves?.high].map((value) => value ?? 0);
  const found = step === undefined ? [] : sizes(step);
  for (const [index, size] of sizes(predicted).entries())
    expect(Math.abs(size - (found[index] ?? Number.NaN)), predicted.step).toBeLessThan(rounding);
}

/** Steps follow from each other. */
export function expectSteps({ account, predicted }: ModelReport): void {
  let before: AccountStep | undefined;
  for (const step of account) {
    expect(step.low).toBeLessThanOrEqual(step.microseconds);
    expect(step.high).toBeGreaterThanOrEqual(step.microseconds);
    expect(step.saves === null, "the first step saves nothing").toBe(before === undefined);
    if (before !== undefined && step.saves !== null) expectDifference(before, step, step.saves);
    before = step;
  }
  const inPrecision = account.find(({ step }) => step === "precision") ?? account[0];
  expect(inPrecision?.microseconds ?? 0).toBe(predicted.microseconds);
}

/** A reader who subtracts one line from another finds no saving, and no end of its interval, that the lines leave no room for. */
function expectDifference(before: AccountStep, after: AccountStep, saves: Saving): void {
  expect(Math.abs(before.microseconds - saves.microseconds - after.microseconds)).toBeLessThan(rounding);
  expect(saves.low).toBeLessThanOrEqual(saves.microseconds);
  expect(saves.high).toBeGreaterThanOrEqual(saves.microseconds);
  expect(saves.low).toBeGreaterThanOrEqual(before.low - after.high - rounding);
  expect(saves.high).toBeLessThanOrEqual(before.high - after.low + rounding);
  expect(saves.high).toBeLessThanOrEqual(before.microseconds + rounding);
  // Nothing is left of no model that still computes something, at either end: launches alone take more than a tenth of a microsecond.
  if (after.step !== "author" && after.microseconds > 1)
    expect(saves.high).toBeLessThan(before.microseconds - 0.1);
}

/** Errors and what somebody can run first, then warnings, then infos; what saves most first of each. */
export function expectRanked({ groups }: ModelReport): void {
  const rank = { error: 0, warn: 1, info: 2 };
  const keys = groups.map(({ severity, saves, fixCommand, setting }) => {
    const tier = fixCommand !== null || setting !== undefined ? 0 : rank[severity];
    return [tier, -(saves?.microseconds ?? 0), rank[severity]] as const;
  });
  const inOrder = keys.toSorted(([a, b, c], [d, e, f]) => a - d || b - e || c - f);
  expect(keys).toEqual(inOrder);
}

/** What findings claim is within their step and their kernels. */
export function expectParts(report: ModelReport): void {
  const { account, groups } = report;
  const parts = new Map<AccountStepName, number>();
  for (const { step, saves, code } of groups) {
    if (step === null || saves === null) continue;
    parts.set(step, (parts.get(step) ?? 0) + saves.microseconds);
    // Nothing that may be nothing is claimed.
    expect(saves.low, code).toBeGreaterThan(0);
  }
  for (const [step, sum] of parts) {
    // In the types that a file stores, half precision is a step of its own.
    const named = step === "precision" && account.every((each) => each.step !== step) ? "half" : step;
    const whole = account.find((each) => each.step === named)?.saves?.microseconds;
    expect(whole, step).toBeDefined();
    expect(sum).toBeLessThanOrEqual((whole ?? 0) + rounding);
  }
  for (const { code, step, saves } of groups) expectWithin(account, { code, step, saves });
  for (const step of account) expectReached(step, groups);
  const layout = groups.filter(({ step }) => step === "layout");
  const step = account.find((each) => each.step === "layout");
  expect(layout.length > 0, "the layout step has its findings").toBe(step !== undefined);
  const [only] = layout;
  if (layout.length === 1 && only?.code === "TC301")
    expect(only.saves?.microseconds).toBeCloseTo(step?.saves?.microseconds ?? 0, 6);
  expectWithinKernels(report);
}

/** Neither what is saved nor the upper end of its interval is more than its kernels take. */
function expectWithinKernels({ groups, findings, unlisted }: ModelReport): void {
  const all = [...groups, ...findings, ...(unlisted?.groups ?? []), ...(unlisted?.findings ?? [])];
  for (const { saves, code } of all)
    if (saves !== null) {
      expect(saves.microseconds, code).toBeLessThanOrEqual(saves.of + rounding);
      expect(saves.high, code).toBeLessThanOrEqual(saves.of + rounding);
    }
}

/** An entry and its step are said on one page: what is all of the step is as sure as that, and what is a part has no higher an end. */
function expectWithin(
  account: ModelReport["account"],
  { code, step, saves }: Pick<ModelReport["groups"][number], "code" | "step" | "saves">,
): void {
  const whole = account.find((each) => each.step === step)?.saves;
  if (saves === null || !whole) return;
  expect(saves.high, code).toBeLessThanOrEqual(Math.max(whole.high, saves.microseconds) + rounding);
  if (Math.abs(whole.microseconds - saves.microseconds) >= rounding) return;
  // As far as its kernels take that much.
  const most = Math.max(saves.microseconds, Math.min(whole.high, saves.of));
  expect(Math.abs(saves.high - most), code).toBeLessThan(rounding);
  if (whole.low > 0) expect(Math.abs(saves.low - whole.low), code).toBeLessThan(rounding);
}

/** Parts of a step are together no surer than it is, and where they are all of it they reach as high. */
function expectReached({ step, saves: whole }: AccountStep, groups: ModelReport["groups"]): void {
  const parts = groups.flatMap((group) => (group.step === step && group.saves !== null ? [group.saves] : []));
  const sumOf = (end: (saving: Saving) => number) => parts.reduce((sum, part) => sum + end(part), 0);
  const isAll = Math.abs(sumOf(({ microseconds }) => microseconds) - (whole?.microseconds ?? 0)) < rounding;
  if (whole === null || parts.length === 0 || whole.low <= 0) return;
  expect(
    sumOf(({ low }) => low),
    step,
  ).toBeLessThanOrEqual(whole.low + rounding);
  if (parts.length < 2 || !isAll) return;
  // As far as their kernels take that much.
  const most = Math.min(
    whole.high,
    parts.reduce((sum, { of }) => sum + of, 0),
  );
  expect(
    sumOf(({ high }) => high),
    step,
  ).toBeGreaterThanOrEqual(most - rounding);
}

/** Their messages are about kernels that go: Transposes that nobody needs, and what is known before the model runs. */
const removing = new Set(["TC302", "TC410"]);
const mostOfAKernel = 0.95;

/** A kernel that still computes something takes time: no finding saves all of it. Of predictions alone, whose steps have a width. */
export function expectKernelsStay({ account, groups, unlisted }: ModelReport): void {
  // What writing half changes no kernel by is known.
  const isNothing = ({ step, saves }: ModelReport["account"][number]) =>
    step === "kept" && saves?.microseconds === 0;
  for (const { step, saves } of account.filter((each) => !isNothing(each)))
    if (saves !== null) expect(saves.high, `${step} is a prediction`).toBeGreaterThan(saves.low);
  for (const { code, saves, message } of [...groups, ...(unlisted?.groups ?? [])])
    if (saves !== null && saves.of > 0 && !removing.has(code))
      expect(saves.microseconds / saves.of, `${code}: ${message}`).toBeLessThanOrEqual(mostOfAKernel);
}
