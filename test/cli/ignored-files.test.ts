/** @file Which files of a folder are models to lint: not what Git ignores, nor what is hidden; and a set that ends empty says why. */
import { spawnSync } from "node:child_process";
import { mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import path from "node:path";
import { beforeEach, describe, expect, test } from "vitest";
import { findModels } from "../../src/files/find-models.ts";
import { gitPattern } from "../../src/settings/git-pattern.ts";
import { bytesOf, cleanModel } from "./models.ts";
import { useWorkbench } from "./workbench.ts";

const bench = useWorkbench();
const model = bytesOf(cleanModel());
const put = (...names: string[]) => {
  for (const name of names) bench.folder.write(name, model);
};
const at = (...names: string[]) => path.join(bench.folder.path, ...names);

function git(...args: string[]): string {
  const { status, stdout, stderr } = spawnSync("git", ["-C", bench.folder.path, ...args], {
    encoding: "utf8",
  });
  if (status !== 0) throw new Error(stderr);
  return stdout;
}

async function lintedBy(...args: string[]) {
  const { stdout, stderr, exitCode } = await bench.tcLint([...args, "-f", "json"]);
  const paths = exitCode === 2 ? [] : JSON.parse(stdout).models.map((each: { path: string }) => each.path);
  return { paths, stderr, exitCode };
}

describe("of a folder", () => {
  test("hidden files and folders, and what Git ignores, are passed over, which is said", async () => {
    git("init", "-q");
    put(
      "a.onnx",
      ".b.onnx",
      ".cache/c.onnx",
      "out/d.onnx",
      "sub/e.onnx",
      "sub/f.onnx",
      "node_modules/g.onnx",
    );
    bench.folder.write(".gitignore", "out/\n");
    bench.folder.write("sub/.gitignore", "f.*\n");
    const said =
      "tc-lint: .b.onnx, sub/f.onnx: ignored by Git, or hidden: --all-files takes it too, as does naming it\n";
    for (const argument of [".", "**/*.onnx"])
      expect(await lintedBy(argument)).toEqual({
        paths: ["a.onnx", "sub/e.onnx"],
        stderr: said,
        exitCode: 0,
      });
    const all = [".b.onnx", ".cache/c.onnx", "a.onnx", "out/d.onnx", "sub/e.onnx", "sub/f.onnx"];
    expect(await lintedBy(".", "--all-files")).toEqual({ paths: all, stderr: "", exitCode: 0 });
  });

  test("that is named itself the models are linted, and a file that is named always is", async () => {
    git("init", "-q");
    put("out/d.onnx", ".cache/c.onnx", "sub/f.onnx");
    bench.folder.write(".gitignore", "out/\nf.onnx\n");
    const { paths, stderr } = await lintedBy("out", ".cache", "sub/f.onnx", ".cache/*.onnx");
    expect([paths, stderr]).toEqual([["out/d.onnx", ".cache/c.onnx", "sub/f.onnx"], ""]);
  });

  test("of which nothing is left says what was passed over", async () => {
    git("init", "-q");
    put("models/a.onnx", "models/b.onnx");
    bench.folder.write(".gitignore", "*.onnx\n");
    const { stderr, exitCode } = await lintedBy("models");
    expect(exitCode).toBe(2);
    expect(stderr).toContain(
      '"models": no .onnx file there, but for what Git ignores or is hidden (models/a.onnx, models/b.onnx): --all-files takes it too',
    );
    const allowed = await lintedBy("models", "--no-error-on-unmatched-pattern");
    expect([allowed.exitCode, allowed.paths]).toEqual([0, []]);
    expect(allowed.stderr).toContain("models/a.onnx, models/b.onnx: ignored by Git, or hidden");
  });

  test.each([
    ["zzz*.onnx", undefined],
    ["sub/a*.onnx", undefined],
    ["other/**/*.onnx", undefined],
    [".h*.onnx", ".hid.onnx"],
    ["sub/*/a*.onnx", "sub/.hid"],
    ["**/a*.onnx", "sub/.hid"],
    ["{sub,top}/**/*.onnx", "sub/.hid"],
  ])("a pattern that matches nothing (%s) names only what it may stand for", async (pattern, hint) => {
    put("sub/.hid/a.onnx", ".hid.onnx", "b.onnx", "other/c.txt");
    const { stderr, exitCode } = await lintedBy(pattern, "b.onnx");
    expect(exitCode).toBe(2);
    expect(stderr).toContain(`"${pattern}": no .onnx file there`);
    const hidden = /is hidden \((.*?)\)/.exec(stderr)?.[1];
    if (hint === undefined) expect(hidden).toBeUndefined();
    else expect(hidden).toContain(hint);
  });

  test("outside of a repository no .gitignore holds", async () => {
    put("a.onnx");
    bench.folder.write(".gitignore", "*.onnx\n");
    expect((await lintedBy(".")).paths).toEqual(["a.onnx"]);
  });

  test("a list that is a link, a pipe or endless is not read, and a repository within has its own", async () => {
    git("init", "-q");
    put("a/x.onnx", "b/x.onnx", "c/x.onnx", "inner/x.onnx", "inner/y.onnx");
    bench.folder.write("list", "x.onnx\n");
    symlinkSync("../list", at("a/.gitignore"));
    spawnSync("mkfifo", [at("b/.gitignore")]);
    bench.folder.write("c/.gitignore", "x.onnx\n".repeat(1001));
    bench.folder.write(".gitignore", "inner/x.onnx\n");
    mkdirSync(at("inner/.git"));
    bench.folder.write("inner/.gitignore", "y.onnx\n");
    const { paths, stderr } = await lintedBy(".");
    expect(paths).toEqual(["a/x.onnx", "b/x.onnx", "c/x.onnx", "inner/x.onnx"]);
    expect(stderr).toContain("c/.gitignore: not used: has 1001 patterns, expected at most 1000");
  });
});

/** Whatever Git says of each file. */
const lists: readonly (readonly string[])[] = [
  ["*.onnx"],
  ["/a.onnx"],
  ["a.onnx"],
  ["sub/"],
  ["sub"],
  ["/sub/deep"],
  ["sub/deep/"],
  ["sub/*"],
  ["sub/**"],
  ["**/deep"],
  ["sub/**/a.onnx"],
  ["sub/*.onnx"],
  ["*", "!sub", "!sub/a.onnx"],
  ["*.onnx", "!b.onnx"],
  ["!b.onnx", "*.onnx"],
  ["# a.onnx", "\\#c.onnx", "\\!d.onnx"],
  ["[ab].onnx"],
  ["[!a].onnx"],
  ["{a,b}.onnx"],
  ["a.onnx   ", "b.onnx\\ "],
  ["?.onnx"],
  ["A.onnx"],
  ["a.onnx/"],
  ["./a.onnx"],
  ["su?/a.onnx"],
  ["deep/a.onnx"],
  ["/"],
  ["a.onnx\r"],
  ["\\a.onnx"],
  ["[a.onnx"],
  ["sub/deep/**", "!sub/deep/b.onnx"],
];

describe("patterns mean what they mean to Git:", () => {
  beforeEach(() => {
    git("init", "-q");
    for (const folder of ["", "sub/", "sub/deep/", "other/deep/", "{a,b}/"])
      for (const name of ["a", "b", "#c", "!d", "{a,b}", "b "]) {
        mkdirSync(at(folder), { recursive: true });
        writeFileSync(at(folder, `${name}.onnx`.replace("b .onnx", "b.onnx ")), "");
      }
  });

  test.each(lists)("%j", (...lines) => {
    writeFileSync(at(".gitignore"), `${lines.join("\n")}\n`);
    const files = git("ls-files", "-z", "--others", "--exclude-standard").split("\0");
    const expected = files.filter((file) => file.endsWith(".onnx")).sort();
    const { models } = findModels([at()], { allFiles: false, say: () => {} });
    const found = models.map((each) => path.relative(at(), each.path)).sort();
    expect(found).toEqual(expected);
  });

  test("nothing is too odd to be one", () => {
    for (const line of [
      "[z-a]",
      "[]",
      "[[",
      "\\",
      "**",
      "***",
      "!",
      "!/",
      "a\\\\",
      "(*+?)",
      "x".repeat(2000),
    ])
      expect(() => gitPattern(line)?.matches("a/b.onnx")).not.toThrow();
  });

  test("and take no time, whatever they are", () => {
    const start = performance.now();
    const pattern = gitPattern(`${"*a".repeat(400)}b`);
    expect(pattern?.matches(`${"a".repeat(4000)}.onnx`)).toBe(false);
    expect(performance.now() - start).toBeLessThan(2000);
  });
});

describe("a configuration that ignores every model", () => {
  beforeEach(() => {
    put("a.onnx", "b.onnx");
    bench.folder.write("tc-lint.config.json", '{"ignores": ["**"]}');
  });

  test.each([[["."]], [["--fix", "."]], [["a.onnx", "--force-exclude"]]])(
    "is said, with exit code 2: %j",
    async (args) => {
      const { exitCode, stdout, stderr } = await bench.tcLint(args);
      expect([exitCode, stdout]).toEqual([2, ""]);
      expect(stderr).toMatch(
        /^tc-lint: nothing is linted: .* ignored by tc-lint\.config\.json \(ignores\); name a model/,
      );
    },
  );

  test("leaves nothing to do for who allows that, as hooks do", async () => {
    const args = ["a.onnx", "b.onnx", "--force-exclude", "--no-error-on-unmatched-pattern"];
    const { exitCode, stderr } = await bench.tcLint(args);
    expect(exitCode).toBe(0);
    expect(stderr).toBe(
      "tc-lint: nothing is linted: all 2 models found are ignored by tc-lint.config.json (ignores)\n",
    );
  });
});
