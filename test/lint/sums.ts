/** @file What holds of every account: its steps add up, and nothing is claimed twice. */
import { expect } from "vitest";
import type { AccountStepName, ModelReport } from "../../src/lint/result.ts";

/** Of sums of microseconds that are added up in another order. */
export const rounding = 1e-6;

/** Steps follow from each other. */
export function expectSteps({ account, predicted }: ModelReport): void {
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

/** What findings claim is within their step and their kernels. */
export function expectParts({ account, groups, unlisted, findings }: ModelReport): void {
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
  const layout = groups.filter(({ step }) => step === "layout");
  const step = account.find((each) => each.step === "layout");
  expect(layout.length > 0, "the layout step has its findings").toBe(step !== undefined);
  const [only] = layout;
  if (layout.length === 1 && only?.code === "TC301")
    expect(only.saves?.microseconds).toBeCloseTo(step?.saves?.microseconds ?? 0, 6);
  for (const { saves } of [...groups, ...findings, ...(unlisted?.groups ?? [])])
    if (saves !== null) expect(saves.microseconds).toBeLessThanOrEqual(saves.of + rounding);
}
