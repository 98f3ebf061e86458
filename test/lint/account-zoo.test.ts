/** One account: what lint says of a model, step by step, is what --diff and --fix say of it, and it adds up. */
import { describe, expect } from "vitest";
import { fix } from "../../src/api/fix.ts";
import { lint } from "../../src/api/lint.ts";
import { stackIds } from "../../src/hardware/stacks.ts";
import type { AccountStep } from "../../src/lint/result.ts";
import { eachModel, zooModel, zooNames } from "../zoo.ts";
import { expectKernelsStay, expectParts, expectSteps, rounding } from "./sums.ts";

/** Planning takes longer than pricing; every kind of layer is in these. */
const planned = ["crnn", "mobilenet_v2", "llama", "sd_unet", "misaligned_cnn", "resnet50"];
const namesFor = (stack: string) => (stack === "tc-runtime" ? planned : zooNames);

describe.each(stackIds)("on %s", (stack) => {
  eachModel(namesFor(stack))(
    "%s: steps add up, and no saving is more than its step or its kernels",
    async (name) => {
      const path = zooModel(name);
      const report = await lint(path, { stack, verbose: true });
      expectSteps(report);
      expectParts(report);
      expectKernelsStay(report);
      // As --unsafe-fixes decides, half precision being named by nobody.
      const unnamed = { halfOnlyWhereFaster: true, nhwc: true, nhwcOnlyWhereFaster: true } as const;
      const { account } = await fix(path, { stack, dryRun: true, ...unnamed });
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
