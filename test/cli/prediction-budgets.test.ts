/** Budgets of the configuration: what models may take, held against what is predicted of them. */
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { Ajv } from "ajv";
import { beforeEach, describe, expect, test } from "vitest";
import { model } from "../../fixtures/builder.ts";
import { duration } from "../../src/ir/format.ts";
import type { BudgetReport } from "../../src/lint/result.ts";
import { budgetName } from "../../src/report/budget-text.ts";
import { bytesOf, headModel } from "./models.ts";
import { useWorkbench } from "./workbench.ts";

const require = createRequire(import.meta.url);
const schemas = new Ajv({ allowUnionTypes: true });
const isReport = schemas.compile(require("../../schemas/report.schema.json"));
const isComparison = schemas.compile(require("../../schemas/compare-report.schema.json"));
const bench = useWorkbench();
/** Findings are not what is looked at here. */
const alone = ["--ignore", "TC"];

function configure(...budgets: readonly object[]): void {
  bench.folder.write("tc-lint.config.json", JSON.stringify({ budgets }));
}

async function budgetsOf(args: readonly string[]): Promise<readonly BudgetReport[]> {
  const { stdout } = await bench.tcLint([...args, ...alone, "-f", "json"]);
  const report = JSON.parse(stdout);
  expect(isReport(report), JSON.stringify(isReport.errors)).toBe(true);
  return report.models.flatMap(
    ({ budgets }: { readonly budgets?: readonly BudgetReport[] }) => budgets ?? [],
  );
}

describe("budgets", () => {
  beforeEach(() => {
    bench.folder.write("a.onnx", bytesOf(headModel({ rows: "batch" })));
  });

  test("fail only where the whole interval is beyond, and say limit, prediction and interval", async () => {
    const { predicted } = (await bench.jsonOf(["a.onnx", ...alone])).models[0] ?? {};
    const { low, high, microseconds } = predicted ?? { low: 0, high: 0, microseconds: 0 };
    const cases = [
      [high * 1.01, "kept", 0],
      [(microseconds + high) / 2, "may-exceed", 0],
      [(microseconds + low) / 2, "may-exceed", 0],
      [low * 0.99, "exceeded", 1],
    ] as const;
    for (const [maxMicroseconds, verdict, exitCode] of cases) {
      configure({ gpu: "h200", maxMicroseconds });
      const run = await bench.tcLint(["a.onnx", ...alone]);
      expect(run.exitCode).toBe(exitCode);
      expect(run.stdout).toContain("budget on h200 (ort-cuda, fp16): at most");
      expect(run.stdout.includes("1 budget exceeded")).toBe(verdict === "exceeded");
      expect(await budgetsOf(["a.onnx"])).toEqual([
        {
          budget: "maxMicroseconds",
          target: { gpu: "h200", stack: "ort-cuda", precision: "fp16" },
          limit: maxMicroseconds,
          predicted: microseconds,
          low,
          high,
          verdict,
        },
      ]);
    }
  });

  test("of a model of which nothing could be looked at are neither kept nor exceeded", async () => {
    const own = model({ name: "own", opset: 17, domains: { "my.ops": 1 } }, (graph) => {
      graph.output(graph.node("Mystery", [graph.input("x", [512, 1024])], {}, { domain: "my.ops" }));
    });
    bench.folder.write("own.onnx", own);
    configure({ gpu: "h200", maxMicroseconds: 1, minTensorCoreShare: "10 %" });
    const { stdout, exitCode } = await bench.tcLint(["own.onnx", ...alone]);
    expect((await budgetsOf(["own.onnx"])).map(({ verdict }) => verdict)).toEqual(["unpriced", "unpriced"]);
    expect(stdout).toMatch(/at most 1 µs: not held: nothing of the model could be looked at\n/);
    expect(stdout).not.toMatch(/kept|exceeded/);
    expect(exitCode).toBe(0);
  });

  test("are of the precision that they name, and where lint tells of the file as stored else of that, by name", async () => {
    bench.folder.write("tcn.onnx", readFileSync("fixtures/zoo/tcn.onnx"));
    const [{ predicted } = { predicted: undefined }] = (await bench.jsonOf(["tcn.onnx", ...alone])).models;
    const half = predicted?.half;
    if (predicted === undefined || half === undefined) throw new Error("tcn is told as stored");
    // Between what the two take: nothing of FP16's interval is within, as stored it may be.
    const maxMicroseconds = (predicted.low + half.low) / 2;
    configure(
      { gpu: "h200", precision: "fp16", maxMicroseconds },
      { gpu: "h200", maxMicroseconds },
      { gpu: "h200", precision: "as-is", maxMicroseconds },
    );
    const figures = ({ microseconds, low, high }: typeof half | typeof predicted) => ({
      ...{ predicted: microseconds, low, high },
    });
    const found = await budgetsOf(["tcn.onnx"]);
    expect(found).toMatchObject([
      { ...figures(half), verdict: "exceeded" },
      { ...figures(predicted), verdict: "may-exceed", asStored: true },
      { ...figures(predicted), verdict: "may-exceed" },
    ]);
    expect(found.map(({ asStored }) => asStored)).toEqual([undefined, true, undefined]);
    bench.folder.write("again.onnx", readFileSync("fixtures/zoo/tcn.onnx"));
    for (const args of [["tcn.onnx"], ["compare", "tcn.onnx", "again.onnx"]]) {
      const { exitCode, stdout } = await bench.tcLint([...args, ...alone]);
      expect(exitCode).toBe(1);
      expect(
        stdout
          .match(/\(ort-cuda, .*?\).*predicted \S+ µs/g)
          ?.map((each) => each.replace(/: .*predicted/, "")),
      ).toEqual([
        `(ort-cuda, fp16) ${duration(half.microseconds)}`,
        `(ort-cuda, as stored) ${duration(predicted.microseconds)}`,
        `(ort-cuda, as-is) ${duration(predicted.microseconds)}`,
      ]);
    }
  });

  test("of a change are in the figures that the comparison tells of both files as stored, each once", async () => {
    for (const name of ["misaligned_cnn", "siamese", "resnet50"])
      bench.folder.write(`${name}.onnx`, readFileSync(`fixtures/zoo/${name}.onnx`));
    const limits = { gpu: "h200", maxMicroseconds: 1, maxRegression: "1 %" };
    configure(limits, { ...limits, precision: "fp16" });
    for (const head of ["siamese.onnx", "resnet50.onnx"]) {
      const args = ["compare", "misaligned_cnn.onnx", head, ...alone];
      const json = await bench.tcLint([...args, "-f", "json"]);
      const report = JSON.parse(json.stdout);
      expect(isComparison(report), JSON.stringify(isComparison.errors)).toBe(true);
      const [{ time, stored, budgets }] = report.models;
      const ofChange = budgets.filter(({ budget }: BudgetReport) => budget === "maxRegression");
      const figures = (of: typeof time) => ({ predicted: of.share, low: of.shareLow, high: of.shareHigh });
      expect(ofChange).toMatchObject([
        { ...figures(stored.time), asStored: true, verdict: "exceeded" },
        { ...figures(time), verdict: "exceeded" },
      ]);
      expect(new Set(budgets.map(budgetName)).size).toBe(budgets.length);
      const text = await bench.tcLint(args);
      expect(text.exitCode).toBe(1);
      expect(text.stdout.match(/^.*at most 1 % slower.*$/gm)).toEqual([
        expect.stringContaining("(ort-cuda, as stored)"),
        expect.stringContaining("(ort-cuda, fp16)"),
      ]);
    }
    // Both name what is told of in any case: one limit.
    expect((await budgetsOf(["resnet50.onnx"])).length).toBe(1);
  });

  test("of another GPU are what a run for that GPU says", async () => {
    configure({ gpu: "l4", stack: "tensorrt", maxMicroseconds: 1, minTensorCoreShare: "10 %" });
    const target = ["--gpu", "l4", "--stack", "tensorrt"];
    const { models } = JSON.parse((await bench.tcLint(["a.onnx", ...alone, ...target, "-f", "json"])).stdout);
    const { microseconds, low, high, tensorCoreShare } = models[0].predicted;
    const found = await budgetsOf(["a.onnx", "--gpu", "a100"]);
    expect(found).toMatchObject([
      { budget: "maxMicroseconds", predicted: microseconds, low, high, verdict: "exceeded" },
      { budget: "minTensorCoreShare", limit: 0.1, predicted: tensorCoreShare, verdict: "kept" },
    ]);
    expect(found).toEqual(models[0].budgets);
    expect(found[1]?.low).toBeLessThanOrEqual(tensorCoreShare);
    expect(found[1]?.high).toBeGreaterThanOrEqual(tensorCoreShare);
  });

  test("of the bundled runtime's stack are priced by its planner, whatever stack is linted for", async () => {
    configure({ gpu: "h200", stack: "tc-runtime", maxMicroseconds: 1 });
    const own = await bench.jsonOf(["a.onnx", ...alone, "--stack", "tc-runtime", "--no-config"]);
    expect(await budgetsOf(["a.onnx"])).toMatchObject([{ predicted: own.models[0]?.predicted.microseconds }]);
  });

  test("are there once in a run of several targets, and at every size of theirs", async () => {
    configure({ gpu: "l4", maxMicroseconds: 1 }, { gpu: "a100", maxMicroseconds: 1 });
    const gpusOf = async (args: readonly string[]) =>
      (await budgetsOf(["a.onnx", ...args])).map(({ target }) => target.gpu);
    expect(await gpusOf(["--gpu", "h200,l4"])).toEqual(["a100", "l4"]);
    expect(await gpusOf(["--gpu", "l4", "--dim", "batch=1,8"])).toEqual(["l4", "a100", "l4"]);
    const table = await bench.tcLint(["a.onnx", ...alone, "--gpu", "h200,l4"]);
    expect(table.exitCode).toBe(1);
    expect(table.stdout).toContain("budget on a100 (ort-cuda, fp16): at most 1 µs");
  });

  test("are of the files that they name", async () => {
    bench.folder.write("sub/b.onnx", bytesOf(headModel()));
    configure({ gpu: "h200", files: ["sub/**"], maxMicroseconds: 1 });
    expect(await budgetsOf(["a.onnx"])).toEqual([]);
    expect(await budgetsOf(["sub/b.onnx"])).toHaveLength(1);
    configure({ gpu: "h200", files: "a.*", maxMicroseconds: 1 });
    expect(await budgetsOf(["a.onnx", "sub/b.onnx"])).toHaveLength(1);
  });

  test("stand in Markdown, and in one line on stderr beside formats without a place for them", async () => {
    configure({ gpu: "h200", maxMicroseconds: 1 });
    const markdown = await bench.tcLint(["a.onnx", ...alone, "-f", "markdown"]);
    expect(markdown.stdout).toMatch(/- budget on h200 .*: \*\*exceeded\*\*/);
    expect(markdown.stdout).toContain("**1 budget exceeded**");
    const csv = await bench.tcLint(["a.onnx", ...alone, "-f", "csv"]);
    expect(csv.exitCode).toBe(1);
    expect(csv.stderr).toMatch(/^tc-lint: a\.onnx: budget on h200 .*: exceeded$/m);
    expect((await bench.tcLint(["a.onnx", ...alone, "--exit-zero"])).exitCode).toBe(0);
  });

  test("that something is to reach are not exceeded, but missed; programs that read text are told too", async () => {
    bench.folder.write(
      "b.onnx",
      readFileSync(new URL("../../fixtures/models/aligned-mlp.onnx", import.meta.url)),
    );
    for (const [minTensorCoreShare, said] of [
      ["99 %", "not reached"],
      ["0.1 %", "kept"],
    ] as const) {
      configure({ gpu: "h200", minTensorCoreShare });
      for (const format of ["text", "agent"]) {
        const { stdout } = await bench.tcLint(["b.onnx", ...alone, "-f", format]);
        expect(stdout).toMatch(
          new RegExp(`budget on h200 .*: at least ${minTensorCoreShare} of the time on .*: ${said}\n`),
        );
      }
    }
  });

  test("of files that are not there are named: a folder that is misspelt keeps every budget", async () => {
    const of = async (files: string | readonly string[]) => {
      configure({ gpu: "h200", files, maxMicroseconds: 1 });
      return (await bench.tcLint([".", ...alone])).stderr;
    };
    expect(await of(["modles/**", "b/c.onnx"])).toContain(
      'budgets[0] holds no model: "modles/**", "b/c.onnx" is not there',
    );
    for (const files of ["**/*.onnx", "a.onnx", ["nowhere/**", "{a,b}.onnx"]])
      expect(await of(files)).not.toContain("holds no model");
  });

  test.each<[object, RegExp]>([
    [{ gpu: "h20", maxMicroseconds: 1 }, /budgets\[0\]\.gpu: found "h20", expected one of/],
    [{ maxMicroseconds: 1 }, /budgets\[0\]: lacks "gpu"/],
    [
      { gpu: "h200", files: [], maxMicroseconds: 1 },
      /budgets\[0\]\.files: names no file; left out, the budget is for/,
    ],
    [{ gpu: "h200" }, /budgets\[0\]: limits nothing; expected maxMicroseconds, minTensorCoreShare or/],
    [{ gpu: "h200", maxMicroSeconds: 1 }, /budgets\[0\]\.maxMicroSeconds: unknown key; did you mean "maxMic/],
    [{ gpu: "h200", maxMicroseconds: 0 }, /maxMicroseconds: found 0, expected microseconds of one run/],
    [{ gpu: "h200", maxMicroseconds: "5 ms" }, /maxMicroseconds: found "5 ms", expected/],
    [{ gpu: "h200", minTensorCoreShare: 80 }, /minTensorCoreShare: found 80, expected a part of the whole/],
    [{ gpu: "h200", maxRegression: "5" }, /maxRegression: found "5", expected a part of the whole/],
    [{ gpu: "h200", files: 5, maxRegression: "5%" }, /budgets\[0\]\.files: found 5, expected/],
  ])("that are wrong are named: %j", async (budget, message) => {
    configure(budget);
    const { exitCode, stderr } = await bench.tcLint(["a.onnx", ...alone]);
    expect(exitCode).toBe(2);
    expect(stderr).toMatch(message);
  });
});
