/** An account that is told in half, and whose half no command stores, says so; no other does. */
import { expect, it } from "vitest";
import { lint } from "../../src/api/lint.ts";
import type { AccountStep } from "../../src/lint/result.ts";
import { unreachedText } from "../../src/report/account-text.ts";
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
