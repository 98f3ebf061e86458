import { beforeEach, describe, expect, test } from "vitest";
import type { LintReport } from "../../src/lint/result.ts";
import { bytesOf, cleanModel, headModel, lfsPointer } from "./models.ts";
import { useWorkbench } from "./workbench.ts";

const bench = useWorkbench();

describe("several models", () => {
  test("are linted in workers, in order, and a broken one fails alone", async () => {
    bench.folder.write("a.onnx", bytesOf(headModel()));
    bench.folder.write("b.onnx", bytesOf(headModel()).subarray(0, 60));
    bench.folder.write("c/d.onnx", bytesOf(cleanModel()));
    bench.folder.write("node_modules/e.onnx", bytesOf(headModel()));
    bench.folder.write("notes.txt", "no model");
    const { exitCode, stdout, stderr } = await bench.tcLint([".", "-f", "json", "--jobs", "2"]);
    expect([exitCode, stderr]).toEqual([2, ""]);
    const report: LintReport = JSON.parse(stdout);
    expect(report.models.map(({ path: file, error }) => [file, error?.code ?? null])).toEqual([
      ["a.onnx", null],
      ["b.onnx", "truncated"],
      ["c/d.onnx", null],
    ]);
    expect(report.summary.failedModels).toBe(1);
    const alone = await bench.jsonOf(["a.onnx"]);
    expect(report.models[0]).toEqual(alone.models[0]);
    // Small ones, without threads.
    expect(await bench.tcLint([".", "-f", "json"])).toEqual({ exitCode, signal: null, stdout, stderr });
  });

  test("fail alone where their folder's configuration is wrong", async () => {
    bench.folder.write("a/model.onnx", bytesOf(headModel()));
    bench.folder.write("b/model.onnx", bytesOf(headModel()));
    bench.folder.write("b/tc-lint.config.json", '{"gpu": "abacus"}');
    const { exitCode, stdout } = await bench.tcLint([".", "-f", "json"]);
    expect(exitCode).toBe(2);
    const report: LintReport = JSON.parse(stdout);
    expect(report.models.map(({ path: file, error }) => [file, error?.code ?? null])).toEqual([
      ["a/model.onnx", null],
      ["b/model.onnx", "bad-config"],
    ]);
    const alone = await bench.tcLint(["b/model.onnx"]);
    expect([alone.exitCode, alone.stderr]).toEqual([2, expect.stringMatching(/gpu: found "abacus"/)]);
  });

  test("come out the same however many threads there are", async () => {
    for (const name of ["a", "b", "c", "d"])
      bench.folder.write(`${name}.onnx`, bytesOf(headModel({ n: 1001 })));
    const [none, one, many] = await Promise.all(
      [[], ["-j", "1"], ["-j", "4"]].map((jobs) => bench.tcLint([".", ...jobs])),
    );
    expect(one?.stdout).toBe(many?.stdout);
    expect(one?.stdout).toBe(none?.stdout);
    expect(one?.stdout.match(/^[a-d]\.onnx$/gm)).toEqual(["a.onnx", "b.onnx", "c.onnx", "d.onnx"]);
  });

  test("sizes go where they fit; one that fits nowhere is a mistake", async () => {
    bench.folder.write("rows.onnx", bytesOf(headModel({ rows: "rows" })));
    bench.folder.write("fixed.onnx", bytesOf(headModel()));
    const report = await bench.jsonOf([".", "--dim", "rows=8"]);
    expect(report.models.map(({ symbols }) => symbols)).toEqual([{}, { rows: 8 }]);
    // Which one it does not fit is said.
    const said = report.models.map(({ notices }) =>
      notices.flatMap(({ code, message }) => (code === "scenario-without-place" ? [message] : [])),
    );
    const message = 'the model has no dimension named "rows": at its own sizes, whatever --dim says';
    expect(said).toEqual([[message], []]);
    const { exitCode, stderr } = await bench.tcLint([".", "--dim", "rows=8", "--dim", "colums=3"]);
    expect(exitCode).toBe(2);
    expect(stderr).toContain('no model has an input or a dimension named "colums"');
  });

  test("are found by patterns", async () => {
    for (const name of ["x/a.onnx", "x/y/b.onnx", "z.onnx"]) bench.folder.write(name, bytesOf(cleanModel()));
    bench.folder.write("x/readme.md", "# models");
    const paths = async (...patterns: string[]) =>
      (await bench.jsonOf(patterns)).models.map((model) => model.path);
    expect(await paths("x/*")).toEqual(["x/a.onnx"]);
    expect(await paths("**/*.onnx")).toEqual(["x/a.onnx", "x/y/b.onnx", "z.onnx"]);
    expect(await paths("z.onnx", "x", "./x/a.onnx")).toEqual(["z.onnx", "x/a.onnx", "x/y/b.onnx"]);
  });
});

describe("Git LFS pointers", () => {
  beforeEach(() => {
    bench.folder.write("a.onnx", lfsPointer);
    bench.folder.write("b.onnx", bytesOf(cleanModel()));
  });

  test("are an error that says what to run", async () => {
    const { exitCode, stdout } = await bench.tcLint(["."]);
    expect(exitCode).toBe(2);
    expect(stdout).toContain('git lfs pull --include="a.onnx"');
  });

  test("may be a notice, never clean", async () => {
    const { exitCode, stdout } = await bench.tcLint([".", "--lfs-pointers", "warn"]);
    expect(exitCode).toBe(0);
    expect(stdout).toMatch(/note +not linted: a\.onnx: is a Git LFS pointer/);
  });

  test("may be left out, which is said on stderr", async () => {
    const { exitCode, stdout, stderr } = await bench.tcLint([".", "--lfs-pointers", "skip"]);
    expect([exitCode, stdout.includes("a.onnx")]).toEqual([0, false]);
    expect(stderr).toContain("skipped: a.onnx: is a Git LFS pointer");
  });
});
