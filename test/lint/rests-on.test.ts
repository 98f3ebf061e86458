/** What layouts and authors save is told of a file in half: a command is sure to gain by storing that, or the step says what it rests on. */
import { readFileSync } from "node:fs";
import path from "node:path";
import { describe, expect, it } from "vitest";
import { model } from "../../fixtures/builder.ts";
import { lint } from "../../src/api/lint.ts";
import { namesPrecision } from "../../src/ir/fix-command.ts";
import { accountCells } from "../../src/report/account-text.ts";
import { temporaryFolder } from "../cli/models.ts";
import { useWorkbench } from "../cli/workbench.ts";
import { eachModel, zooModel, zooNames } from "../zoo.ts";

const bench = useWorkbench();

/** A product of FP32 that costs more in half, with its Casts, than it takes. */
function narrow(): Uint8Array {
  return model({ name: "narrow", opset: 17 }, (graph) => {
    graph.output(graph.node("MatMul", [graph.input("x", [64, 101]), graph.weight([101, 100])]));
  });
}

describe("what gains in no file that is there or that a command writes", () => {
  it("is counted as what may save nothing, and is no step", async () => {
    using folder = temporaryFolder();
    const file = folder.write("narrow.onnx", narrow());
    const report = await lint(file, { verbose: true });
    expect(report.findings.map(({ code }) => code)).not.toContain("TC102");
    expect(report.account.map(({ step }) => step)).not.toContain("author");
    expect(report.uncertain.byRule).toMatchObject({ TC102: 1 });
    const none = { microseconds: 0, low: 0, high: 0 };
    const { groups = [], findings = [] } = report.unlisted ?? {};
    const [found] = groups.filter(({ code }) => code === "TC102");
    expect(found).toMatchObject({ severity: "warn", step: null, saves: { low: 0, asStored: none } });
    expect(found?.saves?.share).toBeGreaterThan(0.05);
    expect(report.uncertain.microseconds).toBeGreaterThanOrEqual(found?.saves?.microseconds ?? Number.NaN);
    const [own] = findings.filter(({ code }) => code === "TC102");
    expect(own).toMatchObject({ severity: "warn", saves: { low: 0, asStored: none } });
    const { unlisted } = await lint(file);
    expect(unlisted).toBeUndefined();
  });

  it("fails no run, and is in no format but as a number", async () => {
    bench.folder.write("narrow.onnx", narrow());
    const formats = ["json", "sarif", "github", "gitlab"];
    const { exitCode } = await bench.tcLint([
      ...["narrow.onnx", "--max-warnings", "0"],
      ...formats.flatMap((format) => ["-f", `${format}=out.${format}`]),
    ]);
    const textOf = (format: string) => readFileSync(path.join(bench.folder.path, `out.${format}`), "utf8");
    expect(exitCode).toBe(0);
    const { summary, models } = JSON.parse(textOf("json"));
    expect(summary).toMatchObject({ errors: 0, warnings: 0 });
    expect(models[0].uncertain.byRule).toHaveProperty("TC102");
    for (const format of formats.slice(1))
      expect(textOf(format)).not.toMatch(/"?ruleId"?: ?"TC102|title=TC102|TC102 "/);
  });
});

describe.each(["ort-cuda", "cudnn", "inductor", "tensorrt"] as const)("steps behind half, on %s", (stack) => {
  eachModel(zooNames)(
    "%s: rest on a file that a command stores, or say that",
    async (name) => {
      const { account, groups } = await lint(zooModel(name), { stack });
      const named = account.flatMap(({ command }) => command ?? []);
      const stores = named.some((command) => namesPrecision(command) || command.includes("--unsafe-fixes"));
      const toHalf = account.find(({ step, precision }) => step === "precision" && precision === "fp16");
      for (const step of account) {
        const isLater = step.step === "layout" || step.step === "author";
        const rests = isLater && toHalf !== undefined && !stores;
        if (rests) expect(step.restsOn).toBe("fp16");
        if (!isLater || toHalf === undefined) expect(step.restsOn).toBeUndefined();
        const way = accountCells(step, account)[3];
        if (step.restsOn !== undefined) expect(way).toMatch(/if in FP16(; as stored|$)/);
        if (step.step !== "author") continue;
        expect(step.written === undefined).toBe(step.restsOn === undefined);
        const authored = groups.filter((group) => group.step === "author");
        const parts = authored.reduce((sum, { saves }) => sum + (saves?.asStored?.microseconds ?? 0), 0);
        expect(parts).toBeCloseTo(step.written?.microseconds ?? 0, 6);
        for (const { saves } of authored)
          if (step.restsOn !== undefined) expect(saves?.asStored?.low).toBeGreaterThan(0);
      }
    },
    60_000,
  );
});

describe("what an author saves of a file that nobody is told to store in half", () => {
  it.each([
    ["llama", "ort-cuda"],
    ["llama_dynamo", "ort-cuda"],
  ] as const)(
    "is said of it as it is stored, too, as --precision as-is has it: %s on %s",
    async (name, stack) => {
      const report = await lint(zooModel(name), { stack });
      const stored = await lint(zooModel(name), { stack, precision: "as-is" });
      const author = report.account.find(({ step }) => step === "author");
      expect(author?.restsOn).toBe("fp16");
      // What is sure as stored alone, nobody is told of here.
      const savings = stored.groups.map(({ code, saves }) => `${code} ${saves?.microseconds.toFixed(6)}`);
      const told = report.groups.filter(({ step }) => step === "author");
      expect(told.length).toBeGreaterThan(0);
      for (const { code, saves } of told)
        expect(savings).toContain(`${code} ${saves?.asStored?.microseconds.toFixed(6)}`);
      const parts = told.reduce((sum, { saves }) => sum + (saves?.asStored?.microseconds ?? Number.NaN), 0);
      expect(author?.written?.microseconds).toBeCloseTo(parts, 6);
    },
  );

  it.each([
    // Two products of a gate are sure to gain as stored, and not in half, where nobody is told of them.
    ["llama", {}],
    ["llama_dynamo", {}],
  ] as const)("is a part of that at each finding, in every format: %s, %o", async (name, options) => {
    const report = await lint(zooModel(name), { stack: "ort-cuda", ...options });
    const whole = report.account.find(({ step }) => step === "author")?.written?.microseconds ?? 0;
    const authored = report.groups.filter(({ step }) => step === "author");
    const parts = authored.map(({ saves }) => saves?.asStored?.microseconds ?? Number.NaN);
    const sum = parts.reduce((total, part) => total + part, 0);
    expect(sum).toBeGreaterThan(0);
    expect(sum).toBeCloseTo(whole, 6);
    const byFingerprint = new Map(report.findings.map((finding) => [finding.fingerprint, finding]));
    for (const { findings, saves } of authored) {
      const own = findings.map(
        (each) => byFingerprint.get(each)?.saves?.asStored?.microseconds ?? Number.NaN,
      );
      expect(own.reduce((total, part) => total + part, 0)).toBeCloseTo(saves?.asStored?.microseconds ?? 0, 9);
    }
    for (const { step, saves } of report.groups)
      if (step !== "author") expect(saves?.asStored).toBeUndefined();
  });
});

it("is said of none of another precision", async () => {
  for (const precision of ["tf32", "as-is"] as const) {
    const { account } = await lint(zooModel("swin_tiny"), { precision });
    expect(account.some(({ restsOn }) => restsOn !== undefined)).toBe(false);
  }
});
