/** @file Repairs in every format, and what they leave beside the model. */
import { readdirSync, readFileSync, statSync } from "node:fs";
import { createRequire } from "node:module";
import path from "node:path";
import AjvDraft04 from "ajv-draft-04";
import addFormats from "ajv-formats";
import { describe, expect, test } from "vitest";
import { duration } from "../../src/ir/format.ts";
import type { LintReport } from "../../src/lint/result.ts";
import { contentsOf, writeExternal, writeInline } from "../fix/models.ts";
import { fixJson, plain } from "./fixing.ts";
import { useWorkbench } from "./workbench.ts";

const require = createRequire(import.meta.url);
const bench = useWorkbench();
const at = (name: string) => path.join(bench.folder.path, name);
const ajv = addFormats.default(new AjvDraft04.default({ strict: false, unicodeRegExp: false }));
const isSarif = ajv.compile(require("@microsoft/jest-sarif/lib/schemas/sarif-2.1.0-rtm.5.json"));

describe("--diff", () => {
  test("carries what would change in every format", async () => {
    writeInline(bench.folder.path);
    const files = ["sarif", "csv", "markdown", "json"].flatMap((format) => ["-f", `${format}=out.${format}`]);
    const { exitCode, stderr } = await bench.tcLint(["--diff", "model.onnx", ...plain, ...files]);
    expect([exitCode, stderr]).toEqual([1, ""]);
    const read = (format: string) => readFileSync(at(`out.${format}`), "utf8");
    const log = JSON.parse(read("sarif"));
    isSarif(log);
    expect(isSarif.errors).toBeNull();
    const texts = log.runs[0].results.map(({ message }: { message: { text: string } }) => message.text);
    expect(texts).toEqual(
      expect.arrayContaining([
        expect.stringMatching(/^predicted .* → /),
        "removed norm (BatchNormalization)",
        expect.stringMatching(/^w2 float32\\\[32,67,3,3\\\] → float32\\\[32,72,3,3\\\]$/),
      ]),
    );
    expect(read("csv").split("\r\n")).toEqual(
      expect.arrayContaining([
        "model,what,change,name,op,before,after,details",
        "model.onnx,node,removed,norm,BatchNormalization,,,",
        'model.onnx,tensor,changed,w2,,"float32[32,67,3,3]","float32[32,72,3,3]",',
      ]),
    );
    expect(read("markdown")).toContain("| removed | `norm` | BatchNormalization |  |");
    expect(read("markdown")).toMatch(/\| `w2` \| float32\\\[32,67,3,3\\\] \| float32\\\[32,72,3,3\\\] \|/);
    expect(JSON.parse(read("json")).fixes[0].diff.nodes.length).toBeGreaterThan(0);
  });

  test("says for people in every format what the file takes as it stores it, before what the target computes", async () => {
    writeInline(bench.folder.path);
    const files = ["markdown", "html", "json"].flatMap((format) => ["-f", `${format}=out.${format}`]);
    // Decided for FP16, unless it is said, and faster in it there: the file is FP32.
    const asked = ["--diff", "model.onnx", "--min-saving", "0", "--stack", "cudnn"];
    await bench.tcLint([...asked, ...files]);
    const read = (format: string) => readFileSync(at(`out.${format}`), "utf8");
    const { stored, microseconds } = JSON.parse(read("json")).fixes[0];
    const timesOf = ({ before, after }: { before: number; after: number }) => [before, after].map(duration);
    const [written, computed] = [timesOf(stored), timesOf(microseconds)];
    const text = await bench.tcLint(asked);
    for (const each of [read("markdown"), read("html"), text.stdout]) {
      const plainText = each.replaceAll(/<[^>]*>|\*\*/g, "");
      const at = plainText.indexOf(written.join(" → "));
      expect(at).toBeGreaterThan(0);
      expect(plainText.indexOf(" as stored", at)).toBeGreaterThan(at);
      expect(plainText.indexOf(`in fp16 ${computed.join(" → ")}`)).toBeGreaterThan(at);
    }
  });

  test.each(["sarif", "csv", "markdown"])("-f %s alone is on stdout, the text on stderr", async (format) => {
    writeInline(bench.folder.path);
    const { exitCode, stdout, stderr } = await bench.tcLint(["--diff", "model.onnx", ...plain, "-f", format]);
    expect(exitCode).toBe(1);
    expect(stdout).toContain("BatchNormalization");
    expect(stdout).not.toContain("not written");
    expect(stderr).toContain("not written");
  });

  test.each(["github", "gitlab", "junit", "checkstyle", "rdjson"])(
    "what is shown at findings is not made of it, which is said: %s",
    async (format) => {
      writeInline(bench.folder.path);
      const { exitCode, stderr } = await bench.tcLint(["--diff", "model.onnx", "-f", format]);
      expect(exitCode).toBe(2);
      expect(stderr).toContain(
        "expected text on stdout, or json, sarif, markdown, csv, html, which have the repairs",
      );
    },
  );

  test("of what cannot be repaired says so in each", async () => {
    writeExternal(bench.folder.path);
    bench.folder.write("broken.onnx", readFileSync(at("model.onnx")).subarray(0, 400));
    const files = ["sarif", "csv", "markdown"].flatMap((format) => ["-f", `${format}=out.${format}`]);
    const { exitCode } = await bench.tcLint(["--diff", "broken.onnx", ...plain, ...files]);
    expect(exitCode).toBe(2);
    const log = JSON.parse(readFileSync(at("out.sarif"), "utf8"));
    isSarif(log);
    expect(isSarif.errors).toBeNull();
    expect(log.runs[0].invocations[0]).toMatchObject({ executionSuccessful: false });
    expect(readFileSync(at("out.markdown"), "utf8")).toContain("**truncated**");
  });
});

test("--fix with a report for CI has in it what is left in the repaired model", async () => {
  writeInline(bench.folder.path);
  const files = ["-f", "gitlab=gl.json", "-f", "junit=junit.xml", "-f", "json=out.json"];
  const { exitCode } = await bench.tcLint([
    "--fix",
    "--no-verify",
    "model.onnx",
    "--min-saving",
    "0",
    ...files,
  ]);
  const left: LintReport = JSON.parse(readFileSync(at("out.json"), "utf8")).lint;
  const issues: { fingerprint: string }[] = JSON.parse(readFileSync(at("gl.json"), "utf8"));
  const findings = left.models.flatMap((model) => model.findings.map(({ fingerprint }) => fingerprint));
  expect(issues.map(({ fingerprint }) => fingerprint).sort()).toEqual([...findings].sort());
  expect(readFileSync(at("junit.xml"), "utf8")).toContain('<testsuite name="model.onnx"');
  expect(exitCode).toBeLessThan(2);
});

describe("a repair in place of a model with external data", () => {
  test("names the new data, and what of the old is none of the model any more", async () => {
    writeExternal(bench.folder.path);
    const old = new Set(readdirSync(bench.folder.path));
    const { report } = await fixJson(bench, "--fix", "model.onnx");
    const [entry] = report.fixes;
    const made = readdirSync(bench.folder.path).filter((name) => !old.has(name));
    expect(entry?.dataFiles.map(({ path: file }) => file)).toEqual(made);
    expect(made).toEqual([expect.stringMatching(/^model\.[0-9a-f]+\.data$/)]);
    expect(entry?.unreferenced).toEqual([
      { path: "model.weights", bytes: statSync(at("model.weights")).size, isWhole: true },
    ]);
  });

  test("says so in its text", async () => {
    writeExternal(bench.folder.path);
    const { stdout } = await bench.tcLint(["--fix", "model.onnx", ...plain]);
    expect(stdout).toMatch(/written to model\.\w+\.data \(.* kB\), a new file that belongs to model\.onnx\n/);
    expect(stdout).toContain("  model.weights: nothing in model.onnx refers to it any more\n");
  });

  test("elsewhere leaves nothing unreferenced, and what did not change is counted by its bytes", async () => {
    writeExternal(bench.folder.path);
    const before = contentsOf(bench.folder.path);
    const { report } = await fixJson(bench, "--fix-output", "fixed.onnx", "model.onnx");
    expect(report.fixes[0]?.unreferenced).toEqual([]);
    for (const [name, content] of before) expect(readFileSync(at(name), "latin1") === content).toBe(true);
  });
});
