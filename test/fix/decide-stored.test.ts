/** A file that keeps its types gets what gains in these: what pays in half precision alone is written with half precision. */
import { afterAll, describe, expect, it } from "vitest";
import { type GraphBuilder, model } from "../../fixtures/builder.ts";
import { linear } from "../../fixtures/layers.ts";
import { fix } from "../../src/api/fix.ts";
import { type LintOptions, lint } from "../../src/api/lint.ts";
import { verdictOf } from "../../src/cli/exit.ts";
import type { ModelReport } from "../../src/lint/result.ts";
import { accountCells } from "../../src/report/account-text.ts";
import { standingOf } from "../../src/report/standing.ts";
import { reportOf } from "../../src/report/summary.ts";
import { temporaryFolder } from "../cli/models.ts";
import { eachModel, zooModel, zooNames } from "../zoo.ts";

/** Off the multiple of Tensor Cores, which FP32 products run on in half alone where a stack leaves TF32 off. */
const head = model({ name: "head" }, (graph) => {
  const hidden = linear(graph, graph.input("x", [128, 768]), 768, 768);
  graph.output(linear(graph, hidden, 768, 30521));
});

/** The same, stored in half. */
const stored = model({ name: "stored" }, (graph: GraphBuilder) => {
  const x = graph.input("x", [128, 768], "float16");
  const hidden = graph.node("MatMul", [x, graph.weight([768, 768], { dtype: "float16" })]);
  graph.output(graph.node("MatMul", [hidden, graph.weight([768, 30521], { dtype: "float16" })]));
});

const folder = temporaryFolder();
afterAll(() => folder[Symbol.dispose]());
const headFile = folder.write("head.onnx", head);
const storedFile = folder.write("stored.onnx", stored);

const options: LintOptions = { stack: "cudnn" };
const stepIn = ({ account }: Pick<ModelReport, "account">) => account.find(({ step }) => step === "safe");

describe("padding that pays in half precision alone", () => {
  it("is left by --fix, which says why, and written with half precision", async () => {
    const plain = await fix(headFile, { ...options, dryRun: true });
    expect(plain.changed).toBe(false);
    const said = plain.notes.map(({ message }) => message).join("\n");
    expect(said).toMatch(
      /in the types that it stores the repaired model may be no faster: predicted .*--precision fp16/,
    );
    const half = await fix(headFile, { ...options, dryRun: true, half: "fp16", halfOnlyWhereFaster: false });
    expect(half.notes.some(({ kind, pass }) => kind === "changed" && pass === "align")).toBe(true);
    expect(half.account?.find(({ step }) => step === "safe")?.needsHalf).toBe(true);
  });

  it("is a finding that names the command which makes it, and none that --fix is said to fix", async () => {
    const report = await lint(head, options);
    const found = report.groups.find(({ code }) => code === "TC102");
    expect(found).toMatchObject({ fix: "unsafe", step: "safe", left: null });
    expect(found?.fixCommand).toBe("--fix --precision fp16");
    const whole = reportOf([report], "0");
    expect(whole.summary.fixable).toBe(0);
    expect(verdictOf(whole, { failOn: "fixable", maxWarnings: undefined, exitZero: false }).exitCode).toBe(0);
    const step = stepIn(report);
    expect(step?.needsHalf).toBe(true);
    expect(step && accountCells(step, report.account)[3]).toMatch(
      /^--fix --precision fp16, not sure as stored$/,
    );
    expect(standingOf(report)?.afterFix).toBe(standingOf(report)?.stored);
  });

  it("is written unasked in a file that is stored in half", async () => {
    const report = await lint(stored, options);
    expect(report.groups.find(({ code }) => code === "TC102")).toMatchObject({ fix: "safe", step: "safe" });
    expect((await fix(storedFile, { ...options, dryRun: true })).changed).toBe(true);
  });
});

describe("the zoo", () => {
  eachModel(zooNames)(
    "%s: what --fix writes into a file that stays FP32 gains in FP32",
    async (name) => {
      for (const stack of ["cudnn", "inductor"] as const) {
        const report = await lint(zooModel(name), { stack });
        const plain = await fix(zooModel(name), { stack, dryRun: true });
        const step = stepIn(report);
        const isMade = step !== undefined && step.needsHalf !== true;
        expect(plain.changed).toBe(isMade);
        expect(report.groups.some((group) => group.fix === "safe")).toBe(
          isMade && report.groups.some((group) => group.step === "safe"),
        );
        const { written } = plain.account?.find((each) => each.step === "safe") ?? {};
        if (written !== undefined) expect(written.low).toBeGreaterThan(0);
      }
    },
    60_000,
  );
});
