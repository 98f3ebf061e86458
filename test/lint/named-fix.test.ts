/** A finding that names a command is mended by it: half precision is stored where TC201 says so, also where `--unsafe-fixes` alone would leave FP32. */
import { describe, expect, test } from "vitest";
import { type FixChoice, safeFix } from "../../src/api/fix-settings.ts";
import { lint } from "../../src/api/lint.ts";
import { planOf } from "../../src/api/options.ts";
import { fixSettings } from "../../src/api/plan-fix.ts";
import { withTimelines } from "../../src/api/timelines.ts";
import { readFixFlags } from "../../src/cli/fix-options.ts";
import { runFix } from "../../src/fix/make.ts";
import { asWritten } from "../../src/fix/stored-types.ts";
import type { StackId } from "../../src/hardware/stacks.ts";
import type { FindingGroup } from "../../src/lint/result.ts";
import { openModel } from "../../src/onnx/open.ts";
import { accountOf } from "../../src/workload/account.ts";
import { eachModel, zooModel } from "../zoo.ts";
import { expectAlike, rounding } from "./sums.ts";

const stacks: readonly StackId[] = ["ort-cuda", "tensorrt", "cudnn"];
/** Of each kind one whose Casts may take what half saves. */
const names = ["mnasnet", "vit_tiny", "crnn"];

/** As the command line understands what a report names. */
function choiceOf({ fixCommand }: FindingGroup) {
  const flags = fixCommand?.split(" ") ?? [];
  const precision = flags.includes("--precision") ? flags[flags.indexOf("--precision") + 1] : undefined;
  const read = readFixFlags({ fix: true, "unsafe-fixes": flags.includes("--unsafe-fixes") }, precision);
  return read === undefined ? safeFix : { ...safeFix, ...read };
}

test.each([
  [undefined, "fp16"],
  ["tf32", undefined],
  ["bf16", "bf16"],
  ["int8", undefined],
] as const)("--unsafe-fixes with --precision %s stores %s", (precision, half) => {
  expect(readFixFlags({ fix: true, "unsafe-fixes": true }, precision)?.half).toBe(half);
});

describe.each(stacks)("on %s", (stack) => {
  eachModel(names)("%s: TC201's command stores half", async (name) => {
    const report = await lint(zooModel(name), { stack });
    const group = report.groups.find(({ code }) => code === "TC201");
    // Where FP32 is multiplied in TF32, half may be too little to be listed.
    if (stack === "cudnn") expect(group).toBeDefined();
    if (group === undefined) return;
    using model = openModel(zooModel(name));
    const choice = choiceOf(group);
    const { fixed } = await withTimelines(() =>
      runFix(model, fixSettings(planOf(model.path, { stack }), choice)),
    );
    expect(fixed.parts.has("half"), group.message).toBe(true);
  });
});

/** Its layout is the file's. */
const ofFile = "cudnn";

/** Microseconds of what a choice writes, in the types that it stores, and whether that is in NHWC. */
async function endOf(name: string, choice: FixChoice) {
  using model = openModel(zooModel(name));
  const settings = fixSettings(planOf(model.path, { stack: ofFile }), choice);
  const { fixed, states } = await withTimelines(() => runFix(model, settings));
  const layout = accountOf(states, settings.cost).find(({ step }) => step === "layout");
  return {
    microseconds: asWritten(fixed.model, settings).timeline.microseconds,
    isTurned: fixed.parts.has("channels-last"),
    layout,
  };
}

describe("a layout that is claimed", () => {
  eachModel(["misaligned_cnn", "crnn", "squeezenet", "yolo", "seg_unet", "resnet50"])(
    "%s: is made by the command that it names, which ends no slower than --unsafe-fixes and has lint's own step",
    async (name) => {
      const report = await lint(zooModel(name), { stack: ofFile });
      const group = report.groups.find(({ step }) => step === "layout");
      expect(group).toBeDefined();
      if (group === undefined) return;
      const named = await endOf(name, choiceOf(group));
      const unsafe = await endOf(name, {
        ...safeFix,
        ...readFixFlags({ fix: true, "unsafe-fixes": true }, undefined),
      });
      expect(named.isTurned).toBe(true);
      expect(named.microseconds).toBeLessThanOrEqual(unsafe.microseconds + rounding);
      const step = report.account.find((each) => each.step === "layout");
      const asked = await endOf(name, {
        ...safeFix,
        ...readFixFlags({ fix: true, "unsafe-fixes": true }, "fp16"),
      });
      if (step !== undefined) expectAlike(asked.layout, step);
    },
    60_000,
  );
});
