import { readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { beforeEach, describe, expect, test } from "vitest";
import type { LintReport } from "../../src/lint/result.ts";
import { zooModel } from "../zoo.ts";
import { bytesOf, cleanModel, headModel } from "./models.ts";
import { onlyHead, useWorkbench } from "./workbench.ts";

const bench = useWorkbench();

describe("one model", () => {
  beforeEach(() => {
    bench.folder.write("head.onnx", bytesOf(headModel()));
    bench.folder.write("clean.onnx", bytesOf(cleanModel()));
  });

  test("an expensive flaw is an error, ranked, with what to do", async () => {
    const { exitCode, stdout, stderr } = await bench.tcLint(["head.onnx", ...onlyHead]);
    expect([exitCode, stderr]).toEqual([1, ""]);
    expect(stdout).toContain("head.onnx\n");
    expect(stdout).toMatch(/error {2}TC102 misaligned-gemm {2}\/lm_head\/MatMul \(MatMul\)/);
    expect(stdout).toMatch(/saves [\d.]+ (µs|ms)\n.*\n +\d+ % of [\d.]+ (µs|ms) \(\d/);
    expect(stdout).toContain("fixed by --fix");
    expect(stdout).toContain("weights not present: head.weights; shapes are enough to lint");
    expect(stdout).toContain("1 error in 1 model; 1 fixable with --fix");
    expect(stdout).toContain("tc-lint explain TC102");
  });

  test("lint is the command that is meant when none is given", async () => {
    const [bare, named] = await Promise.all([
      bench.tcLint(["head.onnx"]),
      bench.tcLint(["lint", "head.onnx"]),
    ]);
    expect(bare).toEqual(named);
  });

  test("a file that looks like a flag comes after --", async () => {
    bench.folder.write("-x.onnx", bytesOf(cleanModel()));
    const { exitCode, stdout } = await bench.tcLint(["clean.onnx", "--", "-x.onnx"]);
    expect([exitCode, stdout.includes("no findings in 2 models")]).toEqual([0, true]);
  });

  test("a clean model is clean", async () => {
    const { exitCode, stdout } = await bench.tcLint(["clean.onnx"]);
    expect(exitCode).toBe(0);
    expect(stdout).toContain("no findings in 1 model");
  });

  test("JSON goes to a file, and stdout stays empty", async () => {
    const { exitCode, stdout, stderr } = await bench.tcLint([
      "head.onnx",
      "-f",
      "json=report.json",
      ...onlyHead,
    ]);
    expect([exitCode, stdout, stderr]).toEqual([1, "", ""]);
    const report: LintReport = JSON.parse(readFileSync(path.join(bench.folder.path, "report.json"), "utf8"));
    expect(report).toMatchObject({
      version: 1,
      summary: { errors: 1 },
      models: [{ path: "head.onnx", error: null }],
    });
    expect(readdirSync(bench.folder.path).filter((name) => name.includes("report"))).toEqual(["report.json"]);
  });

  test("several formats in one run", async () => {
    const { stdout } = await bench.tcLint([
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
    expect(JSON.parse(readFileSync(path.join(bench.folder.path, "a.sarif"), "utf8"))).toMatchObject({
      version: "2.1.0",
    });
    expect(readFileSync(path.join(bench.folder.path, "a.md"), "utf8")).toContain("TC102 misaligned-gemm");
  });

  test("-o takes one format, text unless -f says which", async () => {
    await bench.tcLint(["head.onnx", "-o", "report.txt"]);
    expect(readFileSync(path.join(bench.folder.path, "report.txt"), "utf8")).toContain("TC102");
    await bench.tcLint(["head.onnx", "-f", "csv", "-o", "layers.csv"]);
    const [title, row] = readFileSync(path.join(bench.folder.path, "layers.csv"), "utf8").split("\r\n");
    expect(title).toMatch(/^model,graph,node,op,family,sizes,compute,runs,flops,bytes,flops_per_byte,bound,/);
    expect(row).toMatch(
      /^head\.onnx,graph,\/lm_head\/MatMul,MatMul,gemm,batch=1 m=4096 n=50257 k=4096,fp16,1,/,
    );
  });

  test("--table lists every layer", async () => {
    const { stdout } = await bench.tcLint(["head.onnx", "--table"]);
    expect(stdout).toMatch(/node +op +sizes +as +FLOPs +bytes +FLOPs\/B +bound +time +share +findings/);
    expect(stdout).toMatch(/\/lm_head\/MatMul +MatMul +4096×50257×4096 +fp16 +1\.69 T .* TC102/);
    const report = await bench.jsonOf(["head.onnx", "--table"]);
    expect(report.models[0]?.layers).toHaveLength(1);
  });

  test("--stats counts by rule", async () => {
    const { stdout } = await bench.tcLint(["head.onnx", "--stats", ...onlyHead]);
    expect(stdout).toMatch(/By rule\n {2}TC102 {2}misaligned-gemm {2}1 {2}1 fixable {2}up to /);
  });

  test("sizes bind what is symbolic, and what is left is said", async () => {
    bench.folder.write("rows.onnx", bytesOf(headModel({ rows: "rows" })));
    const [assumed, bound, shaped] = await Promise.all([
      bench.jsonOf(["rows.onnx"]),
      bench.jsonOf(["rows.onnx", "--dim", "rows=512"]),
      bench.jsonOf(["rows.onnx", "--shape", "hidden=512,4096"]),
    ]);
    expect(assumed.models[0]).toMatchObject({ symbols: { rows: 1 }, assumed: ["rows"] });
    expect(bound.models[0]).toMatchObject({ symbols: { rows: 512 }, assumed: [] });
    expect(shaped.models[0]?.predicted).toEqual(bound.models[0]?.predicted);
    expect((await bench.tcLint(["rows.onnx"])).stdout).toContain(
      "priced at rows=1 (assumed): bind with --dim rows=N",
    );
  });

  test("the target decides", async () => {
    const [h200, t4] = await Promise.all([
      bench.jsonOf(["head.onnx"]),
      bench.jsonOf(["head.onnx", "--gpu", "t4", "--stack", "tensorrt"]),
    ]);
    expect(t4.models[0]?.target).toEqual({ gpu: "t4", stack: "tensorrt", precision: "fp16" });
    expect(t4.models[0]?.predicted.basis).toBe("datasheet");
    // A fifteenth of the rate, but TensorRT pads the odd head itself.
    expect(t4.models[0]?.predicted.microseconds).toBeGreaterThan(
      2 * (h200.models[0]?.predicted.microseconds ?? 0),
    );
  });

  test("a precision that the GPU lacks is said", async () => {
    const { stdout } = await bench.tcLint(["head.onnx", "--gpu", "t4", "--precision", "bf16"]);
    expect(stdout).toContain("do not multiply bf16");
  });

  test("a type of the file that the GPU lacks is said", async () => {
    bench.folder.write("bf16.onnx", bytesOf(headModel({ elemType: 16 })));
    const messages = async (...flags: string[]) =>
      (
        await bench.jsonOf(["bf16.onnx", ...(flags.includes("--gpu") ? [] : ["--gpu", "v100"]), ...flags])
      ).models[0]?.notices.flatMap(({ code, message }) => (code === "no-tensor-core-rate" ? [message] : []));
    expect(await messages("--precision", "as-is")).toEqual([expect.stringContaining("do not multiply bf16")]);
    // FP16 is what no fix stores it in: it is predicted as it is.
    for (const precision of ["bf16", "fp16"])
      expect(await messages("--precision", precision)).toHaveLength(1);
    expect(await messages("--precision", "as-is", "--gpu", "h200")).toEqual([]);
  });

  test("what --fix repairs is told of --fix without the precision that a flag names", async () => {
    bench.folder.write("float.onnx", bytesOf(headModel({ elemType: 1 })));
    const saidOf = async (file: string, ...flags: string[]) => {
      const [model] = (await bench.jsonOf([file, ...onlyHead, ...flags])).models;
      const command = model?.groups[0]?.fixCommand;
      return [command, model?.notices.some(({ code }) => code === "fix-beside-precision")];
    };
    const alone = ["--fix", ...onlyHead].join(" ");
    expect(await saidOf("float.onnx")).toEqual([alone, false]);
    expect(await saidOf("float.onnx", "--precision", "fp16")).toEqual([alone, true]);
    // Beside which a file in half stays as it is.
    expect(await saidOf("head.onnx", "--precision", "fp16")).toEqual([
      ["--fix", "--precision", "fp16", ...onlyHead].join(" "),
      false,
    ]);
  });

  test("thresholds move the line between error, warning and nothing", async () => {
    const summaryOf = async (...flags: string[]) =>
      (await bench.jsonOf(["head.onnx", ...onlyHead, ...flags])).summary;
    expect(await summaryOf()).toMatchObject({ errors: 1, warnings: 0 });
    expect(await summaryOf("--error-share", "100%")).toMatchObject({ errors: 0, warnings: 1 });
    expect(await summaryOf("--min-saving", "1")).toMatchObject({ errors: 0, warnings: 0 });
    const { stdout } = await bench.tcLint(["head.onnx", ...onlyHead, "--min-saving", "100%"]);
    expect(stdout).toMatch(/1 finding below the threshold \(predicted .*\).*: --verbose lists them/);
  });

  test("--quiet hides warnings and counts them, and stderr says that they fail the run", async () => {
    const warn = ["head.onnx", ...onlyHead, "--error-share", "100%", "--max-warnings", "0"];
    const { exitCode, stdout, stderr } = await bench.tcLint([...warn, "--quiet"]);
    expect(exitCode).toBe(1);
    expect(stdout.trimEnd().split("\n"), "a model without errors is counted alone").toHaveLength(1);
    expect(stderr).toBe("tc-lint: 1 warning, more than --max-warnings 0 allows\n");
    // What is hidden is found all the same: no format says that there is nothing.
    for (const format of ["text", "agent", "markdown", "html"]) {
      const quiet = await bench.tcLint([...warn, "--quiet", "-f", format]);
      expect(quiet.stdout, format).not.toMatch(/no findings|\b0 warnings/i);
    }
    expect(stdout).toBe("no errors in 1 model\n");
    const error = await bench.tcLint(["head.onnx", ...onlyHead, "--max-warnings", "0"]);
    expect([error.exitCode, error.stderr]).toEqual([1, ""]);
  });

  test("--fail-on fixable fails on what --fix repairs, whatever its severity, and on nothing else", async () => {
    const repairable = ["head.onnx", ...onlyHead, "--fail-on", "fixable"];
    const why =
      "tc-lint: 1 entry that --fix --select misaligned-gemm repairs, which --fail-on fixable fails: head.onnx: TC102 /lm_head/MatMul\n";
    for (const flags of [[], ["--error-share", "100%"], ["--error-share", "100%", "--quiet"]]) {
      const { exitCode, stderr } = await bench.tcLint([...repairable, ...flags]);
      expect([exitCode, stderr]).toEqual([1, why]);
    }
    expect((await bench.tcLint([...repairable, "--exit-zero"])).exitCode).toBe(0);
    const authors = zooModel("siglip_so400m_d2");
    expect((await bench.tcLint([authors])).exitCode).toBe(1);
    const { exitCode, stdout, stderr } = await bench.tcLint([authors, "--fail-on", "fixable"]);
    expect([exitCode, stderr]).toEqual([0, ""]);
    expect(stdout).toMatch(/\d errors?/);
  });

  test("colour only where it is asked for", async () => {
    const start = "\u001b[";
    expect((await bench.tcLint(["head.onnx"])).stdout).not.toContain(start);
    expect((await bench.tcLint(["head.onnx", "--color"])).stdout).toContain(start);
    expect(
      (await bench.tcLint(["head.onnx"], { env: { FORCE_COLOR: "1", NO_COLOR: "1" } })).stdout,
    ).toContain(start);
    expect(
      (await bench.tcLint(["head.onnx", "--no-color"], { env: { FORCE_COLOR: "1" } })).stdout,
    ).not.toContain(start);
    await bench.tcLint(["head.onnx", "-o", "plain.txt"], { env: { FORCE_COLOR: "1" } });
    expect(readFileSync(path.join(bench.folder.path, "plain.txt"), "utf8")).not.toContain(start);
  });
});

describe("in a GitHub workflow", () => {
  const workflow = { GITHUB_ACTIONS: "true" };

  beforeEach(() => {
    bench.folder.write("a.onnx", bytesOf(headModel()));
  });

  test("annotations come with the text, and a step summary is added to", async () => {
    const summary = bench.folder.write("summary.md", "# before\n");
    const { stdout } = await bench.tcLint(["a.onnx", ...onlyHead], {
      env: { ...workflow, GITHUB_STEP_SUMMARY: summary },
    });
    expect(stdout).toContain("1 error in 1 model");
    expect(stdout).toMatch(
      /^::error file=a\.onnx,line=1,title=TC102 misaligned-gemm::\/lm_head\/MatMul \(MatMul\): /m,
    );
    expect(readFileSync(summary, "utf8")).toMatch(/^# before\n# tc-lint\n/);
  });

  test("-f decides alone", async () => {
    const { stdout } = await bench.tcLint(["a.onnx", "-f", "text"], { env: workflow });
    expect(stdout).not.toContain("::error");
  });
});
