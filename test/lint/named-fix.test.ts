/** A finding that names a command is mended by it: half precision is stored where TC201 says so, also where `--unsafe-fixes` alone would leave FP32. */
import { describe, expect, test } from "vitest";
import { safeFix } from "../../src/api/fix-settings.ts";
import { lint } from "../../src/api/lint.ts";
import { planOf } from "../../src/api/options.ts";
import { fixSettings } from "../../src/api/plan-fix.ts";
import { withTimelines } from "../../src/api/timelines.ts";
import { readFixFlags } from "../../src/cli/fix-options.ts";
import { runFix } from "../../src/fix/make.ts";
import type { StackId } from "../../src/hardware/stacks.ts";
import type { FindingGroup, ModelReport } from "../../src/lint/result.ts";
import { openModel } from "../../src/onnx/open.ts";
import { groupFlags } from "../../src/report/fix-flags.ts";
import { eachModel, zooModel } from "../zoo.ts";

const stacks: readonly StackId[] = ["ort-cuda", "tensorrt", "cudnn"];
/** Of each kind one whose Casts may take what half saves. */
const names = ["mnasnet", "vit_tiny", "crnn"];

/** As the command line understands what a report names. */
function choiceOf(group: FindingGroup, report: ModelReport) {
  const flags = groupFlags(group, report);
  const precision = flags.includes("--precision") ? flags[flags.indexOf("--precision") + 1] : undefined;
  const read = readFixFlags({ fix: true, "unsafe-fixes": flags.includes("--unsafe-fixes") }, precision);
  return read === undefined ? safeFix : { ...safeFix, ...read };
}

test.each([
  [undefined, "fp16"],
  ["tf32", "fp16"],
  ["bf16", "bf16"],
  ["int8", undefined],
] as const)("--unsafe-fixes with --precision %s stores %s", (precision, half) => {
  expect(readFixFlags({ fix: true, "unsafe-fixes": true }, precision)?.half).toBe(half);
});

describe.each(stacks)("on %s", (stack) => {
  eachModel(names)("%s: TC201's command stores half", async (name) => {
    const report = await lint(zooModel(name), { stack });
    const group = report.groups.find(({ code }) => code === "TC201");
    // Where FP32 is multiplied in TF32, half may be too little to be listed; Casts may take what it saves of mnasnet.
    if (stack === "cudnn") expect(group === undefined).toBe(name === "mnasnet");
    if (group === undefined) return;
    using model = openModel(zooModel(name));
    const choice = choiceOf(group, report);
    const { fixed } = await withTimelines(() =>
      runFix(model, fixSettings(planOf(model.path, { stack }), choice)),
    );
    expect(fixed.parts.has("half"), group.message).toBe(true);
  });
});
