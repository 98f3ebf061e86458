/**
 * @file Most tests of the command line run it in a process that stays (test/resident.ts). What it prints there is what a process of its own
 * prints, of every command, and nothing of a run is seen by the next.
 */
import { createHash } from "node:crypto";
import { readdirSync, readFileSync, rmSync, statSync } from "node:fs";
import path from "node:path";
import { describe, expect, test } from "vitest";
import { convolutions } from "../fix/models.ts";
import { modelBytes } from "../onnx/build.ts";
import { bytesOf, headModel } from "./models.ts";
import type { RunOptions } from "./run.ts";
import { useWorkbench } from "./workbench.ts";

const bench = useWorkbench();

type Case = readonly [args: readonly string[], options?: Partial<RunOptions>];

const commands: Readonly<Record<string, readonly Case[]>> = {
  lint: [
    [["head.onnx"]],
    [["head.onnx", "small.onnx", "--verbose", "--color"]],
    [["models", "--jobs", "2", "-f", "json"]],
    [["head.onnx", "-f", "sarif"]],
    [["head.onnx", "-f", "github"], { env: { GITHUB_ACTIONS: "true" } }],
    [["head.onnx"], { env: { FORCE_COLOR: "1" } }],
    [["head.onnx", "--max-warnings", "0"]],
    [["none.onnx"]],
    [["broken.onnx", "-f", "json"]],
    [["--no-such-flag", "head.onnx"]],
    [["../escaping.onnx"], { cwd: "models" }],
  ],
  fix: [[["--diff", "small.onnx"]], [["--fix", "small.onnx", "--fix-output", "fixed.onnx", "-f", "json"]]],
  compare: [[["compare", "small.onnx", "head.onnx"]], [["compare", "small.onnx", "none.onnx"]]],
  predict: [[["predict"]]],
  explain: [[["explain", "TC102"]], [["explain", "TC999"]], [["explain", "-f", "json"]]],
  "explain-match": [[["explain-match", "acme/none", "node", "head.onnx"]]],
  "print-config": [[["print-config", "head.onnx"]]],
  verify: [[["verify", "small.onnx", "small.onnx"]], [["verify", "small.onnx", "none.onnx"]]],
  validate: [[["validate", "small.onnx"]]],
  bench: [[["bench", "--plan", "small.onnx"]], [["bench", "none.onnx"]]],
  doctor: [[["doctor"]]],
  calibrate: [[["calibrate", "--device", "none"]]],
  gpus: [[["gpus"]], [["gpus", "-f", "json"]]],
  init: [[["init"]], [["init"]], [["init", "--force", "--gpu", "l4"]]],
  completion: [
    [["completion"]],
    [["--get-yargs-completions", "tc-lint", "--gp"], { env: { SHELL: "bash" } }],
  ],
  "merge-reports": [
    [["head.onnx", "--shard", "1/1", "-f", "blob=all.blob"]],
    [["merge-reports", "all.blob"]],
  ],
};

/** A project of its own, so that what a run writes is not there for another. */
function project(name: string): string {
  const write = (file: string, bytes: string | Uint8Array) => bench.folder.write(`${name}/${file}`, bytes);
  write("package.json", "{}");
  write("head.onnx", bytesOf(headModel()));
  write("models/a.onnx", bytesOf(headModel({ n: 50264 })));
  write("models/b.onnx", bytesOf(headModel({ k: 1001 })));
  write("broken.onnx", "no model");
  write("small.onnx", modelBytes(convolutions(40)));
  return path.join(bench.folder.path, name);
}

/** One after the other, with the files that are there in the end. */
async function outcomesOf(cases: readonly Case[], name: string, inOwnProcess: boolean) {
  const folder = project(name);
  const runs: unknown[] = [];
  for (const [args, { cwd = ".", ...options } = {}] of cases) {
    const run = await bench.tcLint(args, { ...options, cwd: path.join(folder, cwd), inOwnProcess });
    runs.push({ args, ...run });
  }
  const files = readdirSync(folder, { recursive: true, encoding: "utf8" }).sort();
  const contents = files
    .filter((file) => statSync(path.join(folder, file)).isFile())
    .map((file) => [
      file,
      createHash("sha256")
        .update(readFileSync(path.join(folder, file)))
        .digest("hex"),
    ]);
  const seconds = /on the CPU, [\d.]+ s/g;
  return JSON.stringify({ runs, contents }, undefined, 2)
    .replaceAll(folder, "/project")
    .replace(seconds, "on the CPU, … s");
}

describe("what a process that stays prints", () => {
  test("is held against a process's of every command", () => {
    const sources = new URL("../../src/cli/commands/", import.meta.url);
    const all = readdirSync(sources).map((file) => path.basename(file, ".ts"));
    expect(Object.keys(commands).sort()).toEqual(all.sort());
  });

  test.each(Object.entries(commands))("%s: is what a process of its own prints", async (_, cases) => {
    const own = await outcomesOf(cases, "own", true);
    expect(await outcomesOf(cases, "first", false)).toEqual(own);
    expect(await outcomesOf(cases, "again", false)).toEqual(own);
  });
});

describe("a run knows nothing of the one before", () => {
  test("of its failure, its folder and its environment", async () => {
    const folder = project("here");
    const first = await bench.tcLint(["gpus"]);
    expect((await bench.tcLint(["none.onnx"], { env: { FORCE_COLOR: "1" } })).exitCode).toBe(2);
    expect((await bench.tcLint(["head.onnx"], { cwd: folder })).exitCode).toBe(1);
    expect((await bench.tcLint(["head.onnx"])).exitCode).toBe(2);
    expect(await bench.tcLint(["gpus"])).toEqual(first);
  });

  test("of code of a project, which is read anew", async () => {
    const folder = project("here");
    const config = (rule: string) =>
      bench.folder.write(
        "here/tc-lint.config.mjs",
        `globalThis.runs = (globalThis.runs ?? 0) + 1;
         export default { rules: { [globalThis.runs === 1 ? "${rule}" : "none"]: "off" } };`,
      );
    for (const rule of ["TC101", "TC102", "TC103"]) {
      config(rule);
      const { exitCode, stdout } = await bench.tcLint(["print-config", "head.onnx"], { cwd: folder });
      expect([exitCode, stdout]).toEqual([0, expect.stringContaining(rule)]);
    }
  });

  test("code of a project that ends the process ends the run alone", async () => {
    const folder = project("here");
    const config = bench.folder.write("here/tc-lint.config.mjs", "process.exit(0)");
    const run = await bench.tcLint(["head.onnx"], { cwd: folder });
    expect(run).toEqual(await bench.tcLint(["head.onnx"], { cwd: folder, inOwnProcess: true }));
    expect(run).toMatchObject({ exitCode: 2, stderr: expect.stringContaining("the run ended before") });
    rmSync(config);
    expect((await bench.tcLint(["head.onnx"], { cwd: folder })).exitCode).toBe(1);
  });
});
