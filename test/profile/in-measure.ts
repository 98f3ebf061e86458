/** @file A report of measured times beside the prediction that they are a multiple of. */
import { expect } from "vitest";
import type { ModelReport } from "../../src/lint/result.ts";
import { expectParts, expectSteps } from "../lint/sums.ts";

/** All steps and findings of a prediction, so many times as long, and all sums right. */
export function expectMeasured(measured: ModelReport, predicted: ModelReport, times: number): void {
  expect(measured.error).toBeNull();
  expectSteps(measured);
  expectParts(measured);
  const steps = ({ account }: ModelReport) => account.map(({ step }) => step);
  expect(steps(measured)).toEqual(steps(predicted));
  for (const [index, { microseconds, saves }] of measured.account.entries()) {
    const before = predicted.account[index];
    expect(microseconds / times).toBeCloseTo(before?.microseconds ?? 0, 6);
    expect((saves?.microseconds ?? 0) / times).toBeCloseTo(before?.saves?.microseconds ?? 0, 6);
  }
  // What twice the batch takes is asked of predictions alone.
  const claims = ({ groups }: ModelReport) =>
    groups.map(({ code, findings }) => (code === "TC405" ? code : `${code} ${findings.join(" ")}`)).sort();
  expect(claims(measured)).toEqual(claims(predicted));
  const saved = ({ findings }: ModelReport) =>
    new Map(
      findings
        .filter(({ saves }) => saves !== null)
        .map(({ fingerprint, saves }) => [fingerprint, saves?.microseconds ?? 0]),
    );
  const before = saved(predicted);
  for (const [fingerprint, microseconds] of saved(measured))
    expect(microseconds / times, fingerprint).toBeCloseTo(before.get(fingerprint) ?? Number.NaN, 5);
}
