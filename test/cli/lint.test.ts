import { readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import type { LintReport } from "../../src/lint/result.ts";
import { type BuiltCli, buildCli } from "../cli-process.ts";
import { bytesOf, cleanModel, type Folder, headModel, lfsPointer, temporaryFolder } from "./models.ts";
import { type Run, type RunOptions, run } from "./run.ts";

let cli: BuiltCli;
beforeAll(() => {
  cli = buildCli();
});
afterAll(() => cli?.[Symbol.dispose]());

let folder: Folder;
beforeEach(() => {
  folder = temporaryFolder();
});
afterEach(() => folder[Symbol.dispose]());

function tcLint(args: readonly string[], options: Partial<RunOptions> = {}): Promise<Run> {
  return run(cli, args, { cwd: folder.path, ...options });
}

async function jsonOf(args: readonly string[]): Promise<LintReport> {
  const { stdout, stderr } = await tcLint([...args, "-f", "json"]);
  expect(stderr).toBe("");
  return JSON.parse(stdout);
}

const onlyHead = ["--select", "misaligned-gemm"];

describe("one model", () => {
  beforeEach(() => {
    folder.write("head.onnx", bytesOf(headModel()));
    folder.write("clean.onnx", bytesOf(cleanModel()));
  });

  test("an expensive flaw is an error, ranked, with what to do", async () => {
    const { exitCode, stdout, stderr } = await tcLint(["head.onnx", ...onlyHead]);
    expect([exitCode, stderr]).toEqual([1, ""]);
    expect(stdout).toContain("head.onnx\n");
    expect(stdout).toMatch(/error {2}TC102 misaligned-gemm {2}\/lm_head\/MatMul \(MatMul\)/);
    expect(stdout).toMatch(/saves [\d.]+ (µs|ms) of [\d.]+ (µs|ms) \(\d+ %\), between /);
    expect(stdout).toContain("fixed by --fix");
    expect(stdout).toContain("weights not present: head.weights; shapes are enough to lint");
    expect(stdout).toContain("1 error in 1 model; 1 fixable with --fix");
    expect(stdout).toContain("tc-lint explain TC102");
  });

  test("lint is the command that is meant when none is given", async () => {
    const [bare, named] = await Promise.all([tcLint(["head.onnx"]), tcLint(["lint", "head.onnx"])]);
    expect(bare).toEqual(named);
  });

  test("a file that looks like a flag comes after --", async () => {
    folder.write("-x.onnx", bytesOf(cleanModel()));
    const { exitCode, stdout } = await tcLint(["clean.onnx", "--", "-x.onnx"]);
    expect([exitCode, stdout.includes("no findings in 2 models")]).toEqual([0, true]);
  });

  test("a clean model is clean", async () => {
    const { exitCode, stdout } = await tcLint(["clean.onnx"]);
    expect(exitCode).toBe(0);
    expect(stdout).toContain("no findings in 1 model");
  });

  test("JSON goes to a file, and stdout stays empty", async () => {
    const { exitCode, stdout, stderr } = await tcLint([
      "head.onnx",
      "-f",
      "json=out/report.json",
      ...onlyHead,
    ]);
    expect([exitCode, stdout, stderr]).toEqual([1, "", ""]);
    const report: LintReport = JSON.parse(readFileSync(path.join(folder.path, "out/report.json"), "utf8"));
    expect(report).toMatchObject({
      version: 1,
      summary: { errors: 1 },
      models: [{ path: "head.onnx", error: null }],
    });
    expect(readdirSync(path.join(folder.path, "out"))).toEqual(["report.json"]);
  });

  test("several formats in one run", async () => {
    const { stdout } = await tcLint([
      "head.onnx",
      "-f",
      "text",
      "-f",
      "sarif=a.sarif",
      "-f",
      "markdown=a.md",
      ...onlyHead,
    ]);
    expect(stdout).toContain("1 error");
    expect(JSON.parse(readFileSync(path.join(folder.path, "a.sarif"), "utf8"))).toMatchObject({
      version: "2.1.0",
    });
    expect(readFileSync(path.join(folder.path, "a.md"), "utf8")).toContain("TC102 misaligned-gemm");
  });

  test("-o takes one format, text unless -f says which", async () => {
    await tcLint(["head.onnx", "-o", "report.txt"]);
    expect(readFileSync(path.join(folder.path, "report.txt"), "utf8")).toContain("TC102");
    await tcLint(["head.onnx", "-f", "csv", "-o", "layers.csv"]);
    const [title, row] = readFileSync(path.join(folder.path, "layers.csv"), "utf8").split("\r\n");
    expect(title).toMatch(/^model,graph,node,op,family,sizes,compute,runs,flops,bytes,flops_per_byte,bound,/);
    expect(row).toMatch(
      /^head\.onnx,graph,\/lm_head\/MatMul,MatMul,gemm,batch=1 m=4096 n=50257 k=4096,fp16,1,/,
    );
  });

  test("--table lists every layer", async () => {
    const { stdout } = await tcLint(["head.onnx", "--table"]);
    expect(stdout).toMatch(/node +op +sizes +as +runs +FLOPs +bytes +FLOPs\/B +bound +time +share +findings/);
    expect(stdout).toMatch(/\/lm_head\/MatMul +MatMul +4096×50257×4096 +fp16 +1\.69 T .* TC102/);
    const report = await jsonOf(["head.onnx", "--table"]);
    expect(report.models[0]?.layers).toHaveLength(1);
  });

  test("--stats counts by rule", async () => {
    const { stdout } = await tcLint(["head.onnx", "--stats", ...onlyHead]);
    expect(stdout).toMatch(/By rule\n {2}TC102 {2}misaligned-gemm {2}1 {2}1 fixable {2}up to /);
  });

  test("sizes bind what is symbolic, and what is left is said", async () => {
    folder.write("rows.onnx", bytesOf(headModel({ rows: "rows" })));
    const [assumed, bound, shaped] = await Promise.all([
      jsonOf(["rows.onnx"]),
      jsonOf(["rows.onnx", "--dim", "rows=512"]),
      jsonOf(["rows.onnx", "--shape", "hidden=512,4096"]),
    ]);
    expect(assumed.models[0]).toMatchObject({ symbols: { rows: 1 }, assumed: ["rows"] });
    expect(bound.models[0]).toMatchObject({ symbols: { rows: 512 }, assumed: [] });
    expect(shaped.models[0]?.predicted).toEqual(bound.models[0]?.predicted);
    expect((await tcLint(["rows.onnx"])).stdout).toContain("rows counted as 1: bind with --dim rows=N");
  });

  test("the target decides", async () => {
    const [h200, t4] = await Promise.all([
      jsonOf(["head.onnx"]),
      jsonOf(["head.onnx", "--gpu", "t4", "--stack", "tensorrt"]),
    ]);
    expect(t4.models[0]?.target).toEqual({ gpu: "t4", stack: "tensorrt", precision: "fp16" });
    expect(t4.models[0]?.predicted.basis).toBe("datasheet");
    expect(t4.models[0]?.predicted.microseconds).toBeGreaterThan(
      3 * (h200.models[0]?.predicted.microseconds ?? 0),
    );
  });

  test("a precision that the GPU lacks is said", async () => {
    const { stdout } = await tcLint(["head.onnx", "--gpu", "t4", "--precision", "bf16"]);
    expect(stdout).toContain("do not multiply bf16");
  });

  test("thresholds move the line between error, warning and nothing", async () => {
    const summaryOf = async (...flags: string[]) =>
      (await jsonOf(["head.onnx", ...onlyHead, ...flags])).summary;
    expect(await summaryOf()).toMatchObject({ errors: 1, warnings: 0 });
    expect(await summaryOf("--error-share", "100%")).toMatchObject({ errors: 0, warnings: 1 });
    expect(await summaryOf("--min-saving", "1")).toMatchObject({ errors: 0, warnings: 0 });
    const { stdout } = await tcLint(["head.onnx", ...onlyHead, "--min-saving", "100%"]);
    expect(stdout).toMatch(/1 finding below the threshold saves at most .*; --min-saving 0 lists them/);
  });

  test("--quiet hides warnings and counts them", async () => {
    const warn = ["head.onnx", ...onlyHead, "--error-share", "100%", "--max-warnings", "0"];
    const { exitCode, stdout } = await tcLint([...warn, "--quiet"]);
    expect(exitCode).toBe(1);
    expect(stdout).not.toContain("TC102");
  });

  test("colour only where it is asked for", async () => {
    const start = "\u001b[";
    expect((await tcLint(["head.onnx"])).stdout).not.toContain(start);
    expect((await tcLint(["head.onnx", "--color"])).stdout).toContain(start);
    expect((await tcLint(["head.onnx"], { env: { FORCE_COLOR: "1", NO_COLOR: "1" } })).stdout).toContain(
      start,
    );
    expect((await tcLint(["head.onnx", "--no-color"], { env: { FORCE_COLOR: "1" } })).stdout).not.toContain(
      start,
    );
    await tcLint(["head.onnx", "-o", "plain.txt"], { env: { FORCE_COLOR: "1" } });
    expect(readFileSync(path.join(folder.path, "plain.txt"), "utf8")).not.toContain(start);
  });
});

describe("several models", () => {
  test("are linted in workers, in order, and a broken one fails alone", async () => {
    folder.write("a.onnx", bytesOf(headModel()));
    folder.write("b.onnx", bytesOf(headModel()).subarray(0, 60));
    folder.write("c/d.onnx", bytesOf(cleanModel()));
    folder.write("node_modules/e.onnx", bytesOf(headModel()));
    folder.write("notes.txt", "no model");
    const { exitCode, stdout, stderr } = await tcLint([".", "-f", "json"]);
    expect([exitCode, stderr]).toEqual([2, ""]);
    const report: LintReport = JSON.parse(stdout);
    expect(report.models.map(({ path: file, error }) => [file, error?.code ?? null])).toEqual([
      ["a.onnx", null],
      ["b.onnx", "truncated"],
      ["c/d.onnx", null],
    ]);
    expect(report.summary.failedModels).toBe(1);
    const alone = await jsonOf(["a.onnx"]);
    expect(report.models[0]).toEqual(alone.models[0]);
  });

  test("come out the same however many threads there are", async () => {
    for (const name of ["a", "b", "c", "d"]) folder.write(`${name}.onnx`, bytesOf(headModel({ n: 1001 })));
    const [one, many] = await Promise.all([tcLint([".", "-j", "1"]), tcLint([".", "-j", "4"])]);
    expect(one.stdout).toBe(many.stdout);
    expect(one.stdout.match(/^[a-d]\.onnx$/gm)).toEqual(["a.onnx", "b.onnx", "c.onnx", "d.onnx"]);
  });

  test("sizes go where they fit; one that fits nowhere is a mistake", async () => {
    folder.write("rows.onnx", bytesOf(headModel({ rows: "rows" })));
    folder.write("fixed.onnx", bytesOf(headModel()));
    const report = await jsonOf([".", "--dim", "rows=8"]);
    expect(report.models.map(({ symbols }) => symbols)).toEqual([{}, { rows: 8 }]);
    const { exitCode, stderr } = await tcLint([".", "--dim", "rows=8", "--dim", "colums=3"]);
    expect(exitCode).toBe(2);
    expect(stderr).toContain('no model has an input or a dimension named "colums"');
  });

  test("are found by patterns", async () => {
    for (const name of ["x/a.onnx", "x/y/b.onnx", "z.onnx"]) folder.write(name, bytesOf(cleanModel()));
    folder.write("x/readme.md", "# models");
    const paths = async (...patterns: string[]) => (await jsonOf(patterns)).models.map((model) => model.path);
    expect(await paths("x/*")).toEqual(["x/a.onnx"]);
    expect(await paths("**/*.onnx")).toEqual(["x/a.onnx", "x/y/b.onnx", "z.onnx"]);
    expect(await paths("z.onnx", "x", "./x/a.onnx")).toEqual(["z.onnx", "x/a.onnx", "x/y/b.onnx"]);
  });
});

describe("failures", () => {
  const failures: readonly (readonly [what: string, args: readonly string[], stderr: RegExp])[] = [
    [
      "an unknown flag",
      ["a.onnx", "--max-warning", "3"],
      /tc-lint: Unknown argument: max-warning; did you mean --max-warnings\?/,
    ],
    ["no model", [], /no model given/],
    [
      "a bad count",
      ["a.onnx", "--max-warnings", "few"],
      /--max-warnings: found "few", expected a whole number/,
    ],
    ["a flag without its value", ["a.onnx", "--gpu"], /gpu/],
    ["a flag given twice", ["a.onnx", "--gpu", "h200", "--gpu", "l4"], /--gpu: given more than once/],
    ["an unknown GPU", ["a.onnx", "--gpu", "h20"], /--gpu: found "h20", expected one of .*h200/],
    ["an unknown format", ["a.onnx", "-f", "xml"], /--format: found "xml", expected one of text, json/],
    ["two reports on stdout", ["a.onnx", "-f", "json", "-f", "sarif"], /json and sarif cannot share stdout/],
    ["two reports in one file", ["a.onnx", "-f", "json=x", "-f", "sarif=x"], /cannot both be written to "x"/],
    ["an unknown rule", ["a.onnx", "--select", "TC777"], /--select: "TC777" is no rule/],
    ["an empty folder", ["empty"], /"empty": no \.onnx file there/],
    ["a pattern without matches", ["*.bin"], /"\*\.bin": no \.onnx file there/],
    [
      "a configuration that is not there",
      ["a.onnx", "--config", "no.json"],
      /no\.json: no such configuration file/,
    ],
    ["an unknown rule to explain", ["explain", "TC1O1"], /"TC1O1" is no rule; did you mean "TC101"\?/],
    [
      "an unwritable report",
      ["a.onnx", "-o", "a.onnx/report"],
      /a\.onnx\/report: the report cannot be written/,
    ],
  ];

  test.each(failures)("%s exits with 2 and says so", async (_, args, expected) => {
    folder.write("a.onnx", bytesOf(cleanModel()));
    folder.write("empty/readme.md", "");
    const { exitCode, stdout, stderr } = await tcLint(args);
    expect([exitCode, stdout]).toEqual([2, ""]);
    expect(stderr).toMatch(expected);
    expect(stderr).not.toMatch(/^ +at /m);
  });

  test("a model that is not there, or is none, has its error in the report", async () => {
    folder.write("text.onnx", "this is text");
    const { exitCode, stdout, stderr } = await tcLint(["text.onnx", "gone.onnx"]);
    expect([exitCode, stderr]).toEqual([2, ""]);
    expect(stdout).toContain("error not-onnx  text.onnx: is text");
    expect(stdout).toContain("error not-found  gone.onnx: no such file");
    expect(stdout).toContain("2 models failed");
  });

  test("--exit-zero forgives findings, not failures", async () => {
    folder.write("a.onnx", bytesOf(headModel()));
    expect((await tcLint(["a.onnx", "--exit-zero"])).exitCode).toBe(0);
    expect((await tcLint(["a.onnx", "gone.onnx", "--exit-zero"])).exitCode).toBe(2);
  });

  test("--no-error-on-unmatched-pattern has nothing to do", async () => {
    const { exitCode, stdout } = await tcLint(["gone.onnx", "*.onnx", "--no-error-on-unmatched-pattern"]);
    expect([exitCode, stdout]).toEqual([0, "no models\n"]);
  });

  test("a size that the model has no place for is named with those it has", async () => {
    folder.write("a.onnx", bytesOf(headModel({ rows: "rows" })));
    const { exitCode, stdout } = await tcLint(["a.onnx", "--dim", "batch=1"]);
    expect(exitCode).toBe(2);
    expect(stdout).toMatch(/no dimension named "batch"; it has rows/);
  });
});

describe("Git LFS pointers", () => {
  beforeEach(() => {
    folder.write("a.onnx", lfsPointer);
    folder.write("b.onnx", bytesOf(cleanModel()));
  });

  test("are an error that says what to run", async () => {
    const { exitCode, stdout } = await tcLint(["."]);
    expect(exitCode).toBe(2);
    expect(stdout).toContain('git lfs pull --include="a.onnx"');
  });

  test("may be a notice, never clean", async () => {
    const { exitCode, stdout } = await tcLint([".", "--lfs-pointers", "warn"]);
    expect(exitCode).toBe(0);
    expect(stdout).toMatch(/note +not linted: a\.onnx: is a Git LFS pointer/);
  });

  test("may be left out, which is said on stderr", async () => {
    const { exitCode, stdout, stderr } = await tcLint([".", "--lfs-pointers", "skip"]);
    expect([exitCode, stdout.includes("a.onnx")]).toEqual([0, false]);
    expect(stderr).toContain("skipped: a.onnx: is a Git LFS pointer");
  });
});

describe("configuration", () => {
  beforeEach(() => {
    folder.write("a.onnx", bytesOf(headModel()));
  });

  test("the nearest file decides, --no-config passes it over", async () => {
    folder.write("tc-lint.config.json", '{"rules": {"TC": "off"}, "gpu": "l4"}');
    expect((await tcLint(["a.onnx"])).exitCode).toBe(0);
    expect((await jsonOf(["a.onnx"])).models[0]?.target.gpu).toBe("l4");
    expect((await jsonOf(["a.onnx", "--no-config"])).models[0]?.target.gpu).toBe("h200");
  });

  test("a script may hold functions as long as the configuration does not", async () => {
    folder.write("tc-lint.config.mjs", 'const gpu = () => "a100"; export default { gpu: gpu() };');
    folder.write("b.onnx", bytesOf(headModel()));
    expect((await jsonOf(["a.onnx", "b.onnx"])).models.map(({ target }) => target.gpu)).toEqual([
      "a100",
      "a100",
    ]);
  });

  test("overrides suppress at nodes, and the report counts them", async () => {
    folder.write(
      "tc-lint.config.json",
      '{"overrides": [{"files": ["a.onnx"], "nodes": ["/lm_head/*"], "rules": {"misaligned-gemm": "off"}}]}',
    );
    const report = await jsonOf(["a.onnx", ...onlyHead]);
    expect(report.models[0]).toMatchObject({ findings: [], suppressed: 1 });
  });

  test("a rule that is off comes back at the nodes that an override names", async () => {
    folder.write(
      "tc-lint.config.json",
      '{"rules": {"TC": "off"}, "overrides": [{"nodes": ["/lm_head/*"], "rules": {"TC102": "error"}}]}',
    );
    const report = await jsonOf(["a.onnx"]);
    expect(report.models[0]?.findings.map(({ code, severity }) => [code, severity])).toEqual([
      ["TC102", "error"],
    ]);
    folder.write("b.onnx", bytesOf(headModel({ nodeName: "other" })));
    expect((await jsonOf(["b.onnx"])).models[0]?.findings).toEqual([]);
  });

  test("metadata of the model suppresses with a reason", async () => {
    folder.write(
      "c.onnx",
      bytesOf(headModel({ metadata: { "tc-lint.ignore": "TC102 -- the vocabulary is fixed" } })),
    );
    expect((await jsonOf(["c.onnx", ...onlyHead])).models[0]).toMatchObject({ findings: [], suppressed: 1 });
  });

  test("ignores hold for what is found, and with --force-exclude for what is named", async () => {
    folder.write("old/b.onnx", bytesOf(headModel()));
    folder.write("tc-lint.config.json", '{"ignores": ["old/**"]}');
    const paths = async (...args: string[]) => (await jsonOf(args)).models.map((model) => model.path);
    expect(await paths(".")).toEqual(["a.onnx"]);
    expect(await paths("a.onnx", "old/b.onnx")).toEqual(["a.onnx", "old/b.onnx"]);
    expect(await paths("a.onnx", "old/b.onnx", "--force-exclude")).toEqual(["a.onnx"]);
  });

  test("what is wrong in a file is named with its key", async () => {
    folder.write("tc-lint.config.json", '{"rules": {"TC102": "of"}}');
    const { exitCode, stderr } = await tcLint(["a.onnx"]);
    expect(exitCode).toBe(2);
    expect(stderr).toContain(`tc-lint.config.json: rules.TC102: found 'of', expected one of`);
  });

  test("--print-config and print-config show what was decided", async () => {
    folder.write("tc-lint.config.json", '{"gpu": "l4", "rules": {"TC102": "off"}}');
    const flag = await tcLint(["a.onnx", "--print-config", "--dim", "batch=3"]);
    const command = await tcLint(["print-config", "a.onnx", "--dim", "batch=3"]);
    expect(flag).toEqual(command);
    expect(JSON.parse(flag.stdout)).toMatchObject({
      path: "a.onnx",
      gpu: "l4",
      dims: { batch: 3 },
      severities: { TC101: "warn", TC102: "off" },
      configFiles: ["tc-lint.config.json"],
    });
    expect(JSON.parse((await tcLint(["print-config"])).stdout)).toMatchObject({ gpu: "l4" });
  });
});

describe("in a GitHub workflow", () => {
  const workflow = { GITHUB_ACTIONS: "true" };

  beforeEach(() => {
    folder.write("a.onnx", bytesOf(headModel()));
  });

  test("annotations come with the text, and a step summary is added to", async () => {
    const summary = folder.write("summary.md", "# before\n");
    const { stdout } = await tcLint(["a.onnx", ...onlyHead], {
      env: { ...workflow, GITHUB_STEP_SUMMARY: summary },
    });
    expect(stdout).toContain("1 error in 1 model");
    expect(stdout).toMatch(
      /^::error file=a\.onnx,line=1,title=TC102 misaligned-gemm::\/lm_head\/MatMul \(MatMul\): /m,
    );
    expect(readFileSync(summary, "utf8")).toMatch(/^# before\n# tc-lint\n/);
  });

  test("-f decides alone", async () => {
    const { stdout } = await tcLint(["a.onnx", "-f", "text"], { env: workflow });
    expect(stdout).not.toContain("::error");
  });
});

describe("the rest", () => {
  test("--version and --help", async () => {
    const manifest = JSON.parse(readFileSync(new URL("../../package.json", import.meta.url), "utf8"));
    expect(await tcLint(["--version"])).toMatchObject({
      exitCode: 0,
      stdout: `${manifest.version}\n`,
      stderr: "",
    });
    const help = await tcLint(["--help"]);
    expect([help.exitCode, help.stderr]).toEqual([0, ""]);
    for (const text of ["--gpu", "--max-warnings", "explain [rule]", "Exit codes: 0 clean"])
      expect(help.stdout).toContain(text);
  });

  test("gpus lists rows with their sources", async () => {
    const { exitCode, stdout } = await tcLint(["gpus"]);
    expect(exitCode).toBe(0);
    expect(stdout).toMatch(/^h200 +NVIDIA H200 +9\.0 +132 /m);
    expect(stdout).toMatch(/^h200 +NVIDIA H200 datasheet/m);
    expect(JSON.parse((await tcLint(["gpus", "-f", "json"])).stdout).gpus.length).toBeGreaterThan(10);
  });

  test("explain shows a rule by code or name, or lists them all", async () => {
    const [byCode, byName] = await Promise.all([
      tcLint(["explain", "tc102"]),
      tcLint(["explain", "misaligned-gemm"]),
    ]);
    expect(byCode).toEqual(byName);
    expect(byCode.stdout).toMatch(/^TC102 misaligned-gemm\nwarn by default; fixed by --fix\n/);
    expect((await tcLint(["explain"])).stdout).toMatch(/^TC105 +narrow-stem +info /m);
    expect(JSON.parse((await tcLint(["explain", "TC102", "-f", "json"])).stdout)).toMatchObject({
      code: "TC102",
    });
  });

  test("an interrupt ends a run of several models with 130 and without half a report", async () => {
    for (let index = 0; index < 40; index++) folder.write(`${index}.onnx`, bytesOf(headModel()));
    const { exitCode, signal, stdout } = await tcLint([".", "-j", "1"], { interruptAfterMilliseconds: 100 });
    // Before the handler is in place the signal itself ends the process: shells show 130 for both.
    expect(exitCode ?? signal).toSatisfy((end) => end === 130 || end === "SIGINT");
    expect(stdout).toBe("");
  });
});
