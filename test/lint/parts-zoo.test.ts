/** What formats read of single findings is what text says of their groups: parts of a step, of one base. */
import { describe, expect } from "vitest";
import { lint } from "../../src/api/lint.ts";
import type { StackId } from "../../src/hardware/stacks.ts";
import type { ModelReport } from "../../src/lint/result.ts";
import { eachModel, zooModel } from "../zoo.ts";

const stacks: readonly StackId[] = ["ort-cuda", "inductor", "cudnn", "ort-cuda-nhwc", "tc-runtime"];
const rounding = 1e-6;

describe.each(stacks)("on %s", (stack) => {
  eachModel(["bert", "gpt2_dynamo", "misaligned_cnn", "seg_unet"])(
    "%s: findings add up to their group, none exceeds its step, and shares are of the time that they say",
    async (name) => {
      const report = await lint(zooModel(name), { stack, verbose: true });
      expectSums(report);
      for (const { saves, code } of [...report.groups, ...report.findings]) {
        // What another precision saves is of the time in the types that the file stores, as in the account.
        const exported = report.account[0]?.microseconds ?? Number.NaN;
        const whole = code === "TC201" ? exported : report.predicted.microseconds;
        if (saves !== null)
          expect(Math.abs(saves.share * whole - saves.microseconds), code).toBeLessThan(rounding);
      }
    },
    60_000,
  );
});

describe("on a GPU that was not measured, with its wide intervals", () => {
  eachModel(["bert", "resnet50", "gpt2_dynamo"])(
    "%s: findings add up to their group, and none exceeds its kernels' time",
    async (name) => {
      expectSums(await lint(zooModel(name), { gpu: "l4", verbose: true }));
    },
    60_000,
  );
});

function expectSums({ groups, findings, account }: ModelReport): void {
  const byFingerprint = new Map(findings.map((finding) => [finding.fingerprint, finding]));
  for (const { findings: members, saves, step, code } of groups) {
    const own = members.flatMap((fingerprint) => byFingerprint.get(fingerprint)?.saves ?? []);
    const sum = own.reduce((total, { microseconds }) => total + microseconds, 0);
    expect(Math.abs(sum - (saves?.microseconds ?? 0)), code).toBeLessThan(rounding);
    const whole = account.find((each) => each.step === step)?.saves;
    const most = whole?.microseconds ?? 0;
    for (const { microseconds, low, high, of } of own) {
      expect(microseconds, code).toBeLessThanOrEqual(Math.min(of, step === null ? of : most) + rounding);
      expect(low, code).toBeLessThanOrEqual(microseconds);
      expect(high, code).toBeGreaterThanOrEqual(microseconds);
    }
    // Nor does what an entry may save exceed the time of its kernels, be it all of its step.
    if (saves !== null) expect(saves.high, code).toBeLessThanOrEqual(saves.of + rounding);
  }
}
