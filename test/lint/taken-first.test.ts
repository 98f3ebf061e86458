/**
 * Who takes `--fix` and then `--unsafe-fixes` may end at a slower file than who takes the second alone, which lint and fixes say beforehand: in one line, of
 * one decision.
 */
import { readFileSync } from "node:fs";
import { expect } from "vitest";
import { decidedBy } from "../../src/api/decided-fix.ts";
import { type FixChoice, repairOf, safeFix } from "../../src/api/fix-settings.ts";
import { planOf } from "../../src/api/options.ts";
import { rulesOf } from "../../src/api/plugins.ts";
import { settingsOf, withTimelines } from "../../src/api/timelines.ts";
import { verdictOf } from "../../src/cli/exit.ts";
import { runFix } from "../../src/fix/make.ts";
import { outcomeOf } from "../../src/fix/outcome.ts";
import { asWritten } from "../../src/fix/stored-types.ts";
import type { StackId } from "../../src/hardware/stacks.ts";
import { lintModel } from "../../src/lint/run.ts";
import { type OpenModel, openModel } from "../../src/onnx/open.ts";
import { takenFirstText } from "../../src/report/account-text.ts";
import { reportOf } from "../../src/report/summary.ts";
import { renderText } from "../../src/report/text.ts";
import { options } from "../report/sample.ts";
import { eachModel, zooModel, zooNames } from "../zoo.ts";
import { rounding } from "./sums.ts";

const unsafe: FixChoice = { ...safeFix, half: "fp16", nhwc: true };

function settingsFor(model: OpenModel, stack: StackId, choice: FixChoice, gpu = "h200") {
  const plan = planOf(model.path, { stack, gpu });
  const rules = rulesOf(plan.settings);
  const lint = settingsOf(model, { ...plan, rules, calibration: undefined, notices: [] });
  return { lint, fix: { ...repairOf(lint, choice), mostRead: 128 << 10 } };
}

/** As a command writes it, without weights: the model, and microseconds in the types that it stores. */
function made(model: OpenModel, stack: StackId, choice: FixChoice) {
  const { fix } = settingsFor(model, stack, choice);
  const run = runFix(model, fix);
  const stored = settingsFor(run.fixed.model, stack, unsafe).fix;
  return { run, model: run.fixed.model, time: asWritten(run.fixed.model, stored).timeline.microseconds };
}

const stacks = ["ort-cuda", "inductor", "ort-cuda-nhwc"] as const;

for (const stack of stacks)
  eachModel(zooNames)(
    `${stack}, %s: both orders of the two commands end where lint and --fix say`,
    async (name) => {
      using model = openModel(zooModel(name));
      await withTimelines(() => {
        const fixed = made(model, stack, safeFix);
        const { account } = lintModel(model, decidedBy(model, settingsFor(model, stack, safeFix).lint));
        const first = account.find(({ step }) => step === "safe")?.first;
        if (!fixed.run.fixed.changed) return expect(first).toBeUndefined();
        const one = made(model, stack, unsafe);
        const two = made(fixed.model, stack, unsafe);
        if (one.time >= two.time - rounding) return expect(first).toBeUndefined();
        // One action, one command: that of the account's row, which names half, and makes the same.
        expect(account.flatMap(({ command }) => command ?? [])).toContain(first?.command);
        const isLaidOut = first?.command.includes("--unsafe-fixes") === true;
        const named = { ...safeFix, half: "fp16", halfOnlyWhereFaster: false, nhwc: isLaidOut } as const;
        expect(made(model, stack, named).time).toBeCloseTo(one.time, 6);
        expect(first?.after).toBeCloseTo(one.time, 6);
        expect(first?.afterFix).toBeCloseTo(two.time, 6);
        const path = { path: name, destination: name };
        const outcome = outcomeOf(path, model, { ...fixed.run, left: [], reverted: [], measurement: null });
        expect(outcome.account.find(({ step }) => step === "safe")?.first).toEqual(first);
      });
    },
  );

eachModel(["seg_unet"])("%s: the line is lint's, the hook's and the documentation's", async (name) => {
  using model = openModel(zooModel(name));
  const report = await withTimelines(() =>
    lintModel(model, decidedBy(model, settingsFor(model, "inductor", safeFix, "h100").lint)),
  );
  const line = takenFirstText(report.account) ?? "";
  expect(line).toMatch(
    /^take --fix --precision fp16 at once: ends at .*; --fix first, and --unsafe-fixes behind it, at .*$/,
  );
  const whole = reportOf([report], "1.2.3");
  expect(renderText(whole, options)).toContain(`\n  ${line}\n`);
  const hook = verdictOf(whole, { failOn: "fixable", exitZero: false });
  expect(hook.why).toContain(`${report.path}: ${line}`);
  expect(readFileSync("docs/fixing.md", "utf8")).toContain(`\`${line}\``);
});
