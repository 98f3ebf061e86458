/** What docs/conventions.md says of the command line and no other test does. */
import { readFileSync, statSync } from "node:fs";
import path from "node:path";
import { expect, test } from "vitest";
import { rules } from "../../rules/index.ts";
import { lintFormatNames } from "../../src/report/registry.ts";
import { readXml } from "../report/xml-reader.ts";
import { bytesOf, cleanModel, headModel, lfsPointer } from "./models.ts";
import { onlyHead, useWorkbench } from "./workbench.ts";

const bench = useWorkbench();
const textOf = (name: string) => readFileSync(path.join(bench.folder.path, name), "utf8");
const codeOf = async (...args: readonly string[]) => (await bench.tcLint(args)).exitCode;

test("1: exit codes", async () => {
  bench.folder.write("clean.onnx", bytesOf(cleanModel()));
  bench.folder.write("head.onnx", bytesOf(headModel()));
  bench.folder.write("broken.onnx", "no model");
  bench.folder.write("pointer.onnx", lfsPointer);
  bench.folder.write("bad.json", "{");
  const warning = ["--error-share", "100%", ...onlyHead];
  expect(await codeOf("clean.onnx")).toBe(0);
  expect(await codeOf("head.onnx", ...onlyHead)).toBe(1);
  expect(await codeOf("head.onnx", ...warning)).toBe(0);
  expect(await codeOf("head.onnx", ...warning, "--max-warnings", "1")).toBe(0);
  expect(await codeOf("head.onnx", ...warning, "--max-warnings", "0")).toBe(1);
  expect(await codeOf("head.onnx", "--exit-zero")).toBe(0);
  for (const args of [
    ["head.onnx", "broken.onnx"],
    ["head.onnx", "broken.onnx", "--exit-zero"],
    ["pointer.onnx"],
    ["nowhere.onnx"],
    ["head.onnx", "--no-such-flag"],
    ["head.onnx", "--config", "bad.json"],
  ])
    expect(await codeOf(...args), args.join(" ")).toBe(2);
});

test("3: a fix of what is right already", async () => {
  const file = bench.folder.write("clean.onnx", bytesOf(cleanModel()));
  const before = readFileSync(file);
  const { mtimeMs, ino } = statSync(file);
  expect(await codeOf("clean.onnx", "--fix", "--no-verify", "--exit-non-zero-on-fix")).toBe(0);
  expect(readFileSync(file).equals(before)).toBe(true);
  expect(statSync(file)).toMatchObject({ mtimeMs, ino });
});

const conventional = [
  ...["text", "json", "sarif", "github", "gitlab", "junit", "checkstyle", "rdjson"],
  ...["markdown", "html", "agent", "blob"],
];

test("5: every format, in one run", async () => {
  bench.folder.write("head.onnx", bytesOf(headModel()));
  expect([...lintFormatNames, "blob"]).toEqual(expect.arrayContaining(conventional));
  const { exitCode, stdout } = await bench.tcLint([
    "head.onnx",
    ...conventional.flatMap((format) => ["-f", `${format}=out.${format}`]),
  ]);
  expect({ exitCode, stdout }).toEqual({ exitCode: 1, stdout: "" });
  for (const format of conventional) expect(textOf(`out.${format}`), format).toContain("TC102");
  expect(textOf("out.agent")).toMatch(
    /^head\.onnx: error TC102 misaligned-gemm \/lm_head\/MatMul \(MatMul\): .*\. Saves .*\. Fix: --fix\. At: lm_head\.$/m,
  );
  expect(textOf("out.agent")).toMatch(
    /^1 error, \d warnings?, \d infos? in 1 model; \d fixable with --fix$/m,
  );
});

test("6: stdout is the report alone", async () => {
  for (const name of ["a", "b"]) bench.folder.write(`${name}.onnx`, bytesOf(headModel({ rows: "batch" })));
  bench.folder.write(".c.onnx", bytesOf(cleanModel()));
  bench.folder.write(".tc-lintrc.json", "{}");
  const { stdout, stderr } = await bench.tcLint([".", "--max-warnings", "0", "--exit-zero", "-f", "json"]);
  expect(stderr).toContain(".c.onnx: ignored by Git, or hidden");
  expect(stderr).toContain(".tc-lintrc.json");
  expect(JSON.parse(stdout).models).toHaveLength(2);
});

test("8: an unknown rule", async () => {
  bench.folder.write("clean.onnx", bytesOf(cleanModel()));
  bench.folder.write("tc-lint.config.json", JSON.stringify({ rules: { "misaligned-gem": "off" } }));
  const { exitCode, stderr } = await bench.tcLint(["clean.onnx"]);
  expect({ exitCode, stderr }).toEqual({ exitCode: 2, stderr: expect.stringContaining("misaligned-gemm") });
});

test("9: codes and names", () => {
  for (const { code, name } of rules) {
    expect(code).toMatch(/^TC\d{3}$/);
    expect(name).toMatch(/^[a-z0-9]+(-[a-z0-9]+)*$/);
  }
  expect(new Set(rules.map(({ code }) => code)).size).toBe(rules.length);
});

test("11: one fingerprint in every format", async () => {
  bench.folder.write("head.onnx", bytesOf(headModel()));
  const formats = ["json", "sarif", "gitlab", "blob"];
  await bench.tcLint(["head.onnx", ...onlyHead, ...formats.flatMap((each) => ["-f", `${each}=out.${each}`])]);
  const [finding] = JSON.parse(textOf("out.json")).models[0].findings;
  expect(finding.fingerprint).toMatch(/^[0-9a-f]{32}$/);
  for (const format of formats) expect(textOf(`out.${format}`), format).toContain(finding.fingerprint);
});

const broken: readonly (readonly [what: string, content: string | Uint8Array | undefined, code: string])[] = [
  ["a pointer", lfsPointer, "lfs-pointer"],
  ["a model that is not there", undefined, "not-found"],
  ["an empty file", "", "empty"],
  ["a file of another kind", "no model at all, but text", ""],
  ["a model that was cut", bytesOf(headModel()).subarray(0, 100), ""],
];
/** CSV is the table of layers: of what cannot be read there are none. */
const told = lintFormatNames.filter((format) => format !== "csv");

test.each(broken)("15: %s is clean in no format", async (_, content, code) => {
  if (content !== undefined) bench.folder.write("bad.onnx", content);
  const { exitCode, stdout } = await bench.tcLint([
    ...["bad.onnx", "--exit-zero"],
    ...told.flatMap((format) => ["-f", `${format}=out.${format}`]),
  ]);
  expect({ exitCode, stdout }).toEqual({ exitCode: 2, stdout: "" });
  for (const format of told) {
    expect(textOf(`out.${format}`), format).toContain(code);
    expect(textOf(`out.${format}`), format).not.toMatch(/no findings/i);
  }
  const [{ error }] = JSON.parse(textOf("out.json")).models;
  expect(error).not.toBeNull();
  const [run] = JSON.parse(textOf("out.sarif")).runs;
  expect(run.invocations[0].executionSuccessful).toBe(false);
  expect(JSON.parse(textOf("out.gitlab"))[0].severity).toBe("blocker");
  expect(JSON.stringify(readXml(textOf("out.junit")))).toContain("error");
  expect(textOf("out.github")).toMatch(/^::error /m);
});

test("15: what takes too long, and what matches nothing", async () => {
  bench.folder.write("head.onnx", bytesOf(headModel()));
  const { exitCode, stdout } = await bench.tcLint(["head.onnx", "--timeout", "0.001", "-f", "agent"]);
  expect(exitCode).toBe(2);
  expect(stdout).toContain("head.onnx: failed timeout:");
  expect(await codeOf("nothing/**/*.onnx")).toBe(2);
});
