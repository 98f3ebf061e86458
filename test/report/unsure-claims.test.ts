/** What reports say of savings that are not sure, and of fixes that a limit hides. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { lint } from "../../src/api/lint.ts";
import { renderAgent } from "../../src/report/agent.ts";
import { basisText, countedNotes } from "../../src/report/entries.ts";
import { renderMarkdown } from "../../src/report/markdown.ts";
import type { RenderOptions } from "../../src/report/render.ts";
import { reportOf } from "../../src/report/summary.ts";
import { renderText } from "../../src/report/text.ts";
import { type BuiltCli, buildCli, runCli } from "../cli-process.ts";
import { eachModel, zooModel } from "../zoo.ts";
import { options } from "./sample.ts";

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

describe("what is not claimed because nobody measured the target", () => {
  const said =
    /not measured on \S+ \(\S+\): (.+), \d+ findings?( of every scenario)? may save .+ not claimed/;
  const render: RenderOptions = { ...options, columns: undefined };

  eachModel(["seg_unet", "gpt2_dynamo", "misaligned_cnn", "bert"])(
    "%s: the summary says so",
    async (name) => {
      for (const target of [
        { gpu: "l4" },
        { gpu: "a100" },
        { gpu: "t4" },
        { gpu: "h100" },
        { stack: "tensorrt" },
      ] as const) {
        const model = await lint(zooModel(name), target);
        // Of an H100 some models have nothing unsure.
        if (model.predicted.basis === "scaled" && model.uncertain.count === 0) continue;
        expect(model.uncertain.count).toBeGreaterThan(0);
        const report = reportOf([model], "0.1.0");
        const { gpu, stack } = model.target;
        expect(report.summary.unmeasured).toEqual({
          findings: model.uncertain.count,
          microseconds: model.uncertain.microseconds,
          targets: [{ gpu, stack }],
        });
        for (const text of [
          renderText(report, render),
          renderMarkdown(report, render),
          renderAgent(report, {}),
        ])
          expect(`not measured: ${said.exec(text)?.[1]}`).toBe(basisText[model.predicted.basis]);
      }
    },
  );

  eachModel(["seg_unet"])("%s: nothing of the kind where it was measured", async (name) => {
    const report = reportOf([await lint(zooModel(name), { gpu: "h200" })], "0.1.0");
    expect(report.models[0]?.uncertain.count).toBeGreaterThan(0);
    expect(report.summary.unmeasured).toBeUndefined();
    expect(renderText(report, render)).not.toMatch(said);
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

it("half that is sure to gain with safe fixes alone says so at its finding, as its step does", async () => {
  const report = await lint(zooModel("swin_tiny"), { stack: "ort-cuda-nhwc", verbose: true });
  const text = renderText(reportOf([report], "1"), { ...options, verbose: true });
  expect(text).toContain(", sure with what follows");
  expect(text).toContain("; not sure by itself; --fix --precision fp16");
});
