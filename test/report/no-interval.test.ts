/** Where a saving may be a loss of more than all the time that it is a part of, its interval tells nothing, and is not told. */
import { expect, test } from "vitest";
import { lint } from "../../src/api/lint.ts";
import { changeRange, savingRange, tellsNothing } from "../../src/ir/format.ts";
import { accountCells } from "../../src/report/account-text.ts";
import { reportOf } from "../../src/report/summary.ts";
import { renderText } from "../../src/report/text.ts";
import { eachModel, zooModel } from "../zoo.ts";
import { options } from "./sample.ts";

test("an interval is told down to a loss of the time itself", () => {
  expect(savingRange({ low: -41, high: 12 }, 41)).toBe("12 less to 41 µs more");
  expect(savingRange({ low: 0, high: 12 }, 41)).toBe("up to 12 µs");
  expect(savingRange({ low: -42, high: -12 }, 41)).toBe("12 to 42 µs");
  expect(savingRange({ low: -42, high: 12 }, 41)).toBe("no interval: as wide as the time itself");
});

test("nothing saves more than all of its time, and what may be either says so of both ends", () => {
  expect(savingRange({ low: 4, high: 50 }, 41)).toBe("4 to 41 µs");
  expect(savingRange({ low: -4, high: 50 }, 41)).toBe("41 less to 4 µs more");
  expect(savingRange({ low: -1100, high: 12 }, 4000)).toBe("12 µs less to 1.1 ms more");
  expect(savingRange({ low: -12, high: 0 }, 41)).toBe("up to 12 µs");
  expect(changeRange({ low: -42, high: -12 }, 41)).toBe("12 to 42 µs more");
  expect(changeRange({ low: 4, high: 12 }, 41)).toBe("4 to 12 µs less");
  expect(changeRange({ low: -4, high: 12 }, 41)).toBe("12 less to 4 µs more");
});

const rows = [
  ["tcn", "ort-cuda"],
  ["misaligned_mlp", "ort-cuda"],
  ["siamese", "ort-cuda"],
  ["shufflenet_v2", "tc-runtime"],
] as const;

eachModel(rows)("%s on an L4 with %s, which nobody measured", async (name, stack) => {
  const report = await lint(zooModel(name), { gpu: "l4", stack, verbose: true });
  for (const step of report.account) {
    const { saves, microseconds } = step;
    const isTold = saves === null || !tellsNothing(saves, microseconds + saves.microseconds);
    expect(accountCells(step, report.account)[2].includes("no interval")).toBe(!isTold);
  }
  const wide = [...report.groups, ...(report.unlisted?.groups ?? [])].filter(
    ({ saves }) => saves !== null && tellsNothing(saves, saves.of),
  );
  const text = renderText(reportOf([report], "1"), { ...options, verbose: true });
  const told = text.match(/no interval: as wide as the time itself/g) ?? [];
  expect(wide.length > 0 ? told.length : 1).toBeGreaterThan(0);
});
