/** @file What nobody measured in a number format is not claimed in it: on a GPU that was measured as little as on one that was not. */
import { expect } from "vitest";
import { lint } from "../../src/index.ts";
import { unmeasuredIn } from "../../src/report/unmeasured.ts";
import { eachModel, zooModel, zooNames } from "../zoo.ts";

const unclaimed = ["TC101", "TC102", "TC103"];

eachModel(zooNames)(
  "%s: in int8 no odd size is claimed, and all are counted as unmeasured",
  async (name) => {
    const report = await lint(zooModel(name), { precision: "int8", verbose: true });
    const codesOf = (groups: typeof report.groups) => groups.map(({ code }) => code);
    expect(codesOf(report.groups).filter((code) => unclaimed.includes(code))).toEqual([]);
    expect(report.predicted.basis).toBe("datasheet");
    expect(report.uncertain.withoutCasts).toBeUndefined();
    const { count } = report.uncertain;
    expect(unmeasuredIn([report])?.findings ?? 0).toBe(count);
    expect(
      codesOf(report.unlisted?.groups ?? []).some((code) => unclaimed.includes(code)) && count === 0,
    ).toBe(false);
  },
  60_000,
);
