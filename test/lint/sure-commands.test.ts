/**
 * A finding that `--fix` leaves names the command whose file is sure to gain of the user's, of several the one that gains most; what none is sure of is claimed
 * by nobody.
 */
import { describe, expect, test } from "vitest";
import { fix } from "../../src/api/fix.ts";
import { type FixChoice, safeFix } from "../../src/api/fix-settings.ts";
import { lint } from "../../src/api/lint.ts";
import { planOf } from "../../src/api/options.ts";
import { fixSettings } from "../../src/api/plan-fix.ts";
import { withTimelines } from "../../src/api/timelines.ts";
import { verdictOf } from "../../src/cli/exit.ts";
import { readFixFlags } from "../../src/cli/fix-options.ts";
import { runFix } from "../../src/fix/make.ts";
import { asWritten } from "../../src/fix/stored-types.ts";
import type { StackId } from "../../src/hardware/stacks.ts";
import type { ModelReport } from "../../src/lint/result.ts";
import { openModel } from "../../src/onnx/open.ts";
import { accountCells } from "../../src/report/account-text.ts";
import { countedNotes } from "../../src/report/entries.ts";
import { standingOf } from "../../src/report/standing.ts";
import { reportOf } from "../../src/report/summary.ts";
import { renderText } from "../../src/report/text.ts";
import type { Workload } from "../../src/workload/workload.ts";
import { writtenBetween } from "../../src/workload/written.ts";
import { temporaryFolder } from "../cli/models.ts";
import { writeInline } from "../fix/models.ts";
import { options } from "../report/sample.ts";
import { eachModel, zooModel } from "../zoo.ts";
import { rounding } from "./sums.ts";

/** Every command that changes types or layout, and is not told by name which. */
const commands = ["--fix --precision fp16", "--fix --unsafe-fixes", "--fix --precision fp16 --unsafe-fixes"];

function choiceOf(command: string): FixChoice {
  const half = command.includes("--precision") ? "fp16" : undefined;
  const read = readFixFlags({ fix: true, "unsafe-fixes": command.includes("--unsafe-fixes") }, half);
  return { ...safeFix, ...read };
}

/** What each command's file saves of the one that the user has, as they are stored. */
async function endsOf(name: string, stack: StackId) {
  using model = openModel(zooModel(name));
  const settingsOf = (choice: FixChoice) => fixSettings(planOf(model.path, { stack }), choice);
  const half = settingsOf(choiceOf(commands[0] ?? ""));
  const fileOf = (choice: FixChoice): Promise<Workload> =>
    withTimelines(() => asWritten(runFix(model, settingsOf(choice)).fixed.model, half));
  const before = await withTimelines(() => asWritten(model, half));
  const afterFix = await fileOf(safeFix);
  const ends = new Map<string, ReturnType<typeof writtenBetween>>();
  for (const command of commands)
    ends.set(command, writtenBetween(before, await fileOf(choiceOf(command)), half.cost));
  return { ends, fixed: writtenBetween(before, afterFix, half.cost) };
}

test.each([
  ["gpt2_dynamo", "ort-cuda", "--fix --precision fp16"],
  ["seg_unet", "inductor", "--fix --precision fp16"],
  ["seg_unet_dynamo", "inductor", "--fix --precision fp16"],
  // In FP32 and NHWC faster than in half.
  ["misaligned_cnn", "ort-cuda", undefined],
] as const)(
  "%s on %s: --unsafe-fixes writes what takes the least of what is sure, and half's row has its saving of the file",
  async (name, stack, command) => {
    const report = await lint(zooModel(name), { stack });
    const { ends, fixed } = await endsOf(name, stack);
    const sure = [...ends.values(), fixed].filter(({ low }) => low > 0);
    expect(fixed.low).toBeGreaterThan(0);
    expect(ends.get("--fix --unsafe-fixes")?.after).toBeCloseTo(
      Math.min(...sure.map(({ after }) => after)),
      6,
    );
    const safe = report.groups.filter(({ step }) => step === "safe");
    expect(safe.map(({ fixCommand }) => fixCommand)).toEqual(safe.map(() => "--fix"));
    const kept = report.account.find(({ step }) => step === "kept");
    if (command === undefined) return;
    expect(kept).toMatchObject({ command, written: ends.get(command) });
    const before = (kept?.written?.after ?? 0) + (kept?.written?.microseconds ?? 0);
    expect(before).toBeCloseTo(report.account[0]?.microseconds ?? 0, 6);
    expect(kept && accountCells(kept, report.account)[3]).toMatch(/: \S+ \S+ → .* \(saves /);
  },
  60_000,
);

const claimedOf = ({ groups }: ModelReport) => groups.filter(({ fix }) => fix === "unsafe");

describe.each(["ort-cuda", "cudnn"] as const)("on %s", (stack) => {
  eachModel([
    "siamese",
    "dlrm",
    "yolo",
    "convnext_tiny",
    "crnn",
    "seg_unet",
    "misaligned_cnn",
    "squeezenet",
    "espcn",
  ])(
    "%s: the command of a finding is sure to gain, as much as any",
    async (name) => {
      const report = await lint(zooModel(name), { stack });
      const { ends, fixed } = await endsOf(name, stack);
      // What a table says that --fix comes to is the time of the file that it writes.
      expect(standingOf(report)?.afterFix).toBeCloseTo(fixed.after, 6);
      const sure = [...ends.values()].filter(({ low }) => low > 0).map(({ microseconds }) => microseconds);
      // What stores half where it is asked for by name.
      const byName = [...ends].flatMap(([command, end]) => (command.includes("--precision") ? end : []));
      for (const { code, fixCommand } of claimedOf(report)) {
        const end = ends.get(fixCommand ?? "");
        expect(end?.low, `${code}: ${fixCommand}`).toBeGreaterThan(0);
        expect(end?.microseconds).toBeGreaterThanOrEqual(Math.max(...sure) - rounding);
      }
      if (sure.length === 0) expect(claimedOf(report)).toEqual([]);
      for (const { command = "--fix", unsure, written, step, setting } of report.account) {
        if (unsure === true) expect(byName.filter(({ low }) => low > 0)).toEqual([]);
        // What the file that stays as it is stored takes is that command's.
        if (step === "layout" && written !== undefined && setting === undefined)
          expect(ends.get(command)?.after).toBeCloseTo(written.after, 6);
      }
    },
    60_000,
  );
});

test("what no file is sure of is no error, and its step says that it may save nothing", async () => {
  const report = await lint(zooModel("yolo_w0375"), { stack: "inductor" });
  const { account, uncertain, groups } = report;
  const safe = account.find(({ step }) => step === "safe");
  expect(safe).toMatchObject({ needsHalf: true, unsure: true });
  expect(safe && accountCells(safe, account).join(" ")).toMatch(/may save .* the file may save nothing$/);
  expect(uncertain.count).toBeGreaterThan(0);
  expect(groups.filter(({ severity }) => severity === "error")).toEqual([]);
  const verdict = verdictOf(reportOf([report], "0"), {
    failOn: "fixable",
    maxWarnings: undefined,
    exitZero: false,
  });
  expect(verdict.exitCode).toBe(0);
});

test("what half costs is beside the file as it is stored, which all else is of", async () => {
  const { predicted, account, notices } = await lint(zooModel("siamese"), { stack: "ort-cuda" });
  expect(account.map(({ precision }) => precision)).not.toContain("fp16");
  expect(predicted.half?.microseconds).toBeGreaterThan(predicted.microseconds);
  expect(predicted.half?.saves.microseconds).toBeCloseTo(
    predicted.microseconds - (predicted.half?.microseconds ?? Number.NaN),
    6,
  );
  expect(notices.find(({ code }) => code === "as-stored")?.message).toContain("--diff --precision fp16");
  // The account of a repair that stores no half is the same.
  const made = await fix(zooModel("siamese"), { stack: "ort-cuda", dryRun: true });
  expect(made.account?.[0]).toEqual(account[0]);
});

test("where padding is solved for, Casts are known, be half not sure to save anything without them", async () => {
  const { account } = await lint(zooModel("swin_tiny"), { stack: "ort-cuda" });
  expect(account.find(({ step }) => step === "precision")?.saves?.low).toBeLessThan(0);
  const kept = account.find(({ step }) => step === "kept");
  const { ends } = await endsOf("swin_tiny", "ort-cuda");
  expect(kept?.written).toEqual(ends.get("--fix --precision fp16"));
});

test("half whose Casts may take what it saves is said to be so by its row and its note", async () => {
  const report = await lint(zooModel("llama"), { stack: "ort-cuda", verbose: true });
  const { account, unlisted } = report;
  const step = account.find((each) => each.step === "precision");
  expect(step?.saves?.low).toBeGreaterThan(0);
  const said = step && accountCells(step, account).join(" ");
  expect(said).toMatch(/may save .* without Casts: with them the file may save nothing$/);
  expect(countedNotes(report).join()).toMatch(
    /may save nothing \(predicted \S+ µs(; \S+ µs of it)? from half precision, not counting the Casts that convert to and from it\)/,
  );
  // A repair that is asked for by name says the same of the step.
  const made = await fix(zooModel("llama"), {
    stack: "ort-cuda",
    half: "fp16",
    halfOnlyWhereFaster: false,
    dryRun: true,
  });
  expect(made.account?.find((each) => each.step === "precision")?.unsure).toBe(true);
  // And so does one that stores no half.
  const plain = await fix(zooModel("llama"), { stack: "ort-cuda", dryRun: true });
  const told = plain.account?.find((each) => each.step === "precision");
  expect(told && accountCells(told, plain.account ?? []).join(" ")).toBe(said);
  const half = unlisted?.groups.find(({ code }) => code === "TC201");
  expect(half).toMatchObject({ fix: "unsafe", fixCommand: null });
  const text = renderText(reportOf([report], "0"), { ...options, verbose: true });
  expect(text).toMatch(/not claimed\n(.*\n)* .*TC201 fp32-compute .* may save \d+(\.\d)? µs\n/);
  expect(text).toContain("; no fix is sure to gain");
});

test("what --fix is sure to repair is claimed of the file as it is stored, too", async () => {
  using folder = temporaryFolder();
  writeInline(folder.path);
  const report = await lint(`${folder.path}/model.onnx`, { minSaving: 0 });
  expect(report.predicted.half).toBeDefined();
  expect(report.account.find(({ step }) => step === "safe")?.saves?.low).toBeGreaterThan(0);
  const safe = report.groups.filter(({ step }) => step === "safe");
  expect(safe.length).toBeGreaterThan(0);
  for (const { fixCommand, saves } of safe) {
    expect(fixCommand).toBe("--fix");
    expect(saves?.low).toBeGreaterThan(0);
  }
});

test("what half alone repairs fails no hook at any precision; --diff with the flag has it", async () => {
  const report = await lint(zooModel("crnn"), { precision: "fp16" });
  const commands = report.groups.flatMap(({ fixCommand }) => fixCommand ?? []);
  expect(commands).toContain("--fix --precision fp16");
  expect(commands).not.toContain("--fix");
  const policy = { failOn: "fixable", maxWarnings: undefined, exitZero: false } as const;
  expect(verdictOf(reportOf([report], "0"), policy).exitCode).toBe(0);
  const made = await fix(zooModel("crnn"), { half: "fp16", halfOnlyWhereFaster: false, dryRun: true });
  expect(made.changed).toBe(true);
});
