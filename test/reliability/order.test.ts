/** @file What a loss of power can leave: a file has its name only once its bytes are on the disk, and the folder follows. */
import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import path from "node:path";
import { describe, expect, it } from "vitest";
import { useWorkbench } from "../cli/workbench.ts";
import { writeExternal } from "../fix/models.ts";

const bench = useWorkbench();
const hasStrace = spawnSync("strace", ["-V"]).status === 0;
if (!hasStrace) console.warn("skipped: no `strace` here, so the order of calls is not looked at");

/** Writes, syncs and renames, in order: `write /folder/file`, `sync …`, `rename from → to`. */
function callsOf(...args: readonly string[]): readonly string[] {
  const trace = path.join(bench.folder.path, "..", `${path.basename(bench.folder.path)}.trace`);
  const calls = "trace=write,pwrite64,writev,pwritev,fsync,fdatasync,rename,renameat,renameat2";
  const tracing = ["-f", "-y", "-s", "0", "-e", calls, "-o", trace];
  const { status } = spawnSync("strace", [...tracing, process.execPath, bench.script, ...args], {
    cwd: bench.folder.path,
    // What a run keeps of tc-lint itself has a checksum instead.
    env: { ...process.env, NODE_DISABLE_COMPILE_CACHE: "1" },
  });
  expect([0, 1]).toContain(status);
  return readFileSync(trace, "utf8").split("\n").flatMap(callOf);
}

function callOf(line: string): readonly string[] {
  const [, name = "", rest = ""] = /^\d+ +(\w+)\((.*)/.exec(line) ?? [];
  const [, file] = /^\d+<([^>]*)>/.exec(rest) ?? [];
  if (name.startsWith("rename"))
    return [`rename ${[...rest.matchAll(/"([^"]*)"/g)].map((each) => each[1]).join(" → ")}`];
  if (file === undefined) return [];
  return [`${name.includes("sync") ? "sync" : "write"} ${file}`];
}

/** Files that were renamed without a sync since they were last written to. */
function unsynced(calls: readonly string[]): readonly string[] {
  return calls.filter((call, index) => {
    const [, from = ""] = /^rename (.*) → /.exec(call) ?? [];
    if (from === "") return false;
    const before = calls.slice(0, index).filter((each) => each.endsWith(path.basename(from)));
    return !before.at(-1)?.startsWith("sync");
  });
}

describe.skipIf(!hasStrace)("a file is synced before it is renamed into place", () => {
  it("by a fix: the model, its data, and the folder after both", () => {
    writeExternal(bench.folder.path);
    const calls = callsOf("--fix-only", "--no-verify", "--min-saving", "0", "model.onnx");
    const renames = calls.filter((call) => call.startsWith("rename"));
    expect(renames).toEqual([expect.stringMatching(/\.data$/), expect.stringMatching(/model\.onnx$/)]);
    expect(unsynced(calls)).toEqual([]);
    for (const rename of renames) expect(calls[calls.indexOf(rename) + 1]).toBe(`sync ${bench.folder.path}`);
  });

  it("by a report", () => {
    writeExternal(bench.folder.path);
    const calls = callsOf("model.onnx", "-f", "json=report.json");
    expect(calls.filter((call) => call.startsWith("rename"))).toHaveLength(1);
    expect(unsynced(calls)).toEqual([]);
  });
});
