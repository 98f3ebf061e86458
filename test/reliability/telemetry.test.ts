/** @file ONNX Runtime reports its use to Microsoft unless told not to: tc-lint promises that there is no network. */
import { spawnSync } from "node:child_process";
import { mkdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { expect, it } from "vitest";
import { useWorkbench } from "../cli/workbench.ts";
import { writeInline } from "../fix/models.ts";
import { treeOf } from "./tree.ts";

const bench = useWorkbench();
const hasStrace = spawnSync("strace", ["-V"]).status === 0;
if (!hasStrace) console.warn("skipped: no `strace` here, so sockets are not looked for");

/** With a home, a cache and a folder for temporary files that nobody else writes to. */
function environment(): NodeJS.ProcessEnv {
  const at = (name: string) => path.join(bench.folder.path, "home", name);
  mkdirSync(at("tmp"), { recursive: true });
  return { PATH: process.env["PATH"], HOME: at("."), XDG_CACHE_HOME: at("cache"), TMPDIR: at("tmp") };
}

it("running models leaves no identifier, log or database of a telemetry", () => {
  writeInline(bench.folder.path);
  const { status } = spawnSync(process.execPath, [bench.script, "verify", "model.onnx", "model.onnx"], {
    cwd: bench.folder.path,
    env: environment(),
  });
  expect(status).toBe(0);
  expect([...treeOf(path.join(bench.folder.path, "home")).keys()]).toEqual([]);
});

it.skipIf(!hasStrace)("running models opens no socket to anywhere", () => {
  writeInline(bench.folder.path);
  const trace = path.join(bench.folder.path, "trace");
  const command = [process.execPath, bench.script, "verify", "model.onnx", "model.onnx"];
  spawnSync("strace", ["-f", "-e", "trace=connect,sendto,bind", "-o", trace, ...command], {
    cwd: bench.folder.path,
    env: environment(),
  });
  const calls = readFileSync(trace, "utf8");
  expect(calls).toContain("exited with 0");
  expect(calls).not.toMatch(/AF_INET/);
});
