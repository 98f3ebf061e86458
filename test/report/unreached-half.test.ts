/** An account that is told in half, and whose half no command stores, says so; no other does. */
import { describe, expect, it } from "vitest";
import { fix } from "../../src/api/fix.ts";
import { lint } from "../../src/api/lint.ts";
import type { AccountStep } from "../../src/lint/result.ts";
import { accountCells, unreachedText } from "../../src/report/account-text.ts";
import { reportOf } from "../../src/report/summary.ts";
import { renderText } from "../../src/report/text.ts";
import { withHalfNeeded } from "../../src/workload/account.ts";
import { eachModel, zooModel } from "../zoo.ts";
import { options } from "./sample.ts";

const saves = { microseconds: 3, low: -1, high: 7 };
const times = { microseconds: 20, low: 15, high: 30, saves, precision: "fp16" } as const;
const exported: AccountStep = { ...times, step: "exported", precision: "as-is", saves: null };
const half: AccountStep = { ...times, step: "precision" };
const safe: AccountStep = { ...times, step: "safe", command: "--fix", written: { ...saves, after: 12 } };

it.each<[string, readonly AccountStep[], string | undefined]>([
  ["by itself", [exported, half], "as stored the file takes 20 µs"],
  ["beside safe fixes", [exported, half, safe], "--fix makes 12 µs of the file as stored (20 µs)"],
  ["with a command", [exported, { ...half, command: "--fix --precision fp16" }, safe], undefined],
  ["that no fix stores", [exported, { ...half, unwritten: true }], undefined],
  ["that the file is in", [exported, safe], undefined],
  ["that ran", [exported, { ...half, measured: true }], undefined],
])("half %s", (_, account, end) => {
  const text = unreachedText(account);
  if (end === undefined) expect(text).toBeUndefined();
  else expect(text).toMatch(/^no command is sure to gain by FP16, in which rows and findings are told: /);
  expect(text?.split(": ").at(-1)).toBe(end);
});

const sure = { microseconds: 18, low: 0.176, high: 36.8, after: 62 };
const kept: AccountStep = { ...times, step: "kept", microseconds: 22, written: sure };

describe("half that is sure to gain, and whose command nobody is told", () => {
  it.each<[string, readonly AccountStep[], string]>([
    ["of the file", [exported, half, kept], "--min-saving"],
    ["beside what --fix alone makes", [exported, half, safe, kept], "--min-saving beyond --fix alone"],
    [
      "where --fix alone leaves safe fixes",
      [exported, half, { ...safe, needsHalf: true }, kept],
      "--min-saving",
    ],
  ])("names the threshold, and no doubt: %s", (_, account, threshold) => {
    expect(unreachedText(account)).toContain(`no command gains ${threshold} by FP16, `);
    const unsure: AccountStep = { ...half, unsure: true, saves: { ...saves, low: 1 } };
    const [, , saved, way] = accountCells(unsure, [exported, unsure, ...account.slice(2)]);
    expect(saved).toMatch(/^may save .* by itself\)$/);
    expect(way).toBe(`without Casts: with them the file saves less than ${threshold}`);
  });

  it("may save nothing where its interval says so", () => {
    const account = [exported, half, { ...kept, written: { ...sure, low: -0.176 } }];
    expect(unreachedText(account)).toContain("no command is sure to gain by FP16");
  });

  eachModel(["resnet50", "bert"])("%s: a diff says the same in each of its rows", async (name) => {
    const made = await fix(zooModel(name), { half: "fp16", minSaving: 0.4, dryRun: true });
    const account = made.account ?? [];
    const rows = account.map((step) => accountCells(step, account).at(-1)).join();
    expect(account.find(({ step }) => step === "kept")?.written?.low).toBeGreaterThan(0);
    expect(rows).toContain("the file saves less than --min-saving");
    expect(rows).not.toContain("may save nothing");
  });
});

it("what an author saves of a file in half rests on nothing", () => {
  const author: AccountStep = { ...times, step: "author" };
  expect(withHalfNeeded([exported, safe, author]).at(-1)).not.toHaveProperty("restsOn");
  expect(withHalfNeeded([exported, half, author]).at(-1)).toHaveProperty("restsOn", "fp16");
});

eachModel([
  ["misaligned_mlp", "cudnn"],
  ["bert", "ort-cuda"],
  ["tcn", "tensorrt"],
  ["seg_unet", "inductor"],
] as const)("%s on %s", async (name, stack) => {
  const report = await lint(zooModel(name), { stack });
  const isTold = report.account.some(({ precision }) => precision === "fp16");
  const isReached = report.account.some(({ command = "" }) => /--precision|--unsafe-fixes/.test(command));
  const text = renderText(reportOf([report], "1"), options);
  expect(text.includes("no command is sure to gain by FP16")).toBe(isTold && !isReached);
});
