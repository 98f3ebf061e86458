/** One command a step: what a report says in words is what it says as data, and a step without one names none. */
import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { type FixOptions, fix } from "../../src/api/fix.ts";
import { type LintOptions, lint } from "../../src/api/lint.ts";
import { layoutSettingOf, type StackId, stacks } from "../../src/hardware/stacks.ts";
import type { AccountStep } from "../../src/lint/result.ts";
import { accountLines } from "../../src/report/account-table.ts";
import { accountCells, rowsOf } from "../../src/report/account-text.ts";
import { standingOf } from "../../src/report/standing.ts";
import { unsafeFixes } from "../unsafe-fixes.ts";
import { eachModel, zoo, zooModel } from "../zoo.ts";

/** Commands that repair; what only tells (`--diff`) takes no step. */
const commands = /--fix(?: --(?:unsafe-fixes|precision \w+|layout nhwc|prove))*/g;

function expectAlike(account: readonly AccountStep[]): void {
  const [lines, rows] = [accountLines(account), rowsOf(account)];
  for (const step of account) {
    const way = accountCells(step, account)[3];
    const named = way.match(commands) ?? [];
    expect(named, `${step.step}: ${way}`).toEqual(step.command === undefined ? [] : [step.command]);
    // A step of no time is told in the row above.
    const row = rows.indexOf(step);
    if (account.length > 1 && row >= 0) expect(lines[row]).toContain(way);
    expectReason(step, account);
  }
}

/** What may save nothing has an interval that reaches 0, or says which file may; what reaches 0 and has a command, what is sure with it. */
function expectReason(step: AccountStep, account: readonly AccountStep[]): void {
  const [name, , saving, way] = accountCells(step, account);
  const { saves, command, unsure } = step;
  if (saves === null) return;
  const isClear = saves.low > 0 || saves.high < 0;
  const row = `${name} ${saving} ${way}`;
  if (isClear && saving.startsWith("may ")) expect(row).toContain("the file may save nothing");
  if (isClear || command === undefined || unsure === true || name !== "in FP16") return;
  const kept = account.find((each) => each.step === "kept");
  if (kept?.command === command) expect(row).toContain(", sure with what follows");
}

const looked: readonly StackId[] = ["ort-cuda", "ort-cuda-nhwc", "cudnn", "inductor", "tensorrt"];
const models = [
  "bert",
  "c3d",
  "convnext_tiny",
  "crnn",
  "dlrm",
  "espcn",
  "gpt2_dynamo",
  "llama",
  "misaligned_cnn",
  "mobilevit_xs",
  "resnet50",
  "seg_unet",
  "siamese",
  "squeezenet",
  "yolo",
];

describe.each(looked)("on %s", (stack) => {
  eachModel(models)("%s: text and data name the same command of each step, or none", async (name) => {
    for (const precision of ["fp16", "tf32"] as const)
      expectAlike((await lint(zooModel(name), { stack, precision })).account);
  });

  eachModel(models)("%s: a command is named where its file is sure to gain, and no other", async (name) => {
    const { account } = await lint(zooModel(name), { stack });
    const isSet = layoutSettingOf(stacks[stack]) !== undefined;
    for (const { step, saves, command, unsure, written } of account) {
      if (unsure === true || step === "author" || step === "exported") expect(command, step).toBeUndefined();
      if (step === "precision" && (saves?.microseconds ?? 0) <= 0) expect(command).toBeUndefined();
      if (step === "kept" && (written?.low ?? 0) <= 0) expect(command).toBeUndefined();
      if (step === "layout") expect(command === undefined, "no file decides what a setting does").toBe(isSet);
    }
  });

  eachModel(models)("%s: where what half takes is not told, it says which command tells", async (name) => {
    const options: LintOptions = { stack };
    const report = await lint(zooModel(name), options);
    const { account } = report;
    const half = account.find(({ step }) => step === "precision");
    const kept = account.find(({ step }) => step === "kept");
    if (kept !== undefined) expect(half?.castsIn).toBeUndefined();
    if (half?.castsIn === undefined) return;
    expect(accountCells(half, account)[3]).toMatch(/without Casts/);
    // And of every step behind it, where its command does not leave FP32.
    for (const step of account.slice(account.indexOf(half))) {
      expect(step.castsIn).toBe(half.castsIn);
      if (step.step !== "layout" || step.written !== undefined) continue;
      expect(accountCells(step, account)[3]).toMatch(/, without Casts$/);
    }
    const isLaidOut = half.castsIn.endsWith(" --unsafe-fixes");
    expect(half.castsIn.replace(" --unsafe-fixes", "")).toBe("--diff --precision fp16");
    expect(isLaidOut).toBe(account.some(({ step, setting }) => step === "layout" && setting === undefined));
    const asked = { half: "fp16", halfOnlyWhereFaster: false, dryRun: true } as const;
    const unsafe = isLaidOut ? { nhwc: true, nhwcOnlyWhereFaster: true } : {};
    const made = await fix(zooModel(name), { ...options, ...asked, ...unsafe });
    // Weights that are not here decide what half stores of some.
    if (made.error?.code === "weights-missing") return;
    expect(made.account?.filter(({ castsIn }) => castsIn !== undefined)).toEqual([]);
    // Where they take no time, that is what its row says.
    const casts = made.account?.findLast(({ step }) => step === "kept");
    expect(casts?.microseconds).toBeCloseTo(made.stored?.after ?? Number.NaN, 6);
  });
});

test.each<FixOptions>([{}, { nhwc: true }, { half: "fp16", halfOnlyWhereFaster: false }, unsafeFixes])(
  "a repair's steps have the command that was given, in text and in data: %o",
  async (options) => {
    for (const name of ["bert", "espcn", "seg_unet", "gpt2_dynamo"]) {
      const { account } = await fix(zooModel(name), { ...options, dryRun: true });
      expectAlike(account ?? []);
    }
  },
);

eachModel(["regnety_004", "squeezenet"])(
  "%s: after all is the file that commands leave, with the setting, where that stays FP32",
  async (name) => {
    const report = await lint(zooModel(name));
    const layout = report.account.find(({ step }) => step === "layout");
    expect(layout).toMatchObject({ setting: { option: "prefer_nhwc", stack: "ort-cuda-nhwc" } });
    const asStored = report.predicted.half === undefined ? layout?.written : layout?.saves;
    const saved = asStored?.microseconds ?? Number.NaN;
    const { stored } = await fix(zooModel(name), { ...unsafeFixes, dryRun: true });
    expect(standingOf(report)?.afterAll).toBeCloseTo((stored?.after ?? Number.NaN) - saved, 6);
  },
);

describe("with weights, which decide what half keeps in FP32, and so which of two files is written", () => {
  const folder = mkdtempSync(path.join(tmpdir(), "tc-lint-after-all-"));
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  eachModel(["deeplabv3", "yolo"])(
    "%s: the account has what its layout's command writes",
    async (name) => {
      execFileSync(process.execPath, [path.join(zoo, "materialize.mjs"), folder, name]);
      const file = path.join(folder, `${name}.onnx`);
      const { account } = await lint(file, { stack: "cudnn" });
      const { stored } = await fix(file, { ...unsafeFixes, stack: "cudnn", dryRun: true });
      const layout = account.find(({ step }) => step === "layout");
      const kept = account.find(({ step }) => step === "kept");
      expect(layout?.command).toBe("--fix --unsafe-fixes");
      expect(layout?.written?.after ?? kept?.microseconds).toBeCloseTo(stored?.after ?? Number.NaN, 6);
    },
    60_000,
  );
});

describe("a repair by name says of each row why it may save nothing", () => {
  eachModel(models)("%s", async (name) => {
    for (const stack of ["ort-cuda", "inductor"] as const) {
      const options: FixOptions = { stack, half: "fp16", halfOnlyWhereFaster: false, dryRun: true };
      const { account } = await fix(zooModel(name), options);
      for (const step of account ?? []) expectReason(step, account ?? []);
    }
  });
});
