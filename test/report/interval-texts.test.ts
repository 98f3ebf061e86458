/** Intervals in text: without signs that a reader has to guess, and none in prose above what there is to save. */
import { expect, it } from "vitest";
import { lint } from "../../src/api/lint.ts";
import { changeRange } from "../../src/ir/format.ts";
import { claimText, shareOfText } from "../../src/report/share.ts";
import { reportOf } from "../../src/report/summary.ts";
import { renderText } from "../../src/report/text.ts";
import { eachModel, zooModel } from "../zoo.ts";
import { options } from "./sample.ts";

const rows = [
  ["misaligned_cnn", "inductor"],
  ["shufflenet_v2", "cudnn"],
  ["siamese", "ort-cuda"],
  ["misaligned_mlp", "tc-runtime"],
  ["tcn", "tensorrt"],
  ["seg_unet", "inductor"],
] as const;

const units: Readonly<Record<string, number>> = { µs: 1, ms: 1e3, s: 1e6 };

eachModel(rows)("%s on %s", async (name, stack) => {
  const linted = await lint(zooModel(name), { stack, verbose: true });
  const text = renderText(reportOf([linted], "1"), { ...options, verbose: true }).replaceAll(/\s+/g, " ");
  expect(text).not.toMatch(/-[\d.]+ (?:[µm]?s )?(?:to|and) |(?:saves?|costs?) -/);
  const told = text.matchAll(
    /predicted ([\d.]+) ([µm]?s) → [\d.]+ [µm]?s \((?:[\d.]+ to )?([\d.]+) ([µm]?s )?less/g,
  );
  for (const [whole, before, unit = "", most, own = unit] of told)
    expect(Number(most) * (units[own.trim()] ?? 1), whole).toBeLessThanOrEqual(
      Number(before) * (units[unit] ?? 1),
    );
});

it.each([
  [{ microseconds: -1.5, low: -3, high: 2 }, "may cost 1.5 µs, 1 % of 150 µs"],
  [{ microseconds: -1.5, low: -3, high: -1 }, "costs 1.5 µs, 1 % of 150 µs"],
  [{ microseconds: 1.5, low: -3, high: 2 }, "may save 1.5 µs, 1 % of 150 µs"],
  [{ microseconds: 1.5, low: 1, high: 2 }, "saves 1.5 µs, 1 % of 150 µs"],
  [{ microseconds: 0, low: 0, high: 0 }, "saves nothing, 0 %"],
])("%j is told as what it is", (ends, text) => {
  const saves = { ...ends, share: ends.microseconds / 150, of: 100 };
  expect(`${claimText(saves)}, ${shareOfText(saves)}`).toBe(text);
});

it.each([
  [{ low: 0, high: 0 }, "no difference"],
  [{ low: -1e-8, high: 1e-8 }, "no difference"],
  [{ low: 0, high: 2 }, "up to 2 µs less"],
])("the range of %j reads as what it is", (ends, text) => {
  expect(changeRange(ends, 100)).toBe(text);
});
