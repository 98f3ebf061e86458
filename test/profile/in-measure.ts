/** @file A report of measured times beside the prediction that they are a multiple of. */
import { expect } from "vitest";
import type { ModelReport } from "../../src/lint/result.ts";
import { expectParts, expectSteps } from "../lint/sums.ts";

const halfRule = "TC201";
/** Of a step's saving: which parts of one that is hardly sure are sure themselves differs with the interval of the time before. */
const hardly = 0.1;

/** All steps and findings of a prediction, so many times as long, and all sums right. */
export function expectMeasured(measured: ModelReport, predicted: ModelReport, times: number): void {
  expect(measured.error).toBeNull();
  expectSteps(measured);
  expectParts(measured);
  // A step whose saving is too unsure to be one where kernels are predicted may be sure where they were measured, and so may a finding.
  const measuredSteps = new Map(measured.account.map((each) => [each.step, each]));
  const foreseenSteps = new Set(predicted.account.map(({ step }) => step));
  // What writing half takes is foreseen beside predictions alone.
  const writing = predicted.account.find(({ step }) => step === "kept")?.saves?.microseconds ?? 0;
  for (const before of predicted.account.filter(({ step }) => step !== "kept")) {
    const found = measuredSteps.get(before.step);
    // Half stays a prediction beside what was measured, and may be too unsure to be a step there: what follows is of another state.
    if (found === undefined && before.step === "half") return;
    // What its author may do in half is of that state, too: as stored, it may be too little of what was measured.
    if (found === undefined && before.step === "author" && foreseenSteps.has("kept")) return;
    // Or sure enough there alone.
    if (isBehindHalf(before.step) && measuredSteps.has("half") && !foreseenSteps.has("half")) return;
    const { microseconds, saves } = found ?? { microseconds: Number.NaN };
    const isBehind = before.step === "author" || before.setting !== undefined;
    const foreseen = before.microseconds + (isBehind ? writing : 0);
    expect(microseconds / times).toBeCloseTo(foreseen, 6);
    expect((saves?.microseconds ?? 0) / times).toBeCloseTo(before.saves?.microseconds ?? 0, 6);
  }
  // So may what half saves of a file that was measured in half.
  const isUnsure = measured.groups.every(({ code }) => code !== halfRule);
  const isHardlySure = predicted.account.some(
    ({ step, saves }) => step === "safe" && saves !== null && saves.low < hardly * saves.microseconds,
  );
  const isHere = ({ code }: { readonly code: string }) =>
    (!isUnsure || code !== halfRule) && (!isHardlySure || !code.startsWith("TC1"));
  // What twice the batch takes is asked of predictions alone.
  const claims = ({ groups }: ModelReport) =>
    groups.flatMap(({ code, findings }) =>
      code === "TC405" ? [code] : findings.map((finding) => `${code} ${finding}`),
    );
  const groups = predicted.groups.filter(isHere);
  expect(claims(measured)).toEqual(expect.arrayContaining(claims({ ...predicted, groups })));
  const saved = ({ findings }: ModelReport) =>
    new Map(
      findings
        .filter((finding) => finding.saves !== null && isHere(finding))
        .map(({ fingerprint, saves }) => [fingerprint, saves?.microseconds ?? 0]),
    );
  const before = saved(predicted);
  const after = saved(measured);
  for (const [fingerprint, microseconds] of before)
    expect((after.get(fingerprint) ?? Number.NaN) / times, fingerprint).toBeCloseTo(microseconds, 5);
}

function isBehindHalf(step: string): boolean {
  return step === "layout" || step === "author";
}
