/** What is said of groups that are counted only: no step that they are no part of, no end of an interval that nobody predicted. */
import { describe, expect } from "vitest";
import { lint } from "../../src/api/lint.ts";
import type { StackId } from "../../src/hardware/stacks.ts";
import { reportOf } from "../../src/report/summary.ts";
import { renderText } from "../../src/report/text.ts";
import { options } from "../report/sample.ts";
import { eachModel, zooModel } from "../zoo.ts";

const looked: readonly StackId[] = ["ort-cuda", "cudnn", "tc-runtime"];

describe.each(looked)("on %s", (stack) => {
  eachModel(["bert", "crnn", "dlrm", "misaligned_cnn", "seg_unet", "siamese", "tcn", "vit_tiny"])(
    "%s: groups that are counted only name no step that they are no part of",
    async (name) => {
      const { account, groups, unlisted } = await lint(zooModel(name), { stack, verbose: true });
      const steps = new Set(account.map(({ step }) => step));
      const all = [...groups, ...(unlisted?.groups ?? [])];
      for (const { code, step } of all) if (step !== null) expect(steps, code).toContain(step);
      const ofAuthor = all.filter(({ step }) => step === "author");
      const saved = ofAuthor.reduce((sum, { saves }) => sum + (saves?.microseconds ?? 0), 0);
      const author = account.find(({ step }) => step === "author")?.saves?.microseconds ?? 0;
      expect(saved).toBeCloseTo(author, 6);
    },
    60_000,
  );
});

describe("a lower end that was set to 0", () => {
  eachModel(["gpt2_dynamo", "seg_unet", "siamese", "yolo_w0375"])("%s: is told as none", async (name) => {
    for (const stack of looked) {
      const report = await lint(zooModel(name), { stack, verbose: true, precision: "fp16" });
      const text = renderText(reportOf([report], "0"), { ...options, verbose: true });
      expect(text).not.toMatch(/between 0 and/);
      const isSet = (report.unlisted?.groups ?? []).some(({ saves }) => saves?.low === 0 && saves.high > 0);
      expect(/(?:, |\()up to /.test(text)).toBe(isSet);
    }
  });
});
