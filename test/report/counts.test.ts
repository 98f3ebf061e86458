/** @file What formats count: entries where people read them, findings where programs do, and the sums agree. */
import path from "node:path";
import { expect, test } from "vitest";
import { lint } from "../../src/index.ts";
import { duration, percent } from "../../src/ir/format.ts";
import { renderAgent } from "../../src/report/agent.ts";
import { renderCheckstyle } from "../../src/report/checkstyle.ts";
import { renderGitlab } from "../../src/report/gitlab.ts";
import { renderJunit } from "../../src/report/junit.ts";
import { renderMarkdown } from "../../src/report/markdown.ts";
import { renderRdjson } from "../../src/report/rdjson.ts";
import { renderSarif } from "../../src/report/sarif.ts";
import { errorsOnly, reportOf } from "../../src/report/summary.ts";
import { renderText } from "../../src/report/text.ts";
import { options } from "./sample.ts";

const model = await lint(path.join(import.meta.dirname, "../../fixtures/zoo/seg_unet.onnx"), {
  stack: "cudnn",
});
const all = reportOf([model], "0.0.0-test");

const timesIn = (text: string, pattern: RegExp) => text.match(pattern)?.length ?? 0;

test.each([
  ["all", all],
  ["--quiet", errorsOnly(all)],
])("entries and findings, %s", (_, report) => {
  const [{ groups, findings }] = report.models as [typeof model];
  const { errors, warnings, infos } = report.summary;
  const placesOf = (wanted: string) =>
    groups
      .filter(({ severity }) => severity === wanted)
      .reduce((sum, group) => sum + group.findings.length, 0);
  const places = { error: placesOf("error"), warn: placesOf("warn"), info: placesOf("info") };
  expect(errors + warnings + infos).toBe(groups.length);
  expect(places.error + places.warn + places.info).toBe(findings.length);
  expect(findings.length).toBeGreaterThan(groups.length);
  // Those that count entries say both.
  const both = `(${findings.length} findings)`;
  for (const render of [renderText, renderMarkdown, renderAgent])
    expect(render(report, options)).toContain(both);
  // The others have each finding, as severe as its entry.
  const levelsOf = (levels: readonly string[], names: readonly [string, string, string]) =>
    names.map((name) => levels.filter((level) => level === name).length);
  const expected = [places.error, places.warn, places.info];
  const sarif: { level: string }[] = JSON.parse(renderSarif(report, options)).runs[0].results;
  expect(
    levelsOf(
      sarif.map(({ level }) => level),
      ["error", "warning", "note"],
    ),
  ).toEqual(expected);
  const gitlab: { severity: string }[] = JSON.parse(renderGitlab(report, options));
  expect(
    levelsOf(
      gitlab.map(({ severity }) => severity),
      ["major", "minor", "info"],
    ),
  ).toEqual(expected);
  const rdjson: { severity: string }[] = JSON.parse(renderRdjson(report, options)).diagnostics;
  expect(
    levelsOf(
      rdjson.map(({ severity }) => severity),
      ["ERROR", "WARNING", "INFO"],
    ),
  ).toEqual(expected);
  const checkstyle = renderCheckstyle(report, options);
  expect(
    ["error", "warning", "info"].map((level) => timesIn(checkstyle, new RegExp(`severity="${level}"`, "g"))),
  ).toEqual(expected);
  // A line each, those of a passing case among its output.
  expect(timesIn(renderJunit(report, options), /seg_unet\.onnx:1: /g)).toBe(findings.length);
});

test("what half precision saves is the same share of the same time in the account and in its finding", async () => {
  const report = await lint(path.join(import.meta.dirname, "../../fixtures/zoo/crnn.onnx"));
  const [exported, half] = report.account;
  const group = report.groups.find(({ code }) => code === "TC201");
  const share = (half?.saves?.microseconds ?? 0) / (exported?.microseconds ?? 0);
  expect(group?.saves?.share).toBeCloseTo(share, 6);
  expect(group?.saves?.of).toBeCloseTo(exported?.microseconds ?? 0, 6);
  const shown = `${percent(share)} of ${duration(exported?.microseconds ?? 0)}`;
  const text = renderText(reportOf([report], "0.0.0-test"), { ...options, verbose: true });
  expect(text).toContain(`${shown} (`);
  expect(text).toMatch(new RegExp(`in FP16 .* ${percent(share)} `));
});

test("of several scenarios it is said that entries are those of each, and findings are counted once", async () => {
  const file = path.join(import.meta.dirname, "../../fixtures/zoo/squeezenet.onnx");
  const models = await Promise.all(
    (["ort-cuda", "cudnn"] as const).map(async (stack) => ({
      ...(await lint(file, { stack })),
      scenario: stack,
    })),
  );
  const report = reportOf(models, "0.0.0-test");
  const { errors, warnings, infos } = report.summary;
  expect(errors + warnings + infos).toBe(models.reduce((sum, { groups }) => sum + groups.length, 0));
  const places = new Set(models.flatMap(({ findings }) => findings.map(({ fingerprint }) => fingerprint)));
  expect(places.size).toBeLessThan(models.reduce((sum, { findings }) => sum + findings.length, 0));
  const text = `(entries of every scenario; ${places.size} findings) in 1 model, 2 scenarios`;
  for (const render of [renderText, renderAgent]) expect(render(report, options)).toContain(text);
  expect(renderMarkdown(report, options)).toContain(text.slice(0, text.indexOf(" in ")));
});
