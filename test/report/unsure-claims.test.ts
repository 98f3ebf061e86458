/** What reports say of savings that are not sure, and of fixes that a limit hides. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { lint } from "../../src/api/lint.ts";
import { countedNotes } from "../../src/report/entries.ts";
import { type BuiltCli, buildCli, runCli } from "../cli-process.ts";
import { eachModel, zooModel } from "../zoo.ts";

let cli: BuiltCli;
beforeAll(() => {
  cli = buildCli();
});
afterAll(() => cli[Symbol.dispose]());

describe("a change to half", () => {
  eachModel(["resnet50", "bert", "yolo"])("%s: saves where the account claims it", async (name) => {
    const { stdout } = await runCli(cli, ["--no-color", "--diff", "--precision", "fp16", zooModel(name)]);
    const lines = stdout.split("\n");
    const [step, change] = ["in FP16", "half"].map((head) =>
      lines.find((line) => line.startsWith(`  ${head} `)),
    );
    expect(step).toMatch(/ (may save|saves) /);
    expect(change).toMatch(/, (may save|saves) /);
    expect(change?.includes("may save")).toBe(step?.includes("may save"));
  });
});

describe("what --min-saving hides", () => {
  it("is told where --fix repairs some of it", async () => {
    const hidden = await lint(zooModel("misaligned_cnn"), { minSaving: 0.6 });
    expect(hidden.belowThreshold.hidesFix).toBe(true);
    expect(countedNotes(hidden).join()).toContain("--fix repairs some at a lower --min-saving");
    const shown = await lint(zooModel("misaligned_cnn"), {});
    expect(countedNotes(shown).join()).not.toContain("lower --min-saving");
  });
});
