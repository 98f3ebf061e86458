/** `tc-lint compare`: two files, and the working tree with a commit. */
import { spawn } from "node:child_process";
import { mkdirSync, readdirSync, readFileSync, renameSync, rmSync, symlinkSync } from "node:fs";
import { createRequire } from "node:module";
import path from "node:path";
import { Ajv } from "ajv";
import { beforeEach, describe, expect, test } from "vitest";
import { writeFamily } from "../../bench/scale-models.ts";
import type { CompareReport, ModelComparison } from "../../src/compare/result.ts";
import { network } from "../compare/models.ts";
import { lfsPointer } from "./models.ts";
import { commitAll, git, lfsPointerOf } from "./repository.ts";
import { useWorkbench } from "./workbench.ts";

const require = createRequire(import.meta.url);
const isReport = new Ajv({ allowUnionTypes: true }).compile(
  require("../../schemas/compare-report.schema.json"),
);
const bench = useWorkbench();
const aligned = network();
const misaligned = network({ widths: [256, 250, 512] });
/** Where what is misaligned is beyond its interval. */
const target = ["--stack", "cudnn"];

interface Comparison {
  readonly exitCode: number | null;
  readonly stderr: string;
  readonly report: CompareReport;
}

async function compare(...args: readonly string[]): Promise<Comparison> {
  const { exitCode, stdout, stderr } = await bench.tcLint(["compare", ...args, ...target, "-f", "json"]);
  expect(stdout, stderr).not.toBe("");
  const report = JSON.parse(stdout);
  expect(isReport(report), JSON.stringify(isReport.errors)).toBe(true);
  return { exitCode, stderr, report };
}

function only({ report }: Comparison): ModelComparison {
  const [model, ...more] = report.models;
  if (model === undefined || more.length > 0) throw new Error(`${report.models.length} models are compared`);
  return model;
}

const codesOf = (findings: ModelComparison["findings"]["new"]) => findings.map(({ code }) => code);

describe("two files", () => {
  beforeEach(() => {
    bench.folder.write("base.onnx", aligned);
    bench.folder.write("head.onnx", misaligned);
  });

  test("a misaligned layer is said in every format, and fails where it is an error", async () => {
    const found = await compare("base.onnx", "head.onnx", "--error-share", "0.1%");
    expect(only(found)).toMatchObject({ path: "head.onnx", status: "changed", time: { verdict: "slower" } });
    expect(codesOf(only(found).findings.new)).toContain("TC101");
    expect(found.exitCode).toBe(1);
    const text = await bench.tcLint(["compare", "base.onnx", "head.onnx", ...target]);
    expect(text.stdout).toMatch(/head\.onnx {2}against base\.onnx\n/);
    expect(text.stdout).toMatch(/s → .*s predicted: .* slower, .* % \(.* to .*s\)/);
    expect(text.stdout).toMatch(/new \w+ {2}TC101 misaligned-conv-channels {2}layer1 \(Conv\)/);
    expect(text.stdout).toContain("weights  layer1.weight float16[256,256,3,3] → float16[250,256,3,3]");
    const markdown = await bench.tcLint(["compare", "base.onnx", "head.onnx", ...target, "-f", "markdown"]);
    expect(markdown.stdout).toMatch(/^\*\*.*1 slower.*\*\*; 1 model compared \(predicted by tc-lint /);
    expect(markdown.stdout).toMatch(/<details><summary>head\.onnx<\/summary>\n\n.*<\/details>\n/s);
  });

  test("times are those that lint says with the same flags and configuration", async () => {
    bench.folder.write("tc-lint.config.json", '{"gpu": "a100", "precision": "bf16", "dims": {"n": 4}}');
    bench.folder.write("base.onnx", network({ batch: "n" }));
    const { base, head, target: priced } = only(await compare("base.onnx", "head.onnx"));
    const of = async (model: string) => (await bench.jsonOf([model, ...target])).models[0];
    expect(base?.predicted).toEqual((await of("base.onnx"))?.predicted);
    expect(head?.predicted).toEqual((await of("head.onnx"))?.predicted);
    expect(priced).toEqual((await of("head.onnx"))?.target);
  });

  test("several GPUs and sizes are scenarios; what a size changes nothing about is there once", async () => {
    bench.folder.write("base.onnx", network({ batch: "n" }));
    const { report } = await compare("base.onnx", "head.onnx", "--gpu", "l4,h200", "--dim", "n=1,8");
    expect(report.models.map(({ scenario }) => scenario)).toEqual([
      "l4, n=1",
      "l4, n=8",
      "h200, n=1",
      "h200, n=8",
    ]);
    const fixed = await compare("head.onnx", "base.onnx", "--gpu", "l4,h200", "--dim", "n=8");
    expect(fixed.report.models.map(({ scenario }) => scenario)).toEqual(["l4", "h200"]);
    const slip = await bench.tcLint(["compare", "base.onnx", "head.onnx", "--dim", "batch=8"]);
    expect(slip.exitCode).toBe(2);
    expect(slip.stderr).toContain('no model that is compared has an input or a dimension named "batch"');
  });

  test("what did not move is one line of Markdown", async () => {
    bench.folder.write("head.onnx", aligned);
    const { stdout, exitCode } = await bench.tcLint(["compare", "base.onnx", "head.onnx", "-f", "markdown"]);
    expect(stdout).toMatch(
      /^\*\*Nothing moved beyond its interval\*\*; 1 model compared \(predicted by .*\)\.\n$/,
    );
    expect(exitCode).toBe(0);
  });

  test("new warnings fail beyond --max-warnings, a budget where it is exceeded, --exit-zero nothing", async () => {
    const quiet = ["--error-share", "100%"];
    expect((await compare("base.onnx", "head.onnx", ...quiet)).exitCode).toBe(0);
    const strict = await compare("base.onnx", "head.onnx", ...quiet, "--max-warnings", "0");
    expect(strict.exitCode).toBe(1);
    expect(strict.stderr).toMatch(
      /\d new warnings?, more than --max-warnings 0 allows: head\.onnx: TC\d{3} \S/,
    );
    bench.folder.write("tc-lint.config.json", '{"budgets": [{"gpu": "h200", "maxRegression": "0.01 %"}]}');
    const budget = await compare("base.onnx", "head.onnx", ...quiet);
    expect(budget.exitCode).toBe(1);
    expect(budget.stderr).toMatch(
      /head\.onnx: budget on h200 .*: at most 0\.01 % slower; predicted \+.*: exceeded/,
    );
    expect((await compare("base.onnx", "head.onnx", ...quiet, "--exit-zero")).exitCode).toBe(0);
    expect((await compare("head.onnx", "base.onnx", ...quiet)).exitCode).toBe(0);
  });

  test("reports go to files, in a workflow also to its summary; none of them is a model", async () => {
    const files = ["-f", "json=r.json", "-f", "markdown=r.md"];
    await bench.tcLint(["compare", "base.onnx", "head.onnx", ...files]);
    expect(isReport(JSON.parse(readFileSync(path.join(bench.folder.path, "r.json"), "utf8")))).toBe(true);
    expect(readFileSync(path.join(bench.folder.path, "r.md"), "utf8")).toContain("<details>");
    const summary = bench.folder.write("summary.md", "before\n");
    const env = { GITHUB_ACTIONS: "true", GITHUB_STEP_SUMMARY: summary };
    await bench.tcLint(["compare", "base.onnx", "head.onnx"], { env });
    expect(readFileSync(summary, "utf8")).toMatch(/^before\n\*\*/);
    const clash = await bench.tcLint(["compare", "base.onnx", "head.onnx", "-f", "json=base.onnx"]);
    expect(clash.exitCode).toBe(2);
    expect(readFileSync(path.join(bench.folder.path, "base.onnx")).equals(aligned)).toBe(true);
  });

  test.each<[string, readonly string[], RegExp]>([
    ["one path", ["base.onnx"], /found 1 path, expected two models, or --base REF/],
    ["three paths", ["base.onnx", "head.onnx", "x.onnx"], /found 3 paths/],
    ["one model twice", ["base.onnx", "./base.onnx"], /is named as both models/],
    ["a folder", ["base.onnx", "."], /\.: expected a model; with --base REF, folders are/],
    [
      "a format that is none",
      ["base.onnx", "head.onnx", "-f", "sarif"],
      /found "sarif", expected one of text, json, m/,
    ],
    ["a commit that is empty", ["--base", ""], /--base: found "", expected a branch, a tag or a commit/],
    ["a commit that is empty, with =", ["--base="], /--base: found "", expected a branch/],
    ["an unknown flag", ["base.onnx", "head.onnx", "--gpus", "l4"], /Unknown argument/],
  ])("%s is wrong usage", async (_, args, message) => {
    const { exitCode, stderr } = await bench.tcLint(["compare", ...args]);
    expect(exitCode).toBe(2);
    expect(stderr).toMatch(message);
  });

  test.each<[string, string | Uint8Array, string, "base" | "head"]>([
    ["base.onnx", "no model", "not-onnx", "base"],
    ["head.onnx", "no model", "not-onnx", "head"],
    ["head.onnx", lfsPointer, "lfs-pointer", "head"],
    ["base.onnx", aligned.subarray(0, 200), "truncated", "base"],
  ])("%s that cannot be read is said, with exit code 2: %s", async (name, content, code, side) => {
    bench.folder.write(name, content);
    const found = await compare("base.onnx", "head.onnx");
    expect(found.exitCode).toBe(2);
    expect(only(found)).toMatchObject({ error: { code, side }, time: null });
    expect(only(found).error?.message).toContain(name);
    expect(found.report.errors).toMatchObject([{ code, file: name }]);
  });
});

describe("the working tree and a commit", () => {
  const write = (name: string, content: string | Uint8Array) => bench.folder.write(name, content);

  beforeEach(() => {
    git(bench.folder.path, "init", "-q");
    write("models/a.onnx", aligned);
    write("models/b.onnx", misaligned);
    commitAll(bench.folder.path, "base");
  });

  test("nothing changed: models are named, not compared", async () => {
    const { report, exitCode } = await compare("--base", "HEAD");
    expect(report).toMatchObject({ models: [], unchanged: ["models/a.onnx", "models/b.onnx"] });
    expect(report.base).toEqual({ ref: "HEAD", commit: git(bench.folder.path, "rev-parse", "HEAD") });
    expect(exitCode).toBe(0);
    expect((await bench.tcLint(["compare", "--base", "HEAD"])).stdout).toMatch(
      /^nothing moved beyond its interval; 0 models compared, 2 unchanged, against HEAD \([0-9a-f]{12}\)\n$/,
    );
  });

  test("one misaligns a layer, one fixes it: committed or not, from any folder", async () => {
    write("models/a.onnx", misaligned);
    write("models/b.onnx", aligned);
    const looked = async (...args: readonly string[]) => {
      const { report } = await compare(...args);
      return report.models.map(({ time, findings, base, path: at }) => [
        at,
        base?.path,
        time?.verdict,
        codesOf(findings.new).includes("TC101"),
        codesOf(findings.fixed).includes("TC101"),
      ]);
    };
    const expected = (ref: string) => [
      ["models/a.onnx", `${ref}:models/a.onnx`, "slower", true, false],
      ["models/b.onnx", `${ref}:models/b.onnx`, "faster", false, true],
    ];
    expect(await looked("--base", "HEAD")).toEqual(expected("HEAD"));
    commitAll(bench.folder.path);
    expect(await looked("--base", "HEAD~1", "models")).toEqual(expected("HEAD~1"));
    const there = await bench.tcLint(["compare", "--base", "main~1", "a.onnx", "-f", "json", ...target], {
      cwd: path.join(bench.folder.path, "models"),
    });
    expect(JSON.parse(there.stdout).models).toMatchObject([
      { path: "a.onnx", base: { path: "main~1:models/a.onnx" }, time: { verdict: "slower" } },
    ]);
  });

  test.each<[string, () => void]>([
    ["by git mv", () => git(bench.folder.path, "mv", "models/b.onnx", "c.onnx")],
    ["by mv alone", () => renameSync(place("models/b.onnx"), place("c.onnx"))],
  ])("a model that is only moved, %s, has nothing new", async (_, move) => {
    move();
    const found = await compare("--base", "HEAD", "--max-warnings", "0");
    expect(only(found)).toMatchObject({
      path: "c.onnx",
      status: "moved",
      base: { path: "HEAD:models/b.onnx" },
      time: { verdict: "same" },
      findings: { new: [], worse: [], fixed: [] },
    });
    expect(only(found).findings.unchanged.length).toBeGreaterThan(0);
    expect(found.exitCode).toBe(0);
    const { stdout } = await bench.tcLint(["compare", "--base", "HEAD", "-f", "markdown"]);
    expect(stdout).toMatch(
      /^\*\*Nothing moved beyond its interval\*\*; 1 model compared, 1 only moved, 1 unchanged, against/,
    );
  });

  test.each([
    ["it had", ["models/b.onnx"]],
    ["it had, and the one it has", ["models/b.onnx", "c.onnx"]],
    ["its folder had", ["models"]],
  ])("a model that was moved is known by the name that %s", async (_, paths) => {
    git(place("."), "mv", "models/a.onnx", "a.onnx");
    git(place("."), "mv", "models/b.onnx", "c.onnx");
    const { exitCode, report, stderr } = await compare("--base", "HEAD", ...paths);
    const [{ path, status } = { path: "", status: "" }] = report.models.slice(-1);
    expect({ exitCode, path, status }, stderr).toEqual({ exitCode: 0, path: "c.onnx", status: "moved" });
    expect(report.models).toHaveLength(paths[0] === "models" ? 2 : 1);
  });

  test("of a folder that is gone, what was deleted is said beside what was moved", async () => {
    git(place("."), "mv", "models/b.onnx", "c.onnx");
    git(place("."), "rm", "-q", "models/a.onnx");
    const { report } = await compare("--base", "HEAD", "models");
    const found = report.models.map(({ path, status }) => [path, status]);
    expect(found).toEqual([
      ["c.onnx", "moved"],
      ["models/a.onnx", "deleted"],
    ]);
  });

  test("a model that is moved and changed is compared with what it was", async () => {
    // Weights that stay make it the same file to Git.
    const filled = (widths: readonly [number, number, number]) => network({ widths, batch: 8 });
    write("models/big.onnx", filled([2048, 2048, 512]));
    commitAll(bench.folder.path);
    git(bench.folder.path, "mv", "models/big.onnx", "models/bigger.onnx");
    write("models/bigger.onnx", filled([2048, 2048, 500]));
    commitAll(bench.folder.path);
    expect(only(await compare("--base", "HEAD~1"))).toMatchObject({
      path: "models/bigger.onnx",
      status: "changed",
      base: { path: "HEAD~1:models/big.onnx" },
    });
  });

  test("new and deleted models are said to be so; findings of a new one are new", async () => {
    rmSync(place("models/a.onnx"));
    write("models/new.onnx", network({ widths: [248, 250, 512] }));
    const { report } = await compare("--base", "HEAD", "models/");
    expect(report.models).toMatchObject([
      { path: "models/new.onnx", status: "added", base: null, time: null },
      { path: "models/a.onnx", status: "deleted", head: null, time: null, findings: { new: [] } },
    ]);
    expect(codesOf(report.models[0]?.findings.new ?? [])).toContain("TC101");
    const gone = await compare("--base", "HEAD", "models/a.onnx");
    expect(only(gone)).toMatchObject({ status: "deleted", base: { path: "HEAD:models/a.onnx" } });
    const { stdout } = await bench.tcLint(["compare", "--base", "HEAD", "-f", "markdown"]);
    expect(stdout).toMatch(/^\*\*.*1 new model, 1 model deleted\*\*/);
  });

  test("what is not there, or is no model, is named and is no new model", async () => {
    const absent = await bench.tcLint(["compare", "--base", "HEAD", "models", "nowhere.onnx", "nodir"]);
    expect([absent.exitCode, absent.stdout]).toEqual([2, ""]);
    expect(absent.stderr).toContain('"nowhere.onnx", "nodir": not there, and no model of it in HEAD');
    write("README.txt", "no model");
    const text = await bench.tcLint(["compare", "--base", "HEAD", "README.txt"]);
    expect([text.exitCode, text.stdout]).toEqual([2, expect.stringMatching(/not-onnx +README\.txt: /)]);
    expect(text.stdout).not.toContain("new model");
  });

  test("models that a configuration ignores are left out, deleted ones too", async () => {
    write("tc-lint.config.json", '{"ignores": ["models/a*"]}');
    rmSync(place("models/a.onnx"));
    write("models/b.onnx", aligned);
    expect((await compare("--base", "HEAD")).report.models.map(({ path: at }) => at)).toEqual([
      "models/b.onnx",
    ]);
  });

  test("a base that is broken is all new in head, a head that is broken fails", async () => {
    write("models/a.onnx", "no model");
    commitAll(bench.folder.path);
    const broken = await compare("--base", "HEAD~1");
    expect(broken.exitCode).toBe(2);
    expect(only(broken)).toMatchObject({ error: { side: "head", code: "not-onnx" } });
    write("models/a.onnx", misaligned);
    const repaired = only(await compare("--base", "HEAD"));
    expect(repaired).toMatchObject({ status: "added", base: null, error: null });
    expect(repaired.notices).toMatchObject([{ code: "not-onnx" }]);
    expect(repaired.notices[0]?.message).toMatch(
      /base cannot be read, so that all is new: HEAD:models\/a\.onnx: is text/,
    );
  });

  test("weights beside the model are those of the commit", async () => {
    write("models/c.onnx", network({ weights: "c" }));
    write("models/c.weights", Buffer.alloc(64 * 256 * 9 * 2 + 256 * 2));
    commitAll(bench.folder.path);
    write("models/c.onnx", network({ weights: "c", widths: [256, 250, 512] }));
    const short = only(await compare("--base", "HEAD"));
    // What the commit has is as short there as it would be here.
    expect(short).toMatchObject({ status: "added", error: { side: "head", code: "external-truncated" } });
    rmSync(place("models/c.weights"));
    const there = only(await compare("--base", "HEAD"));
    expect(there.notices[0]?.message).toMatch(/base cannot be read.*of "c\.weights", which has/);
    commitAll(bench.folder.path);
    write("models/c.onnx", network({ weights: "c" }));
    const { base, notices } = only(await compare("--base", "HEAD"));
    expect(notices).toEqual([]);
    expect(base?.notices).toMatchObject([{ code: "weights-missing" }]);
  });

  test("no temporary file is left, and none is readable by others", async () => {
    const temporary = path.join(bench.folder.path, "tmp");
    mkdirSync(temporary);
    write("models/a.onnx", misaligned);
    const env = { TMPDIR: temporary };
    expect((await bench.tcLint(["compare", "--base", "HEAD"], { env })).exitCode).not.toBe(2);
    expect(readdirSync(temporary)).toEqual([]);
  });

  test("Ctrl-C removes the copy of the commit's model", async () => {
    const temporary = path.join(bench.folder.path, "tmp");
    mkdirSync(temporary);
    writeFamily(place("models/costly.onnx"), "adds", 200_000);
    commitAll(bench.folder.path);
    writeFamily(place("models/costly.onnx"), "adds", 200_001);
    const { PATH = "" } = process.env;
    const child = spawn(process.execPath, [bench.script, "compare", "--base", "HEAD"], {
      cwd: bench.folder.path,
      env: { PATH, TMPDIR: temporary },
      stdio: "ignore",
    });
    const ended = new Promise((resolve) => child.on("close", (code) => resolve(code)));
    const copies = () => readdirSync(temporary).flatMap((name) => readdirSync(path.join(temporary, name)));
    await expect.poll(copies, { timeout: 60_000, interval: 20 }).toContain("costly.onnx");
    child.kill("SIGINT");
    expect(await ended).toBe(130);
    expect(readdirSync(temporary)).toEqual([]);
  });

  test.each<[string, readonly string[], RegExp]>([
    ["an unknown commit", ["--base", "nowhere"], /--base nowhere: the repository has no such commit/],
    ["what looks like a flag", ["--base=--output=x"], /--base --output=x: the repository has no such commit/],
    ["a path that is nowhere", ["--base", "HEAD", "models/x.onnx"], /"models\/x\.onnx": not there/],
    ["a pattern for nothing", ["--base", "HEAD", "other/*.onnx"], /"other\/\*\.onnx": no \.onnx file there/],
    ["a file outside", ["--base", "HEAD", "../x.onnx"], /"\.\.\/x\.onnx": not there/],
  ])("%s is said, with exit code 2", async (_, args, message) => {
    const { exitCode, stdout, stderr } = await bench.tcLint(["compare", ...args]);
    expect(exitCode).toBe(2);
    expect(stdout + stderr).toMatch(message);
  });

  test("a folder without a repository, and a machine without git, are said", async () => {
    rmSync(place(".git"), { recursive: true });
    const outside = await bench.tcLint(["compare", "--base", "HEAD"], {
      env: { GIT_CEILING_DIRECTORIES: path.dirname(bench.folder.path) },
    });
    expect(outside.exitCode).toBe(2);
    expect(outside.stderr).toMatch(/is in no Git repository/);
    const none = await bench.tcLint(["compare", "--base", "HEAD"], { env: { PATH: "/nowhere" } });
    expect(none.exitCode).toBe(2);
    expect(none.stderr).toContain("git cannot be run");
  });

  test("a checkout of another user, which git does not read, is named with the setting that lets it", async () => {
    const { exitCode, stderr } = await bench.tcLint(["compare", "--base", "HEAD"], {
      env: { GIT_TEST_ASSUME_DIFFERENT_OWNER: "1", HOME: bench.folder.path },
    });
    expect([exitCode, stderr]).toEqual([
      2,
      expect.stringMatching(/belongs to another user.*: git config --global --add safe\.directory "/),
    ]);
  });

  test("a symbolic link in the commit, and a model in a repository of its own, are said", async () => {
    symlinkSync("a.onnx", place("models/link.onnx"));
    commitAll(bench.folder.path);
    rmSync(place("models/link.onnx"));
    write("models/link.onnx", misaligned);
    const link = await compare("--base", "HEAD");
    expect(link.exitCode).toBe(2);
    expect(only(link).error).toMatchObject({ side: "base", code: "link-at-base" });
    rmSync(place("models/link.onnx"));
    mkdirSync(place("inner"));
    git(place("inner"), "init", "-q");
    write("inner/m.onnx", aligned);
    const inner = await compare("--base", "HEAD", "inner/m.onnx");
    expect(inner.exitCode).toBe(2);
    expect(only(inner).error).toMatchObject({ code: "other-repository" });
  });

  function place(name: string): string {
    return path.join(bench.folder.path, name);
  }
});

describe("Git LFS", () => {
  const place = (name: string) => path.join(bench.folder.path, name);

  /** As in a repository whose files were pulled here, or were not. */
  function commitPointer(name: string, content: Uint8Array, fetched: boolean): void {
    bench.folder.write(name, lfsPointerOf(bench.folder.path, content, fetched));
    commitAll(bench.folder.path);
  }

  beforeEach(() => {
    git(bench.folder.path, "init", "-q");
  });

  test("a pointer in the commit is the object that it names", async () => {
    commitPointer("m.onnx", aligned, true);
    bench.folder.write("m.onnx", misaligned);
    expect(only(await compare("--base", "HEAD"))).toMatchObject({
      status: "changed",
      base: { path: "HEAD:m.onnx", fileBytes: aligned.length },
      time: { verdict: "slower" },
    });
  });

  test("a pulled file is the same as its pointer, whether its object is here or not; a moved one too", async () => {
    commitPointer("m.onnx", aligned, false);
    expect((await compare("--base", "HEAD")).report.unchanged).toEqual(["m.onnx"]);
    bench.folder.write("m.onnx", aligned);
    expect((await compare("--base", "HEAD")).report.unchanged).toEqual(["m.onnx"]);
    renameSync(place("m.onnx"), place("n.onnx"));
    expect(only(await compare("--base", "HEAD"))).toMatchObject({ path: "n.onnx", status: "moved" });
  });

  test("an object that is not fetched is an error that says how to fetch it", async () => {
    commitPointer("m.onnx", aligned, false);
    bench.folder.write("m.onnx", misaligned);
    const found = await compare("--base", "HEAD");
    expect(found.exitCode).toBe(2);
    expect(only(found).error).toMatchObject({ side: "base", code: "lfs-not-fetched" });
    expect(only(found).error?.message).toMatch(
      /^HEAD:m\.onnx: Git LFS has its content .* run: git lfs fetch origin "HEAD" --include="m\.onnx"$/,
    );
    expect((await bench.tcLint(["compare", "--base", "HEAD", "--exit-zero"])).exitCode).toBe(2);
  });

  test("a pointer in head's place is never clean", async () => {
    commitPointer("m.onnx", aligned, true);
    bench.folder.write("m.onnx", lfsPointerOf(bench.folder.path, misaligned, true));
    const found = await compare("--base", "HEAD");
    expect(found.exitCode).toBe(2);
    expect(only(found).error).toMatchObject({ side: "head", code: "lfs-pointer" });
  });

  test("weights beside it are objects too; those that are not fetched are said, and shapes are enough", async () => {
    const weights = Buffer.alloc(2 * (64 * 256 * 9 + 256 + 256 * 256 * 9 + 256 + 256 * 512 * 9 + 512));
    const model = network({ weights: "m" });
    for (const fetched of [false, true]) {
      bench.folder.write("m.weights", lfsPointerOf(bench.folder.path, weights, fetched));
      commitPointer("m.onnx", model, true);
      bench.folder.write("m.onnx", network({ weights: "other", widths: [256, 250, 512] }));
      const { base, error, notices } = only(await compare("--base", "HEAD"));
      expect(error).toBeNull();
      expect(base).toMatchObject({ fileBytes: model.length, externalBytes: weights.length });
      expect(base?.notices.map(({ code }) => code)).toEqual(fetched ? [] : ["weights-missing"]);
      expect(notices.map(({ code }) => code)).toEqual(fetched ? [] : ["lfs-not-fetched"]);
    }
  });

  test("a repository that keeps its objects elsewhere is followed there", async () => {
    commitPointer("m.onnx", aligned, true);
    renameSync(place(".git/lfs"), place(".git/store"));
    git(bench.folder.path, "config", "lfs.storage", "store");
    bench.folder.write("m.onnx", misaligned);
    expect(only(await compare("--base", "HEAD"))).toMatchObject({ time: { verdict: "slower" } });
  });
});

test("what is no model is named, be it changed or not, and is no unchanged model", async () => {
  git(bench.folder.path, "init", "-q");
  bench.folder.write("m.onnx", aligned);
  bench.folder.write("m.bin", aligned);
  bench.folder.write("notes.md", Buffer.from("one"));
  commitAll(bench.folder.path);
  const same = await compare("--base", "HEAD", "notes.md", "m.onnx", "m.bin");
  expect(only(same)).toMatchObject({
    path: "notes.md",
    status: "same",
    error: { side: "head", code: "not-onnx" },
  });
  expect([same.exitCode, same.report.unchanged]).toEqual([2, ["m.onnx", "m.bin"]]);
  // Of the same size: Git's word is for what it was asked about.
  bench.folder.write("notes.md", Buffer.from("two"));
  const changed = await compare("--base", "HEAD", "*.md");
  expect(only(changed)).toMatchObject({ path: "notes.md", error: { code: "not-onnx" } });
});
