/** @file Compiled code that runs keep for each other: used where it is whole and the user's own, and never in the way. */
import { spawnSync } from "node:child_process";
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import * as nodeModule from "node:module";
import path from "node:path";
import { beforeEach, describe, expect, test } from "vitest";
import { bytesOf, headModel } from "./models.ts";
import { useWorkbench } from "./workbench.ts";

const bench = useWorkbench();
const isNodesOwn = "enableCompileCache" in nodeModule;
const isRoot = process.getuid?.() === 0;

/** A run whose user keeps caches in the workbench. */
function run(args: readonly string[], variables: NodeJS.ProcessEnv = {}) {
  const { NODE_COMPILE_CACHE: _, NODE_DISABLE_COMPILE_CACHE: __, ...inherited } = process.env;
  const env = { ...inherited, XDG_CACHE_HOME: path.join(bench.folder.path, "cache"), ...variables };
  const { status, stdout, stderr } = spawnSync(process.execPath, [bench.script, ...args], {
    cwd: bench.folder.path,
    encoding: "utf8",
    env,
  });
  return { status, stdout, stderr };
}

function kept(): readonly string[] {
  const folder = path.join(bench.folder.path, "cache", "tc-lint", "code");
  return existsSync(folder) ? readdirSync(folder).map((name) => path.join(folder, name)) : [];
}

function theOne(): string {
  const [file, ...others] = kept();
  expect(others).toEqual([]);
  if (file === undefined) throw new Error("no code was kept");
  return file;
}

describe.skipIf(isNodesOwn)("code kept between runs", () => {
  beforeEach(() => {
    bench.folder.write("a.onnx", bytesOf(headModel()));
    bench.folder.write("b.onnx", bytesOf(headModel()));
  });

  test("is the user's alone, read by the next run, and written once", () => {
    const first = run(["a.onnx"]);
    const file = theOne();
    expect([statSync(file).mode & 0o777, statSync(path.dirname(file)).mode & 0o777]).toEqual([0o600, 0o700]);
    const before = statSync(file).mtimeMs;
    expect(run(["a.onnx"])).toEqual(first);
    expect(statSync(theOne()).mtimeMs).toBe(before);
  });

  test("grows by what a later run compiles beyond it, and is left alone by the next such run", () => {
    run(["a.onnx"]);
    const small = statSync(theOne()).size;
    const large = ["-f", "html", path.resolve("fixtures/zoo/seg_unet.onnx")];
    run(large);
    const { size, mtimeMs } = statSync(theOne());
    expect(size).toBeGreaterThan(1.05 * small);
    run(large);
    expect(statSync(theOne()).mtimeMs).toBe(mtimeMs);
  });

  test("that is older is grown by some run that needs more, if not by the first", () => {
    run(["a.onnx"]);
    const small = statSync(theOne()).size;
    const hourAgo = Date.now() / 1000 - 3600;
    utimesSync(theOne(), hourAgo, hourAgo);
    const large = ["-f", "html", path.resolve("fixtures/zoo/seg_unet.onnx")];
    // Of 100 runs none asks once in 600,000 times.
    for (let turn = 0; turn < 100 && statSync(theOne()).size === small; turn++) run(large);
    expect(statSync(theOne()).size).toBeGreaterThan(1.05 * small);
  });

  test("is kept by threads too, and by no run that linted nothing", () => {
    expect(run(["--help"]).status).toBe(0);
    expect(run(["absent.onnx"]).status).toBe(2);
    expect(kept()).toEqual([]);
    const first = run(["a.onnx", "b.onnx", "-j", "2"]);
    const { size } = statSync(theOne());
    expect(run(["a.onnx", "b.onnx", "-j", "2"])).toEqual(first);
    expect(statSync(theOne()).size).toBe(size);
    // What prints is not compiled in threads.
    run(["a.onnx"]);
    expect(statSync(theOne()).size).toBeGreaterThan(size);
  });

  test("is kept whole by runs and threads that end at the same moment", () => {
    const names = Array.from({ length: 8 }, (_, index) => `same-${index}.onnx`);
    for (const name of names) bench.folder.write(name, bytesOf(headModel()));
    for (let turn = 0; turn < 3; turn++) {
      rmSync(path.join(bench.folder.path, "cache"), { recursive: true, force: true });
      run([...names, "-j", "8"]);
      const before = statSync(theOne()).mtimeMs;
      run([...names, "-j", "8"]);
      expect(statSync(theOne()).mtimeMs).toBe(before);
    }
  });

  test("lets a configuration and a plugin that are code be imported", () => {
    bench.folder.write("package.json", "{}");
    bench.folder.write("tc-lint.config.mjs", 'export default { gpu: "a100" };');
    for (let turn = 0; turn < 2; turn++) expect(run(["a.onnx"]).stdout).toContain("A100");
  });

  test.each([
    ["damaged in its middle", (file: string) => flip(file, 0.5)],
    ["damaged at its end", (file: string) => flip(file, 1)],
    ["cut off", (file: string) => truncateSync(file, 1000)],
    ["empty", (file: string) => truncateSync(file, 0)],
    ["of no code at all", (file: string) => writeFileSync(file, "no code")],
  ] as const)("is written anew where it is %s", (_, spoil) => {
    const first = run(["a.onnx"]);
    const file = theOne();
    const whole = statSync(file).size;
    spoil(file);
    expect(run(["a.onnx"])).toEqual(first);
    expect(statSync(theOne()).size).toBeGreaterThan(whole / 2);
    expect(run(["a.onnx"])).toEqual(first);
  });

  test("is not followed where a link stands in its place", () => {
    const first = run(["a.onnx"]);
    const file = theOne();
    const elsewhere = path.join(bench.folder.path, "elsewhere");
    renameSync(file, elsewhere);
    const bytes = readFileSync(elsewhere);
    symlinkSync(elsewhere, file);
    expect(run(["a.onnx"])).toEqual(first);
    expect(readFileSync(elsewhere).equals(bytes)).toBe(true);
    expect(statSync(theOne()).isFile()).toBe(true);
  });

  test("is left out where Node's variable says so, and lies where Node's other one says", () => {
    expect(run(["a.onnx"], { NODE_DISABLE_COMPILE_CACHE: "1" }).status).toBe(1);
    expect(run(["a.onnx"], { NODE_COMPILE_CACHE: "own" }).status).toBe(1);
    expect(kept()).toEqual([]);
    expect(readdirSync(path.join(bench.folder.path, "own", "tc-lint"))).toHaveLength(1);
  });

  test("that cannot be written is no word and no failure", () => {
    const first = run(["a.onnx"], { NODE_DISABLE_COMPILE_CACHE: "1" });
    writeFileSync(path.join(bench.folder.path, "cache"), "a file where the folder would be");
    expect(run(["a.onnx"])).toEqual(first);
  });

  test.skipIf(isRoot)("leaves a folder alone that it may not write to", () => {
    mkdirSync(path.join(bench.folder.path, "cache"));
    chmodSync(path.join(bench.folder.path, "cache"), 0o500);
    expect(run(["a.onnx"]).status).toBe(1);
    expect(kept()).toEqual([]);
  });

  test("is of few versions: the oldest go", () => {
    run(["a.onnx"]);
    const folder = path.dirname(theOne());
    for (let old = 0; old < 6; old++) writeFileSync(path.join(folder, `old-${old}.code`), "");
    flip(theNewest(folder), 0.5);
    run(["a.onnx"]);
    expect(kept()).toHaveLength(4);
  });
});

/** The bits of one byte, at a share of the file. */
function flip(file: string, share: number): void {
  const bytes = readFileSync(file);
  const at = Math.floor(share * (bytes.length - 1));
  bytes[at] = 255 - (bytes[at] ?? 0);
  writeFileSync(file, bytes);
}

function theNewest(folder: string): string {
  const name = readdirSync(folder).find((each) => each.startsWith("program-"));
  if (name === undefined) throw new Error("no code was kept");
  return path.join(folder, name);
}
