/** What a pull request adds to the baseline is let off by compare, as by hooks; what the baseline had before lets nothing new off. */
import { readFileSync, renameSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import path from "node:path";
import { Ajv } from "ajv";
import { beforeEach, expect, test } from "vitest";
import { network } from "../compare/models.ts";
import { commitAll, git } from "./repository.ts";
import { useWorkbench } from "./workbench.ts";

const isReport = new Ajv({ allowUnionTypes: true }).compile(
  createRequire(import.meta.url)("../../schemas/compare-report.schema.json"),
);
const bench = useWorkbench();
const place = (name: string) => path.join(bench.folder.path, name);
const write = (name: string, content: string | Uint8Array) => writeFileSync(place(name), content);
const target = ["--gpu", "h200", "--stack", "cudnn"];
const compared = (...flags: readonly string[]) =>
  bench.tcLint(["compare", "--base", "HEAD", ...target, ...flags]);
const suppressAll = () => bench.tcLint([".", ...target, "--suppress-all"]);

const good = network();
const bad = network({ widths: [256, 250, 512] });
const worse = network({ widths: [250, 250, 512] });
const otherwise = network({ widths: [250, 256, 512] });

beforeEach(async () => {
  git(bench.folder.path, "init", "-q");
  write("good.onnx", good);
  write("bad.onnx", bad);
  await suppressAll();
  commitAll(bench.folder.path);
});

test("a new model that comes with its baseline passes, and is told what is let off", async () => {
  write("new.onnx", bad);
  expect((await compared()).exitCode).toBe(1);
  await suppressAll();
  const { exitCode, stdout } = await compared();
  expect([exitCode, stdout]).toEqual([
    0,
    expect.stringMatching(/new findings let off by what the change adds to tc-lint-supp/),
  ]);
  expect(stdout).not.toContain("new error");
  const json = JSON.parse((await compared("-f", "json")).stdout);
  expect(json.summary).toMatchObject({ newErrors: 0, newWarnings: 0 });
  expect(json.models[0].findings.suppressed).toEqual(
    expect.arrayContaining([expect.objectContaining({ code: "TC101" })]),
  );
  expect(isReport(json), JSON.stringify(isReport.errors)).toBe(true);
  expect((await compared("--no-suppressions-location")).exitCode).toBe(1);
  const absent = await compared("--suppressions-location", "none.json");
  expect([absent.exitCode, absent.stderr]).toEqual([2, expect.stringContaining("none.json: no such file")]);
  expect(absent.stderr).toBe(
    (await bench.tcLint(["new.onnx", "--suppressions-location", "none.json"])).stderr,
  );
  // From below it, too.
  const below = await bench.tcLint(["compare", "--base", "HEAD", ...target, "new.onnx", "-f", "markdown"]);
  expect(below.stdout).toMatch(/^\*\*1 new model\*\*/);
});

test("a place counts once in however many scenarios", async () => {
  write("new.onnx", network({ widths: [256, 250, 512], batch: "n" }));
  const sizes = ["--dim", "n=1,2"];
  const strict = ["--max-warnings", "0"];
  expect((await compared(...sizes, ...strict)).exitCode).toBe(1);
  await bench.tcLint([".", ...target, ...sizes, "--suppress-all"]);
  const { exitCode, stdout } = await compared(...sizes, ...strict, "-f", "json");
  expect([exitCode, JSON.parse(stdout).models.length]).toEqual([0, 2]);
});

test("findings that the baseline had no room for are new, and stay so beside others that are repaired", async () => {
  write("bad.onnx", otherwise);
  const { exitCode, stdout } = await compared();
  expect([exitCode, stdout]).toEqual([1, expect.stringContaining("new error  TC101")]);
  expect((await bench.tcLint(["bad.onnx", ...target])).exitCode).toBe(0);
});

test("a model that gets worse passes with the baseline that says so, and where it is moved not with what it had", async () => {
  write("bad.onnx", worse);
  expect((await compared()).exitCode).toBe(1);
  renameSync(place("bad.onnx"), place("moved.onnx"));
  const baseline = (count: number) =>
    JSON.stringify({ version: 1, models: { "moved.onnx": { rules: { TC101: { count } } } } });
  write("tc-lint-suppressions.json", baseline(2));
  git(bench.folder.path, "add", "-A");
  expect((await compared()).exitCode).toBe(1);
  await suppressAll();
  expect((await compared()).exitCode).toBe(0);
});

test("a baseline that is broken in the commit lets nothing off, and is named", async () => {
  write("tc-lint-suppressions.json", "{");
  commitAll(bench.folder.path);
  write("tc-lint-suppressions.json", '{ "version": 1, "models": {} }');
  write("new.onnx", bad);
  await suppressAll();
  const { exitCode, stderr } = await compared();
  expect([exitCode, stderr]).toEqual([
    1,
    expect.stringMatching(/HEAD:tc-lint-suppressions\.json.*lets nothing new off/),
  ]);
});

test.each([
  ["the working tree with a commit", ["--base", "HEAD"]],
  ["two files", ["good.onnx", "bad.onnx"]],
])("the baseline that is found is no place for a report on %s", async (_, which) => {
  const before = readFileSync(place("tc-lint-suppressions.json"), "utf8");
  for (const flags of [
    ["-o", "tc-lint-suppressions.json"],
    ["-f", "json=tc-lint-suppressions.json"],
  ]) {
    const { exitCode, stderr } = await bench.tcLint(["compare", ...which, ...target, ...flags]);
    expect([exitCode, stderr]).toEqual([
      2,
      "tc-lint: tc-lint-suppressions.json: is named like a baseline; the report goes elsewhere\n",
    ]);
  }
  expect(readFileSync(place("tc-lint-suppressions.json"), "utf8")).toBe(before);
});
