/** What a command makes in half alone is told alike by lint, which names that command, and by `--diff`, which leaves it: part by part, and what is left behind it. */
import { writeFileSync } from "node:fs";
import path from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { type GraphBuilder, model } from "../../fixtures/builder.ts";
import { attention, linear } from "../../fixtures/layers.ts";
import { fix } from "../../src/api/fix.ts";
import { type LintOptions, lint } from "../../src/api/lint.ts";
import { accountCells } from "../../src/report/account-text.ts";
import { standingOf } from "../../src/report/standing.ts";
import { reportOf, unnamedSaving } from "../../src/report/summary.ts";
import { temporaryFolder } from "../cli/models.ts";
import { eachModel, zooModel } from "../zoo.ts";

const folder = temporaryFolder();
afterAll(() => folder[Symbol.dispose]());

const width = 770;
const headDim = 70;
const heads = width / headDim;
const [batch, length] = [8, 512];

function normalized(graph: GraphBuilder, x: string): string {
  return graph.node("LayerNormalization", [x, graph.weight([width]), graph.weight([width])], { axis: -1 });
}

type Mix = (graph: GraphBuilder, q: string, k: string, v: string) => string;

/** Its width is held by norms, and its heads are not. */
const transformerOf = (opset: number, mix: Mix) =>
  model({ name: "transformer", opset }, (graph) => {
    const shape = (sizes: readonly number[]) =>
      graph.weight([sizes.length], { dtype: "int64", values: [...sizes] });
    const x = graph.input("x", [batch, length, width]);
    const read = normalized(graph, x);
    const [q = "", k = "", v = ""] = ["q", "k", "v"].map((name) => {
      const flat = linear(graph, read, width, width, { name });
      const apart = graph.node("Reshape", [flat, shape([batch, length, heads, headDim])]);
      return graph.node("Transpose", [apart], { perm: [0, 2, 1, 3] });
    });
    const mixed = graph.node("Transpose", [mix(graph, q, k, v)], { perm: [0, 2, 1, 3] });
    const joined = graph.node("Reshape", [mixed, shape([batch, length, width])]);
    const stream = graph.node("Add", [x, linear(graph, joined, width, width, { name: "out" })]);
    const hidden = graph.node("Relu", [
      linear(graph, normalized(graph, stream), width, 3072, { name: "up" }),
    ]);
    const last = graph.node("Add", [stream, linear(graph, hidden, 3072, width, { name: "down" })]);
    graph.output(normalized(graph, last));
  });
const transformerFile = path.join(folder.path, "transformer.onnx");
writeFileSync(
  transformerFile,
  transformerOf(17, (graph, q, k, v) => attention(graph, q, k, v, headDim)),
);
/** The same with attention as one operator. */
const fusedFile = path.join(folder.path, "fused.onnx");
writeFileSync(
  fusedFile,
  transformerOf(23, (graph, q, k, v) => graph.node("Attention", [q, k, v])),
);

interface Figure {
  readonly code: string;
  readonly node: string;
  readonly microseconds: number;
}

const textOf = ({ code, node, microseconds }: Figure) => `${code} ${node} ${microseconds.toFixed(5)}`;
const sumOf = (figures: readonly Figure[]) =>
  figures.reduce((sum, { microseconds }) => sum + microseconds, 0);

/** Of products off a multiple: what lint says that half by name pads, and what that leaves; and the same by what --diff leaves. */
async function figuresOf(file: string, options: LintOptions) {
  const report = await lint(file, { ...options, verbose: true });
  const padding = /^TC10[1-3]$/;
  const rows = [...report.findings, ...(report.unlisted?.findings ?? [])].filter(({ code }) =>
    padding.test(code),
  );
  const { notes } = await fix(file, { ...options, dryRun: true });
  const claimed = (fixed: string) =>
    rows
      .filter((row) => row.fix === fixed)
      .map(({ code, node, saves }): Figure => ({ code, node, microseconds: saves?.microseconds ?? 0 }));
  const left = (isMade: boolean) =>
    notes
      .filter(
        ({ rule, message }) => padding.test(rule ?? "") && /makes it, in half$/.test(message) === isMade,
      )
      .map(({ rule, node, microseconds }): Figure => {
        return { code: rule ?? "", node: node ?? "", microseconds: microseconds ?? 0 };
      });
  const needsHalf = report.account.some(({ step, needsHalf }) => step === "safe" && needsHalf === true);
  return {
    needsHalf,
    claimed: claimed("unsafe"),
    alone: claimed("safe"),
    parts: left(true),
    open: claimed("none"),
    behind: left(false),
  };
}

describe("padding that is made in half by name alone", () => {
  it("is told with what it saves there, and what is held behind it, of a transformer on tc-runtime", async () => {
    const { needsHalf, claimed, parts, open, behind } = await figuresOf(transformerFile, {
      stack: "tc-runtime",
    });
    expect(needsHalf).toBe(true);
    expect(parts.map(textOf).sort()).toEqual(claimed.map(textOf).sort());
    expect(open.map(({ node }) => node)).toContain("up");
    expect(behind.map(textOf).sort()).toEqual(open.map(textOf).sort());
  });

  eachModel<LintOptions>([
    ["bert", { stack: "cudnn" }],
    ["gpt2_dynamo", { stack: "cudnn" }],
    ["crnn", { stack: "ort-cuda" }],
    ["llama", { stack: "inductor" }],
  ])("saves the same in all: %s", async (name, options) => {
    const { needsHalf, claimed, parts, open, behind } = await figuresOf(zooModel(name), options);
    expect(needsHalf).toBe(true);
    expect(parts.length).toBeGreaterThan(0);
    expect(sumOf(parts)).toBeCloseTo(sumOf(claimed), 3);
    expect(sumOf(behind)).toBeCloseTo(sumOf(open), 3);
  });

  it("is no more than what is left of it, where --fix makes a part that does without Slices inside", async () => {
    const options: LintOptions = { stack: "inductor" };
    const { claimed, alone, parts } = await figuresOf(fusedFile, options);
    const { account, notes } = await fix(fusedFile, { ...options, dryRun: true });
    const made = account?.find(({ step }) => step === "safe")?.saves?.microseconds ?? 0;
    expect(notes.some(({ kind, pass }) => kind === "changed" && pass === "align")).toBe(true);
    expect(made + sumOf(parts)).toBeLessThanOrEqual((sumOf(claimed) + sumOf(alone)) * 1.001);
  });

  it("is told beside what `--fix` alone makes, which is what that comes to, and fails what is fixable", async () => {
    const options: LintOptions = { stack: "inductor" };
    const report = await lint(fusedFile, { ...options, verbose: true });
    const { account } = await fix(fusedFile, { ...options, dryRun: true });
    const made = account?.find(({ step }) => step === "safe");
    const told = report.account.find(({ step }) => step === "safe");
    expect(told?.needsHalf).toBe(true);
    expect(told?.alone).toEqual(made?.written);
    expect(told?.alone?.low).toBeGreaterThan(0);
    expect(standingOf(report)?.afterFix).toBe(made?.written?.after);
    // Entries are of the sizes that half gets, here others than `--fix` alone gives: what that saves is no entry's, and no more than it makes.
    expect(report.findings.map(({ code }) => code)).toContain("TC103");
    expect(report.findings.filter((each) => each.fix === "safe")).toEqual([]);
    expect(unnamedSaving(reportOf([report], "0.0.0-test"))).toBeCloseTo(made?.written?.microseconds ?? 0, 6);
    const way = told && accountCells(told, report.account)[3];
    expect(way).toMatch(/^--fix --precision fp16; --fix alone [\d.]+ [mµ]s → [\d.]+ [mµ]s$/);
  });
});
