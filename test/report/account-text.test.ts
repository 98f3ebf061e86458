/** @file How the steps of an account are taken, as the terminal says it. */
import { expect, test } from "vitest";
import type { AccountStep } from "../../src/lint/result.ts";
import { accountCells } from "../../src/report/account-text.ts";

test.each([
  ["fp16", "in FP16", /^--fix --precision fp16, less Casts/],
  ["bf16", "in BF16", /^--fix --precision bf16, less Casts/],
  ["int8", "in INT8", /^once somebody has quantized it$/],
  ["tf32", "in TF32", /^a setting of the stack$/],
] as const)("a step to %s names a fix where one takes it, and no other", (precision, name, how) => {
  const times = { microseconds: 10, low: 9, high: 11 };
  const exported: AccountStep = { ...times, step: "exported", saves: null, precision: "as-is" };
  const step: AccountStep = { ...times, step: "precision", saves: times, precision };
  const [called, , , way] = accountCells(step, [exported, step]);
  expect(called).toBe(name);
  expect(way).toMatch(how);
});
