/** @file The hooks, as pre-commit itself installs and runs them from a repository that somebody names. */
import { spawnSync } from "node:child_process";
import {
  copyFileSync,
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { writeExternal, writeInline } from "../fix/models.ts";

const root = path.resolve(path.dirname(fileURLToPath(import.meta.url)), "..", "..");

/** TC_LINT_PRE_COMMIT names another pre-commit than that of the path. */
const { TC_LINT_PRE_COMMIT: preCommit = "pre-commit" } = process.env;
const missing = whatIsMissing();
if (missing !== undefined) console.warn(`skipped: ${missing}`);

function whatIsMissing(): string | undefined {
  if (spawnSync(preCommit, ["--version"]).status !== 0)
    return "pre-commit is not installed (Debian's package pre-commit)";
  // What a hook depends on comes from there.
  const seen = spawnSync("npm", ["view", "koffi", "version"], { timeout: 30_000 });
  return seen.status === 0 ? undefined : "npm's registry cannot be reached";
}

/** Of nobody in particular, with nobody's configuration. */
const identity = {
  GIT_AUTHOR_NAME: "a",
  GIT_AUTHOR_EMAIL: "a@b",
  GIT_COMMITTER_NAME: "a",
  GIT_COMMITTER_EMAIL: "a@b",
};

describe.skipIf(missing !== undefined)("a repository named in .pre-commit-config.yaml", () => {
  let base = "";
  let project = "";
  const inBase = (...names: string[]) => path.join(base, ...names);

  function command(program: string, args: readonly string[], cwd: string) {
    const env = {
      ...process.env,
      ...identity,
      GIT_CONFIG_GLOBAL: inBase("gitconfig"),
      GIT_CONFIG_NOSYSTEM: "1",
      PRE_COMMIT_HOME: inBase("hooks-home"),
      npm_config_prefer_offline: "true",
      npm_config_audit: "false",
    };
    // A git hook that runs these tests must not steer the repositories that they make.
    for (const name of Object.keys(env))
      if (/^GIT_(DIR|INDEX_FILE|WORK_TREE|PREFIX)$/.test(name)) Reflect.deleteProperty(env, name);
    const { status, stdout, stderr } = spawnSync(program, args, { cwd, env, encoding: "utf8" });
    return { status, text: `${stdout}${stderr}` };
  }

  function must(program: string, args: readonly string[], cwd: string): string {
    const { status, text } = command(program, args, cwd);
    if (status !== 0) throw new Error(`${program} ${args.join(" ")}: ${text}`);
    return text;
  }

  /** The repository that a release pushes, on a remote without a work tree. */
  function publish(): string {
    const staged = inBase("staged");
    for (const name of [
      "package.json",
      "action.yml",
      "README.md",
      "LICENSE",
      "CHANGELOG.md",
      "SECURITY.md",
      "schemas",
      "docs/rules",
    ])
      cpSync(path.join(root, name), path.join(staged, name), { recursive: true });
    must(
      process.execPath,
      [path.join(root, "scripts/build.mjs"), "--no-types", `--outdir=${staged}/dist`],
      root,
    );
    must("npm", ["pack", "--ignore-scripts", "--silent"], staged);
    const [tarball = ""] = readdirSync(staged).filter((name) => name.endsWith(".tgz"));
    const [remote, tree] = [inBase("hooks.git"), inBase("hooks")];
    must("git", ["init", "-q", "--bare", remote], base);
    must("git", ["clone", "-q", remote, tree], base);
    // Of an earlier release: gone in this one.
    writeFileSync(path.join(tree, "stale.js"), "");
    must(
      process.execPath,
      [path.join(root, "scripts/hook-repository.mjs"), path.join(staged, tarball), tree],
      root,
    );
    expect(readdirSync(tree)).not.toContain("stale.js");
    expect(readdirSync(tree)).toEqual(
      expect.arrayContaining(["action.yml", "dist", ".pre-commit-hooks.yaml"]),
    );
    expect(readdirSync(path.join(tree, "dist/action"))).toEqual(["index.js"]);
    must("git", ["add", "--all"], tree);
    must("git", ["commit", "-q", "-m", "0.1.0"], tree);
    must("git", ["tag", "v0.1.0"], tree);
    must("git", ["push", "-q", "origin", "HEAD", "v0.1.0"], tree);
    return remote;
  }

  beforeAll(() => {
    base = realpathSync(mkdtempSync(path.join(tmpdir(), "tc-lint-hooks-")));
    writeFileSync(
      inBase("gitconfig"),
      '[init]\n\tdefaultBranch = main\n[protocol "file"]\n\tallow = always\n',
    );
    publish();
  }, 600_000);
  afterAll(() => rmSync(base, { recursive: true, force: true }));

  beforeEach(() => {
    rmSync(inBase("project"), { recursive: true, force: true });
    project = inBase("project");
    mkdirSync(project);
    must("git", ["init", "-q"], project);
  });

  /** Runs the hook over what is staged, as a commit does. */
  function runHook(id: string, add: readonly string[] = ["add", "--all"]) {
    const config = `repos:\n  - repo: ${inBase("hooks.git")}\n    rev: v0.1.0\n    hooks: [{ id: ${id} }]\n`;
    writeFileSync(path.join(project, ".pre-commit-config.yaml"), config);
    must("git", add, project);
    return command(preCommit, ["run", "--all-files", "--color=never"], project);
  }

  test("tc-lint passes what the baseline has, and fails on what is new", () => {
    writeInline(project);
    must(process.execPath, [inBase("staged/dist/bin/tc-lint.js"), "model.onnx", "--suppress-all"], project);
    const known = runHook("tc-lint");
    expect(known.text).toMatch(/tc-lint\.+Passed/);
    mkdirSync(path.join(project, "copy"));
    copyFileSync(path.join(project, "model.onnx"), path.join(project, "copy/model.onnx"));
    const copied = runHook("tc-lint");
    expect([copied.status, copied.text]).toEqual([1, expect.stringContaining("copy/model.onnx")]);
  }, 600_000);

  test("tc-lint fails on what is off, and not on what is repaired", () => {
    copyFileSync(path.join(root, "fixtures/models/aligned-mlp.onnx"), path.join(project, "aligned.onnx"));
    const clean = runHook("tc-lint");
    expect(clean.text).toMatch(/tc-lint\.+Passed/);
    expect(clean.status).toBe(0);
    writeInline(project);
    const off = runHook("tc-lint");
    expect(off.text).toContain("TC101");
    expect(off.text).toMatch(/model\.onnx/);
    expect(off.status).toBe(1);
  }, 600_000);

  test("tc-lint-fix repairs, fails once, and then passes, as does tc-lint", () => {
    const before = readFileSync(writeInline(project));
    const first = runHook("tc-lint-fix");
    expect(first.text).toContain("files were modified by this hook");
    expect(first.text).toContain("verified: with ONNX Runtime");
    expect(first.status).toBe(1);
    expect(readFileSync(path.join(project, "model.onnx")).equals(before)).toBe(false);
    for (const id of ["tc-lint-fix", "tc-lint"]) {
      const { text, status } = runHook(id);
      expect(text).toMatch(/Passed/);
      expect(status).toBe(0);
    }
    // What is new is still found.
    writeFileSync(path.join(project, "new.onnx"), before);
    expect(runHook("tc-lint").status).toBe(1);
  }, 600_000);

  test("a repaired model whose new data nobody added stops the commit", () => {
    writeExternal(project);
    must("git", ["add", "--all"], project);
    expect(runHook("tc-lint-fix", ["add", "-u"]).text).toContain("files were modified by this hook");
    for (const id of ["tc-lint-fix", "tc-lint"]) {
      const { text, status } = runHook(id, ["add", "-u"]);
      expect([status, text]).toEqual([
        1,
        expect.stringMatching(/its data is not in Git: git add model\.\w+\.data/),
      ]);
    }
    expect(runHook("tc-lint").status).toBe(0);
  }, 600_000);

  test("a Git LFS pointer is named", () => {
    const oid = "4d7a214614ab2935c943f9e0ff69d22eadbb8f32b1258daaa5e2ca24d17e2393";
    const pointer = `version https://git-lfs.github.com/spec/v1\noid sha256:${oid}\nsize 102400\n`;
    writeFileSync(path.join(project, "pointer.onnx"), pointer);
    const { text, status } = runHook("tc-lint");
    expect(text).toContain("git lfs pull");
    expect(status).toBe(1);
  }, 600_000);
});
