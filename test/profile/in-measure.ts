/** @file A report of measured times beside the prediction that they are a multiple of. */
import { expect } from "vitest";
import type { ModelReport } from "../../src/lint/result.ts";
import { expectParts, expectSteps } from "../lint/sums.ts";

/** All steps and findings of a prediction, so many times as long, and all sums right. */
export function expectMeasured(measured: ModelReport, predicted: ModelReport, times: number): void {
  expect(measured.error).toBeNull();
  expectSteps(measured);
  expectParts(measured);
  // A step whose saving is too unsure to be one where kernels are predicted may be sure where they were measured, and so may a finding.
  const measuredSteps = new Map(measured.account.map((each) => [each.step, each]));
  for (const before of predicted.account) {
    const { microseconds, saves } = measuredSteps.get(before.step) ?? { microseconds: Number.NaN };
    expect(microseconds / times).toBeCloseTo(before.microseconds, 6);
    expect((saves?.microseconds ?? 0) / times).toBeCloseTo(before.saves?.microseconds ?? 0, 6);
  }
  // What twice the batch takes is asked of predictions alone.
  const claims = ({ groups }: ModelReport) =>
    groups.map(({ code, findings }) => (code === "TC405" ? code : `${code} ${findings.join(" ")}`)).sort();
  expect(claims(measured)).toEqual(expect.arrayContaining(claims(predicted)));
  const saved = ({ findings }: ModelReport) =>
    new Map(
      findings
        .filter(({ saves }) => saves !== null)
        .map(({ fingerprint, saves }) => [fingerprint, saves?.microseconds ?? 0]),
    );
  const before = saved(predicted);
  const after = saved(measured);
  for (const [fingerprint, microseconds] of before)
    expect((after.get(fingerprint) ?? Number.NaN) / times, fingerprint).toBeCloseTo(microseconds, 5);
}
