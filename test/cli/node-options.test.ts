/** Node's own options, as an environment may have them: what they refuse is said in words, and never looks like findings. */
import { spawnSync } from "node:child_process";
import { symlinkSync } from "node:fs";
import path from "node:path";
import { beforeEach, expect, test } from "vitest";
import { bytesOf, headModel } from "./models.ts";
import { useWorkbench } from "./workbench.ts";

const bench = useWorkbench();

function tcLint(script: string, options: string, ...args: string[]) {
  const { PATH = "" } = process.env;
  const env = { PATH, NODE_OPTIONS: options };
  return spawnSync(process.execPath, [script, ...args], { cwd: bench.folder.path, env, encoding: "utf8" });
}

beforeEach(() => {
  bench.folder.write("a.onnx", bytesOf(headModel()));
  bench.folder.write("b.onnx", bytesOf(headModel()));
});

test("started by a link that Node is told to keep, it finds what lies beside its file", () => {
  const link = path.join(bench.folder.path, "tc-lint");
  symlinkSync(bench.script, link);
  const { status, stdout, stderr } = tcLint(
    link,
    "--preserve-symlinks --preserve-symlinks-main",
    "a.onnx",
    "--exit-zero",
  );
  expect([status, stderr]).toEqual([0, ""]);
  expect(stdout).toContain("predicted");
});

const permission = process.allowedNodeEnvironmentFlags.has("--permission")
  ? "--permission"
  : "--experimental-permission";

test.each([
  ["threads", "--allow-fs-read=*", /denies WorkerThreads; --allow-worker allows it/],
  ["files", "--allow-worker", /denies FileSystemRead; --allow-fs-read=PATH allows it/],
])("where %s are denied, it says by what they are allowed, and nothing of a bug", (_, allowed, message) => {
  // Its own files it must read: where it may not, Node says so.
  const read = `--allow-fs-read=${path.resolve(path.dirname(bench.script), "../..")}/*`;
  const options = `${permission} --no-warnings ${allowed} ${allowed.includes("*") ? "" : read}`;
  const { status, stderr } = tcLint(bench.script, options, "a.onnx", "b.onnx", "-j", "2");
  expect(stderr).toMatch(message);
  expect(stderr).not.toMatch(/bug|\n {4}at /);
  expect(status).toBe(2);
});
