/** Files that no fix brings to half are told in the types that they store: lint, --diff and --fix have the same figures at each step. */
import { afterAll, describe, expect, it } from "vitest";
import { type GraphBuilder, model } from "../../fixtures/builder.ts";
import { float8Mlp } from "../../fixtures/quantized.ts";
import { fix } from "../../src/api/fix.ts";
import type { FixEntry } from "../../src/api/fix-report.ts";
import { lint } from "../../src/api/lint.ts";
import { asStoredNotice } from "../../src/ir/fix-command.ts";
import type { ModelReport } from "../../src/lint/result.ts";
import { reportOf } from "../../src/report/summary.ts";
import { renderText } from "../../src/report/text.ts";
import { temporaryFolder } from "../cli/models.ts";
import { expectAlike } from "../lint/sums.ts";
import { options as renderOptions } from "../report/sample.ts";

/** Activations and weights as codes, dequantized in front of each product. */
class Quantizer {
  readonly #scale: string;
  readonly #zero: string;
  readonly #graph: GraphBuilder;

  constructor(graph: GraphBuilder) {
    this.#graph = graph;
    this.#scale = graph.weight([], { values: [0.01] });
    this.#zero = graph.weight([], { dtype: "int8", values: [0] });
  }

  codes(x: string): string {
    return this.#real(this.#graph.node("QuantizeLinear", [x, this.#scale, this.#zero]));
  }

  weight(sizes: readonly number[]): string {
    return this.#real(this.#graph.weight(sizes, { dtype: "int8" }));
  }

  #real(codes: string): string {
    return this.#graph.node("DequantizeLinear", [codes, this.#scale, this.#zero]);
  }
}

/** Convolutions of these channels. */
function convolutions(channels: readonly number[], size = 56): Uint8Array {
  return model({ name: "convolutions" }, (graph) => {
    const quantizer = new Quantizer(graph);
    let h = graph.input("x", [8, channels[0] ?? 1, size, size]);
    for (const [index, width] of channels.slice(1).entries()) {
      const weight = quantizer.weight([width, channels[index] ?? 1, 3, 3]);
      h = graph.node("Relu", [graph.node("Conv", [quantizer.codes(h), weight], { pads: [1, 1, 1, 1] })]);
    }
    graph.output(h);
  });
}

/** Products of these widths. */
function projections(rows: number, widths: readonly number[]): Uint8Array {
  return model({ name: "projections" }, (graph) => {
    const quantizer = new Quantizer(graph);
    let h = graph.input("x", [rows, widths[0] ?? 1]);
    for (const [index, width] of widths.slice(1).entries())
      h = graph.node("MatMul", [quantizer.codes(h), quantizer.weight([widths[index] ?? 1, width])]);
    graph.output(h);
  });
}

const models: Readonly<Record<string, Uint8Array>> = {
  convolutions: convolutions([60, 100, 100]),
  "narrow convolutions": convolutions([3, 67, 129], 64),
  "aligned convolutions": convolutions([64, 128, 64]),
  projections: projections(128, [768, 3067, 769]),
  "8-bit floats": float8Mlp({ rows: 4096, widths: [1021, 2047] }),
};

/** No BF16 at this opset, which LpPool keeps as it is. */
const old = model({ name: "old", opset: 17 }, (graph) => {
  const h = graph.node("Conv", [graph.input("x", [8, 67, 56, 56]), graph.weight([129, 67, 3, 3])]);
  const g = graph.node("Conv", [graph.node("Relu", [h]), graph.weight([131, 129, 3, 3])]);
  graph.output(graph.node("LpPool", [g], { kernel_shape: [2, 2] }));
});

const folder = temporaryFolder();
afterAll(() => folder[Symbol.dispose]());

const stacks = ["ort-cuda", "ort-cuda-nhwc", "cudnn", "inductor", "tensorrt", "tc-runtime"] as const;

/** As `--fix`, `--fix --unsafe-fixes` and `--fix --precision` ask for. */
function repairs(half: "fp16" | "bf16") {
  const decided = { half, halfOnlyWhereFaster: true, nhwc: true, nhwcOnlyWhereFaster: true };
  return [{}, decided, { half, halfOnlyWhereFaster: false }] as const;
}

async function expectOneAccount(name: string, bytes: Uint8Array, stack: (typeof stacks)[number]) {
  for (const precision of ["fp16", "bf16"] as const) {
    if (bytes === old && precision === "fp16") continue;
    const file = folder.write(`${name}.onnx`, bytes);
    const report = await lint(file, { stack, precision });
    expectAsStored(report);
    const ofCommands = report.account.filter(
      ({ step, setting }) => step !== "author" && setting === undefined,
    );
    for (const repair of repairs(precision)) {
      const entry = await fix(file, { stack, precision, ...repair, dryRun: true });
      expect(entry.account?.map(({ step }) => step)).toEqual(ofCommands.map(({ step }) => step));
      for (const [index, step] of ofCommands.entries()) expectAlike(entry.account?.[index], step);
      expectFigures(entry, report);
    }
  }
}

function expectAsStored({ account, notices, groups }: ModelReport): void {
  expect(notices.map(({ code }) => code)).toContain(asStoredNotice);
  for (const step of account) {
    expect(step.precision).toBe("as-is");
    expect([step.castsIn, step.unsure, step.needsHalf, step.written]).toEqual(
      new Array<undefined>(4).fill(undefined),
    );
  }
  for (const { fixCommand } of groups) expect(fixCommand ?? "--fix").not.toContain("--precision");
}

function expectFigures({ microseconds, stored, precision, changed }: FixEntry, report: ModelReport): void {
  const safe = report.account.find(({ step }) => step === "safe");
  expect(precision).toBe("as-is");
  expect(microseconds?.before).toBeCloseTo(report.predicted.microseconds, 6);
  expect(microseconds).toEqual(stored);
  if (safe !== undefined) expect(changed).toBe(true);
}

describe.each(stacks)("a file that no fix brings to half, on %s", (stack) => {
  it.each(Object.entries({ ...models, old }))("has one account: %s", (name, bytes) =>
    expectOneAccount(name, bytes, stack),
  );
});

describe.each(["tensorrt", "tc-runtime"] as const)("INT8 of a file of codes, on %s", (stack) => {
  it.each(Object.entries(models))("has one account: %s", async (name, bytes) => {
    const file = folder.write(`${name}.onnx`, bytes);
    const { account, notices } = await lint(file, { stack, precision: "int8" });
    expect(notices.map(({ code }) => code)).toContain("quantized-already");
    const ofCommands = account.filter(({ step }) => step !== "author");
    for (const repair of [{}, { nhwc: true, nhwcOnlyWhereFaster: true }]) {
      const entry = await fix(file, { stack, precision: "int8", ...repair, dryRun: true });
      expect(entry.account?.map(({ step }) => step)).toEqual(ofCommands.map(({ step }) => step));
      for (const [index, step] of ofCommands.entries()) expectAlike(entry.account?.[index], step);
    }
  });
});

describe("what is said of it", () => {
  it("is the types that it stores, where half is asked for", async () => {
    const report = await lint(models["convolutions"] ?? old, { stack: "ort-cuda", precision: "fp16" });
    const text = renderText(reportOf([report], "0"), renderOptions);
    expect(text).toMatch(/ort-cuda in a CUDA graph, as stored: /);
    expect(text).toMatch(/no fix stores the file in FP16: everything here is predicted in the types/);
  });

  it("is said of a file in the other half, and of none in the half that is asked for", async () => {
    const inHalf = model({ name: "half", opset: 22 }, (graph) => {
      const x = graph.input("x", [128, 768], "float16");
      graph.output(graph.node("MatMul", [x, graph.weight([768, 3072], { dtype: "float16" })]));
    });
    const isSaid = async (precision: "fp16" | "bf16") =>
      (await lint(inHalf, { precision })).notices.some(({ code }) => code === asStoredNotice);
    expect([await isSaid("bf16"), await isSaid("fp16")]).toEqual([true, false]);
  });
});

describe("another opset", () => {
  it("is not written where nothing becomes BF16 in it", async () => {
    const file = folder.write("aligned.onnx", models["aligned convolutions"] ?? old);
    const entry = await fix(file, { precision: "bf16", half: "bf16", dryRun: true });
    expect(entry.notes.filter(({ kind, pass }) => kind === "changed" && pass === "half")).toEqual([]);
  });
});
