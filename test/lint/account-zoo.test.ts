/** One account: what lint says of a model, step by step, is what --diff and --fix say of it, and it adds up. */
import { describe, expect } from "vitest";
import { fix } from "../../src/api/fix.ts";
import { lint } from "../../src/api/lint.ts";
import { stackIds } from "../../src/hardware/stacks.ts";
import { eachModel, zooModel, zooNames } from "../zoo.ts";
import { expectAlike, expectKernelsStay, expectParts, expectSteps } from "./sums.ts";

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
