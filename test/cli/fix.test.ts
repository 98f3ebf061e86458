import { spawnSync } from "node:child_process";
import {
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { createRequire } from "node:module";
import path from "node:path";
import { describe, expect, it } from "vitest";
import { passNames } from "../../src/passes/pass.ts";
import { contentsOf, writeExternal, writeInline } from "../fix/models.ts";
import { fixJson, fixSchema, plain, validate } from "./fixing.ts";
import { lfsPointer } from "./models.ts";
import { useWorkbench } from "./workbench.ts";

const require = createRequire(import.meta.url);
const bench = useWorkbench();

describe("tc-lint --fix", () => {
  it("repairs, says what was done and proven, then reports what remains", async () => {
    writeExternal(bench.folder.path);
    const { exitCode, stdout, stderr } = await bench.tcLint(["--fix", "model.onnx", ...plain]);
    expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: "" });
    expect(stdout).toMatch(
      /^model\.onnx\n {2}predicted [\d.]+ µs → [\d.]+ µs \(\d+ % less\)(?: as stored; in fp16 [\d.]+ µs → [\d.]+ µs)?\n {2}as exported [\s\S]*\n {2}safe fixes [^\n]*--fix --select TC101 --min-saving 0%\n {2}nodes: /,
    );
    expect(stdout).toMatch(/ {2}fold {2}.*\n {2}align {2}padded 67 to 72 in 2 products, saves /);
    expect(stdout).toMatch(
      / {2}verified: with ONNX Runtime \S+ on the CPU on \d input sets, within 0\.00005 of/,
    );
    expect(stdout).toMatch(/ {2}written to model\.onnx \(\d+ bytes\)\n/);
    expect(stdout).toMatch(/no findings in 1 model\n$/);
    const again = await bench.tcLint(["--fix", "model.onnx", ...plain, "--exit-non-zero-on-fix"]);
    expect(again.exitCode).toBe(0);
    expect(again.stdout).toContain("nothing to fix");
  });

  it("--fix-only leaves out the report, --exit-non-zero-on-fix says so by the exit code", async () => {
    writeInline(bench.folder.path);
    const first = await bench.tcLint(["--fix-only", "--exit-non-zero-on-fix", "model.onnx", ...plain]);
    expect(first.exitCode).toBe(1);
    expect(first.stdout).not.toContain("in 1 model");
    const second = await bench.tcLint(["--fix-only", "--exit-non-zero-on-fix", "model.onnx", ...plain]);
    expect(second).toMatchObject({ exitCode: 0, stdout: expect.stringContaining("nothing to fix") });
  });

  it("--diff writes nothing, lists what would change, and exits with 1", async () => {
    writeExternal(bench.folder.path);
    const before = contentsOf(bench.folder.path);
    const { exitCode, stdout, stderr } = await bench.tcLint(["--diff", "model.onnx", ...plain]);
    expect({ exitCode, stderr }).toEqual({ exitCode: 1, stderr: "" });
    expect(stdout).toMatch(/~ w2 float32\[32,67,3,3\] → float32\[32,72,3,3\]/);
    expect(stdout).toMatch(/− norm \(BatchNormalization\)/);
    expect(stdout).toContain("not written");
    expect(contentsOf(bench.folder.path)).toEqual(before);
    await bench.tcLint(["--fix-only", "model.onnx", ...plain]);
    expect(await bench.tcLint(["--diff", "model.onnx", ...plain])).toMatchObject({ exitCode: 0 });
  });

  it("--fix-output leaves the original as it is, and reports on the result", async () => {
    writeExternal(bench.folder.path);
    const before = contentsOf(bench.folder.path);
    const { exitCode, report } = await fixJson(bench, "--fix-output", "fixed.onnx", "model.onnx");
    expect(exitCode).toBe(0);
    expect(report.fixes).toMatchObject([{ path: "model.onnx", destination: "fixed.onnx", written: true }]);
    expect(report.lint?.models).toMatchObject([{ path: "fixed.onnx" }]);
    for (const [name, content] of before) {
      expect(readFileSync(path.join(bench.folder.path, name), "latin1") === content).toBe(true);
    }
  });

  it("--no-verify says so, in the report and in the model", async () => {
    writeInline(bench.folder.path);
    const { report } = await fixJson(bench, "--fix-only", "--no-verify", "model.onnx");
    expect(report.fixes).toMatchObject([{ proof: { kind: "unverified", summary: "--no-verify" } }]);
    expect(readFileSync(path.join(bench.folder.path, "model.onnx"), "latin1")).toContain(
      "fold, align; unverified",
    );
  });

  it("signs with the version that verified", async () => {
    writeInline(bench.folder.path);
    const { report } = await fixJson(bench, "--fix-only", "model.onnx");
    const [, version] = /ONNX Runtime (\S+)/.exec(report.fixes[0]?.proof?.summary ?? "") ?? [];
    expect(readFileSync(path.join(bench.folder.path, "model.onnx"), "latin1")).toContain(
      `fold, align; verified with ONNX Runtime ${version}`,
    );
  });

  it("repairs each of several models on its own, and exits with 2 where one cannot be", async () => {
    mkdirSync(path.join(bench.folder.path, "a"));
    mkdirSync(path.join(bench.folder.path, "b"));
    writeInline(path.join(bench.folder.path, "a"));
    writeExternal(path.join(bench.folder.path, "b"));
    rmSync(path.join(bench.folder.path, "b", "model.weights"));
    const before = contentsOf(path.join(bench.folder.path, "b"));
    const { exitCode, stderr, report } = await fixJson(bench, "--fix", ".");
    expect(exitCode).toBe(2);
    expect(stderr).toMatch(
      /^tc-lint: b\/model\.onnx: its weights are in "model\.weights", which is not there/,
    );
    expect(report.fixes).toMatchObject([
      { path: "a/model.onnx", written: true, error: null },
      { path: "b/model.onnx", written: false, error: { code: "weights-missing" } },
    ]);
    expect(report.lint?.models).toHaveLength(1);
    expect(contentsOf(path.join(bench.folder.path, "b"))).toEqual(before);
  });

  it("names a Git LFS pointer, and passes it over where asked to", async () => {
    bench.folder.write("model.onnx", lfsPointer);
    const { exitCode, stderr } = await bench.tcLint(["--fix", "model.onnx"]);
    expect(exitCode).toBe(2);
    expect(stderr).toMatch(/is a Git LFS pointer .* run: git lfs pull/);
    const skipped = await bench.tcLint(["--fix", "model.onnx", "--lfs-pointers", "skip"]);
    expect(skipped.exitCode).toBe(0);
    expect(readFileSync(path.join(bench.folder.path, "model.onnx"), "utf8")).toBe(lfsPointer);
  });

  it("keeps what programs read apart: JSON in a file, SARIF on stdout", async () => {
    writeInline(bench.folder.path);
    const run = await bench.tcLint(["--fix", "model.onnx", ...plain, "-f", "sarif", "-f", "json=fix.json"]);
    expect(JSON.parse(run.stdout)).toMatchObject({ version: "2.1.0" });
    expect(run.stderr).toMatch(/^model\.onnx\n {2}predicted/);
    const report = JSON.parse(readFileSync(path.join(bench.folder.path, "fix.json"), "utf8"));
    expect(validate(report)).toBe(true);
    expect(report.fixes).toMatchObject([{ changed: true }]);
  });

  it.each([
    [["--layout", "nhwc", "model.onnx"], /--layout: says nothing without --fix or --diff/],
    [["--diff", "--half-io", "model.onnx"], /--half-io: says nothing without half precision/],
    [["--diff", "--target", "ort-cuda", "model.onnx"], /--target: says nothing without --layout nhwc/],
    [
      ["--diff", "--target", "portable", "--precision", "fp16", "model.onnx"],
      /--target: says nothing without --layout/,
    ],
    [["--samples", "x.npz", "model.onnx"], /--samples: says nothing without --fix or --diff/],
    [["--fix", "--samples", "x.npz", "model.onnx"], /--samples: says nothing without half precision/],
    [["--fix-output", "a", "--fix-output", "b", "model.onnx"], /--fix-output: given more than once/],
    [["--fix-output", "no/c.onnx", "model.onnx"], /no\/c\.onnx: its folder is not there; make it first/],
    [["--diff", "--fix-output", "no/c.onnx", "model.onnx"], /no\/c\.onnx: its folder is not there/],
    [["--fix-output", "c.onnx", "model.onnx", "other.onnx"], /--fix-output: takes one model, found 2/],
    [["--fix", "--precision", "fp16", "--samples", "none", "model.onnx"], /--samples: none: no such file/],
    [["--fix", "--precision", "fp16", "--samples", ".", "model.onnx"], /holds no \.npz file/],
  ])("exits with 2 and says why: %j", async (args, message) => {
    writeInline(bench.folder.path);
    writeFileSync(
      path.join(bench.folder.path, "other.onnx"),
      readFileSync(path.join(bench.folder.path, "model.onnx")),
    );
    const before = contentsOf(bench.folder.path);
    const { exitCode, stderr } = await bench.tcLint(args);
    expect(exitCode).toBe(2);
    expect(stderr).toMatch(message);
    expect(contentsOf(bench.folder.path)).toEqual(before);
  });
});

it("without ONNX Runtime nothing is put in place, and the command that installs it is named", async () => {
  const elsewhere = path.join(bench.folder.path, "elsewhere");
  const packages = path.join(elsewhere, "node_modules");
  mkdirSync(packages, { recursive: true });
  cpSync(path.dirname(path.dirname(bench.script)), path.join(elsewhere, "dist"), { recursive: true });
  for (const name of ["protobufjs", "onnx-proto"]) {
    symlinkSync(path.dirname(require.resolve(`${name}/package.json`)), path.join(packages, name));
  }
  writeFileSync(path.join(elsewhere, "package.json"), '{"type":"module"}');
  const file = writeInline(bench.folder.path);
  const before = readFileSync(file);
  const fix = (...args: string[]) =>
    spawnSync(process.execPath, [path.join(elsewhere, "dist", "bin", "tc-lint.js"), ...args, "model.onnx"], {
      cwd: bench.folder.path,
      encoding: "utf8",
    });
  const refused = fix("--fix-only", ...plain);
  expect(refused.status).toBe(2);
  expect(refused.stderr).toContain("ONNXRUNTIME_NODE_INSTALL=skip npm i onnxruntime-node");
  expect(readFileSync(file).equals(before)).toBe(true);
  expect(readdirSync(bench.folder.path).sort()).toEqual(["elsewhere", "model.onnx"]);
  // Without a comparison it is not needed.
  expect(fix("--fix-only", "--no-verify", ...plain)).toMatchObject({ status: 0, stderr: "" });
  const inHalf = fix("--diff", "--precision", "fp16", ...plain);
  expect(inHalf.stdout).toMatch(/ranges of values: constants alone \(onnxruntime-node is not installed/);
});

describe("the schema of the fix report", () => {
  it("knows every pass", () => {
    expect(fixSchema.definitions.note.properties.pass.enum).toEqual([...passNames]);
  });

  it("notices what is missing or unknown", async () => {
    writeInline(bench.folder.path);
    const { report } = await fixJson(bench, "--diff", "model.onnx");
    expect(report).toMatchObject({ lint: null, fixes: [{ written: false }] });
    const { fixes, ...rest } = report;
    expect(validate(rest)).toBe(false);
    expect(validate({ ...report, fixes: [{ ...fixes[0], more: 1 }] })).toBe(false);
  });

  it("ships", () => {
    expect(existsSync(new URL("../../schemas/fix-report.schema.json", import.meta.url))).toBe(true);
    expect(require("../../package.json").files).toContain("schemas");
  });
});
