/** A file that keeps its types gets what gains in these: what pays in half precision alone is written with half precision. */
import { afterAll, describe, expect, it } from "vitest";
import { type GraphBuilder, model } from "../../fixtures/builder.ts";
import { linear } from "../../fixtures/layers.ts";
import { type FixOptions, fix } from "../../src/api/fix.ts";
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
  graph.output(linear(graph, hidden, 768, 15001));
});

/** The same, stored in half. */
const stored = model({ name: "stored" }, (graph: GraphBuilder) => {
  const x = graph.input("x", [128, 768], "float16");
  const hidden = graph.node("MatMul", [x, graph.weight([768, 768], { dtype: "float16" })]);
  graph.output(graph.node("MatMul", [hidden, graph.weight([768, 15001], { dtype: "float16" })]));
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
      /in the types that it stores the repaired model(?: \(\d+ layers change together\))? is predicted to be slower: \d.*--precision fp16/,
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

/** What a lint says, and what `--fix` and the same precision by name make of the file. */
async function answers(name: string, options: LintOptions, half?: "fp16" | "bf16") {
  const file = folder.write(`${name}.onnx`, unstorable[name] ?? head);
  const report = await lint(file, options);
  const plain = await fix(file, { ...options, dryRun: true });
  const named = { ...options, half, halfOnlyWhereFaster: false, dryRun: true };
  const asked = half === undefined ? plain : await fix(file, named);
  return { report, plain, asked };
}

/** Channels off the multiple: activations and weights are codes, which the stacks below multiply as floats. */
const quantized = model({ name: "quantized" }, (graph) => {
  const scale = graph.weight([], { values: [0.01] });
  const zero = graph.weight([], { dtype: "int8", values: [0] });
  const codes = (x: string) =>
    graph.node("DequantizeLinear", [graph.node("QuantizeLinear", [x, scale, zero]), scale, zero]);
  const conv = (x: string, sizes: readonly number[]) => {
    const weight = graph.node("DequantizeLinear", [graph.weight(sizes, { dtype: "int8" }), scale, zero]);
    return graph.node("Conv", [codes(x), weight], { pads: [1, 1, 1, 1] });
  };
  const h = conv(graph.input("x", [8, 60, 56, 56]), [100, 60, 3, 3]);
  graph.output(conv(graph.node("Relu", [h]), [100, 100, 3, 3]));
});

/** No BF16 at this opset, which LpPool keeps as it is. */
const old = model({ name: "old", opset: 17 }, (graph) => {
  const weight = (sizes: readonly number[]) => graph.weight(sizes);
  const h = graph.node("Conv", [graph.input("x", [8, 67, 56, 56]), weight([129, 67, 3, 3])]);
  const g = graph.node("Conv", [graph.node("Relu", [h]), weight([131, 129, 3, 3])]);
  graph.output(graph.node("LpPool", [g], { kernel_shape: [2, 2] }));
});

const unstorable: Readonly<Record<string, Uint8Array>> = { quantized, old };

describe.each(["ort-cuda", "cudnn", "inductor"] as const)("what no fix stores in half, on %s", (stack) => {
  it.each([
    ["quantized", "fp16"],
    ["old", "bf16"],
  ] as const)("is claimed by no command: %s in %s", async (name, precision) => {
    const { report, plain, asked } = await answers(name, { stack, precision }, precision);
    const commands = [...report.groups, ...report.account].flatMap((each) =>
      "fixCommand" in each ? (each.fixCommand ?? []) : "command" in each ? (each.command ?? []) : [],
    );
    expect(commands.filter((command) => command.includes("--precision"))).toEqual([]);
    expect(report.account.some((each) => each.step === "precision")).toBe(false);
    expect(asked.changed).toBe(plain.changed);
    expect(asked.error).toBeNull();
    expect(report.groups.some((group) => group.fix === "safe")).toBe(plain.changed);
    const said = [...plain.notes, ...asked.notes].map(({ message }) => message).join();
    expect(said).not.toContain("makes it, in half");
  });
});

describe("--precision int8, which no file that a fix writes is in", () => {
  it.each(["l4", "h200"] as const)("claims and writes what gains as stored, on %s", async (gpu) => {
    for (const name of ["bert", "misaligned_cnn", "seg_unet"]) {
      const options: LintOptions = { gpu, precision: "int8" };
      const report = await lint(zooModel(name), options);
      const plain = await fix(zooModel(name), { ...options, dryRun: true });
      const step = stepIn(report);
      expect(plain.changed).toBe(step !== undefined);
      expect(step?.needsHalf).toBeUndefined();
      if (step !== undefined) expect(step.written?.low).toBeGreaterThan(0);
      expect(report.groups.some((group) => group.fix === "safe")).toBe(step !== undefined);
    }
    const bert = await lint(zooModel("bert"), { gpu: "l4", precision: "int8" });
    expect(reportOf([bert], "0").summary.fixable).toBe(0);
  });

  // NHWC by a setting, in INT8 alone, and behind half, which nobody named.
  it.each([
    ["resnet50", "ort-cuda", undefined],
    ["resnet50", "cudnn", undefined],
    ["vgg11", "cudnn", undefined],
    ["densenet121", "cudnn", undefined],
  ] as const)(
    "claims a layout by what writes it, which is not what keeps the types here: %s on %s",
    async (name, stack, command) => {
      const options: LintOptions = { stack, precision: "int8" };
      const { account, groups } = await lint(zooModel(name), options);
      const step = account.find((each) => each.step === "layout");
      const found = groups.find((group) => group.step === "layout");
      expect([step?.command, found?.fixCommand ?? undefined]).toEqual([command, command]);
      // As the command line reads --unsafe-fixes beside --precision int8.
      const unsafe = { dryRun: true, nhwc: true, nhwcOnlyWhereFaster: true } as const;
      expect((await fix(zooModel(name), { ...options, ...unsafe })).changed).toBe(false);
    },
  );

  it("tells of NHWC that is asked for by name as the file is stored", async () => {
    const asked = { stack: "cudnn", precision: "int8", nhwc: true, dryRun: true } as const;
    const { account, microseconds, stored, notes } = await fix(zooModel("vgg11"), asked);
    expect(account?.map(({ precision }) => precision)).toEqual(["as-is", "as-is"]);
    expect(microseconds).toEqual(stored);
    expect(notes.map(({ message }) => message).join()).toMatch(/as stored; with --precision fp16 it saves/);
  });
});

/** What is told to make what was left, and whether that is sure to gain and takes less. */
async function expectNamedToGain(name: string, options: FixOptions): Promise<number> {
  const plain = await fix(zooModel(name), { ...options, dryRun: true });
  const naming = plain.notes.filter(({ message }) => message.includes("makes it, in half"));
  if (naming.length === 0) return 0;
  const asked = { ...options, half: "fp16", halfOnlyWhereFaster: false, dryRun: true } as const;
  const { stored, account } = await fix(zooModel(name), asked);
  const written = account?.findLast((step) => step.written !== undefined)?.written;
  expect(written?.low, name).toBeGreaterThan(0);
  expect(stored?.after).toBeLessThan(stored?.before ?? 0);
  for (const { message } of naming) {
    const left = /predicted [\d.]+ [mµ]?s → ([\d.]+) µs/.exec(message)?.[1];
    if (left !== undefined) expect(stored?.after, message).toBeLessThan(Number(left));
  }
  return naming.length;
}

describe("what --fix leaves", () => {
  it.each([
    ["siamese", "ort-cuda"],
    ["siamese", "cudnn"],
    ["dlrm", "cudnn"],
  ] as const)("names no command in half that loses by it: %s on %s", async (name, stack) => {
    expect(await expectNamedToGain(name, { stack })).toBe(0);
  });

  it("is so in another layout, too", async () => {
    for (const name of ["siamese", "c3d", "seg_unet", "misaligned_cnn", "crnn"])
      for (const stack of ["ort-cuda", "cudnn", "inductor"] as const)
        await expectNamedToGain(name, { stack, nhwc: true });
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
        await expectNamedToGain(name, { stack });
      }
    },
    60_000,
  );
});
