/** A layout that a runtime undoes: ONNX Runtime itself runs what the account of `ort-cuda` says. */
import { readFileSync } from "node:fs";
import path from "node:path";
import ort from "onnxruntime-node";
import { afterAll, describe, expect, it } from "vitest";
import { model } from "../../fixtures/builder.ts";
import { compare } from "../../src/api/compare.ts";
import { type FixOptions, fix } from "../../src/api/fix.ts";
import { lint } from "../../src/api/lint.ts";
import { modelFromBytes } from "../../src/onnx/open.ts";
import { temporaryFolder } from "../cli/models.ts";
import { weight } from "../passes/padding.ts";
import { unsafeFixes } from "../unsafe-fixes.ts";

const folder = temporaryFolder();
afterAll(() => folder[Symbol.dispose]());
const named = { nhwc: true, verify: false } as const satisfies FixOptions;

/** Convolutions with what NHWC is carried through: an activation, a pool, a sum. */
const convolutions = folder.write(
  "convolutions.onnx",
  model({ name: "convolutions", opset: 17 }, (graph) => {
    const pads = [1, 1, 1, 1];
    const conv = (x: string) => graph.node("Conv", [x, weight(graph, [64, 64, 3, 3])], { pads });
    const first = graph.node("Relu", [conv(graph.input("x", [1, 64, 56, 56]))]);
    const pooled = graph.node("MaxPool", [first], { kernel_shape: [3, 3], pads });
    const second = graph.node("Sigmoid", [conv(pooled)]);
    graph.output(conv(graph.node("Add", [second, pooled])));
  }),
);
const inNhwc = path.join(path.dirname(convolutions), "nhwc.onnx");
const written = await fix(convolutions, { ...named, output: inNhwc });

type Level = "disabled" | "basic";

/** The file of what ONNX Runtime has of one before any provider takes nodes. */
async function optimize(level: Level, file: string): Promise<string> {
  const optimized = path.join(path.dirname(convolutions), "optimized.onnx");
  const session = await ort.InferenceSession.create(file, {
    executionProviders: ["cpu"],
    graphOptimizationLevel: level,
    optimizedModelFilePath: optimized,
    logSeverityLevel: 4,
  });
  await session.release();
  return optimized;
}

/** Operators that ONNX Runtime runs of a file, in order. */
async function runBy(level: Level, file: string): Promise<string[]> {
  using opened = modelFromBytes(readFileSync(await optimize(level, file)));
  return opened.graph.nodes.map(({ opType }) => opType);
}

/** With what knows NCHW alone between them, and Transposes of the exporter's beside them. */
const mixed = folder.write(
  "mixed.onnx",
  model({ name: "mixed", opset: 17 }, (graph) => {
    const pads = [1, 1, 1, 1];
    const conv = (x: string) => graph.node("Conv", [x, weight(graph, [64, 64, 3, 3])], { pads });
    const scales = graph.weight([4], { values: [1, 1, 2, 2] });
    const up = graph.node("Resize", [conv(graph.input("x", [1, 64, 28, 28])), "", scales], {
      mode: "nearest",
    });
    const last = graph.node("Transpose", [conv(up)], { perm: [0, 2, 3, 1] });
    const rows = graph.node("Softmax", [last], { axis: -1 });
    const second = graph.node("Transpose", [rows], { perm: [0, 3, 1, 2] });
    graph.output(conv(graph.node("Add", [second, up])));
  }),
);

/** What goes over an image's positions is within the NHWC that is written, and behind what a provider turns. */
const averaged = folder.write(
  "averaged.onnx",
  model({ name: "averaged", opset: 17 }, (graph) => {
    const pads = [1, 1, 1, 1];
    const conv = (x: string) => graph.node("Conv", [x, weight(graph, [64, 64, 3, 3])], { pads });
    const image = conv(graph.node("Relu", [conv(graph.input("x", [8, 64, 28, 28]))]));
    graph.output(graph.node("ReduceMean", [image], { axes: [2, 3], keepdims: 0 }));
  }),
);

/** Rows of an image, and back, beside the image, as attention in a U-Net is. */
const beside = folder.write(
  "beside.onnx",
  model({ name: "beside", opset: 17 }, (graph) => {
    const pads = [1, 1, 1, 1];
    const conv = (x: string) => graph.node("Conv", [x, weight(graph, [64, 64, 3, 3])], { pads });
    const image = conv(graph.input("x", [1, 64, 28, 28]));
    const up = graph.node("Resize", [image, "", graph.weight([4], { values: [1, 1, 2, 2] })], {
      mode: "nearest",
    });
    const last = graph.node("Transpose", [up], { perm: [0, 2, 3, 1] });
    const ones = graph.weight([64], { values: new Array<number>(64).fill(1) });
    const rows = graph.node("LayerNormalization", [last, ones], { axis: -1 });
    const second = graph.node("Transpose", [rows], { perm: [0, 3, 1, 2] });
    const shape = graph.weight([3], { dtype: "int64", values: [1, 64, 56 * 56] });
    graph.output(graph.node("Reshape", [graph.node("Add", [second, conv(up)]), shape]));
  }),
);

describe("NHWC that is written around what knows NCHW alone", async () => {
  const files: (readonly [before: string, after: string])[] = [];
  for (const before of [mixed, averaged, beside]) {
    const after = before.replace(".onnx", "-nhwc.onnx");
    await fix(before, { ...named, output: after });
    files.push([before, after]);
  }
  it.each(["ort-cuda", "ort-cuda-nhwc"] as const)(
    "takes on %s what the file before it takes",
    async (stack) => {
      for (const [before, after] of files) {
        const [own, written] = [await lint(before, { stack }), await lint(after, { stack })];
        expect(written.predicted.microseconds).toBeCloseTo(own.predicted.microseconds, 9);
        expect((await compare(before, after, { stack })).verdict).not.toMatch(/faster|slower/);
      }
    },
  );

  it("takes what ONNX Runtime's own file of it takes, where prefer_nhwc turns that", async () => {
    const stack = "ort-cuda-nhwc";
    for (const [before, after] of files) {
      const [own, theirs] = [
        await lint(before, { stack }),
        await lint(await optimize("basic", after), { stack }),
      ];
      expect(theirs.predicted.microseconds).toBeCloseTo(own.predicted.microseconds, 9);
    }
  });
});

describe("NHWC of which something is left", () => {
  it.each(["ort-cuda", "ort-cuda-nhwc"] as const)(
    "ends on %s where the file is that is written",
    async (stack) => {
      const output = path.join(path.dirname(averaged), `averaged-${stack}.onnx`);
      const { account, stored } = await fix(averaged, { ...named, stack, output });
      const own = await lint(output, { stack, precision: "as-is" });
      expect(account?.at(-1)?.microseconds).toBeCloseTo(own.predicted.microseconds, 6);
      expect(stored?.after).toBeCloseTo(own.predicted.microseconds, 6);
    },
  );
});

describe("NHWC that is written for ort-cuda", () => {
  it("is NCHW again before a provider sees it: no Transpose is left beside its convolutions", async () => {
    expect(await runBy("disabled", inNhwc)).toContain("Transpose");
    const operators = await runBy("basic", inNhwc);
    expect(operators).toEqual(await runBy("basic", convolutions));
    expect(operators).toContain("Conv");
    expect(operators).not.toContain("Transpose");
  });

  it("is no step, saves nothing, and says so", () => {
    const { account, microseconds, stored, notes } = written;
    expect(written.written).toBe(true);
    expect(account?.map(({ step }) => step)).not.toContain("layout");
    expect(microseconds?.after).toBe(microseconds?.before);
    expect(stored?.after).toBe(stored?.before);
    const change = notes.find(({ kind, pass }) => kind === "changed" && pass === "channels-last");
    expect(change?.message).toMatch(/^3 convolutions .* in NHWC/);
    expect(change?.microseconds).toBeNull();
    const said = notes.filter(({ message }) => /turns this NHWC back into NCHW/.test(message));
    expect(said.map(({ message }) => message)).toEqual([expect.stringContaining("--stack ort-cuda-nhwc")]);
  });

  it("is what prefer_nhwc runs of the file as it was, in both accounts of it", async () => {
    const nhwc = { stack: "ort-cuda-nhwc" } as const;
    const row = (await lint(inNhwc, { minSaving: 0 })).account.find(({ step }) => step === "layout");
    const [own, before] = [await lint(inNhwc, nhwc), await lint(convolutions, nhwc)];
    expect(own.predicted.microseconds).toBeCloseTo(before.predicted.microseconds, 9);
    expect(row?.microseconds).toBeCloseTo(own.predicted.microseconds, 9);
    const { account, notes } = await fix(convolutions, { ...named, ...nhwc, dryRun: true });
    expect(account?.map(({ step }) => step)).not.toContain("layout");
    const said = notes.filter(({ message }) => /turns this NHWC back into NCHW/.test(message));
    expect(said.map(({ message }) => message)).toEqual([
      expect.stringMatching(/gained on ort-cuda-nhwc\. It runs NHWC by itself$/),
    ]);
  });

  it("keeps a Transpose at each image that --nhwc-io turned, and says so", async () => {
    const output = path.join(path.dirname(convolutions), "ends.onnx");
    const { notes } = await fix(convolutions, { ...named, nhwcIo: true, output });
    const operators = await runBy("basic", output);
    expect(operators.filter((each) => each === "Transpose")).toEqual(["Transpose"]);
    const saidOf = (some: typeof notes) => some.filter(({ message }) => /A Transpose stays at/.test(message));
    expect([saidOf(notes), saidOf(written.notes)].map(({ length }) => length)).toEqual([1, 0]);
  });

  it("is not written by --unsafe-fixes, beside which --nhwc-io says nothing", async () => {
    const asked = { ...unsafeFixes, nhwcIo: true, dryRun: true } as const;
    const saidOf = async (options: FixOptions) => {
      const { notes } = await fix(convolutions, { ...asked, ...options });
      return notes.flatMap(({ message }) => (/--nhwc-io/.test(message) ? message : []));
    };
    expect(await saidOf({})).toEqual([expect.stringMatching(/^--nhwc-io changes nothing: .* ort-cuda/)]);
    for (const options of [{ nhwcIo: false }, { stack: "cudnn" }, { nhwcForm: "ort-cuda" }] as const)
      expect(await saidOf(options)).toEqual([]);
  });

  it("is predicted as the file before it, by lint and by `compare`", async () => {
    const [before, after] = [await lint(convolutions), await lint(inNhwc)];
    expect(after.predicted.microseconds).toBeCloseTo(before.predicted.microseconds, 9);
    const layouts = [before, after].map(({ account }) => account.find(({ step }) => step === "layout"));
    expect(layouts[0]?.saves?.microseconds).toBeGreaterThan(0);
    expect(layouts[1]?.saves?.microseconds).toBeCloseTo(layouts[0]?.saves?.microseconds ?? Number.NaN, 9);
    expect((await compare(convolutions, inNhwc)).verdict).not.toMatch(/faster|slower/);
  });

  it("is a step on the stack that runs the file as it is, and in nodes that ONNX Runtime keeps", async () => {
    for (const options of [{ stack: "cudnn", half: "fp16" }, { nhwcForm: "ort-cuda" }] as const) {
      const made = await fix(convolutions, { ...named, ...options, dryRun: true });
      const layout = made.account?.find(({ step }) => step === "layout");
      expect(layout?.saves?.microseconds).toBeGreaterThan(0);
      expect(made.notes.filter(({ message }) => /turns this NHWC back/.test(message))).toEqual([]);
    }
  });

  it("is not written where nobody names it", async () => {
    const { notes, account } = await fix(convolutions, { ...unsafeFixes, dryRun: true });
    expect(notes.filter(({ pass }) => pass === "channels-last")).toEqual([]);
    expect(account?.map(({ step }) => step) ?? []).not.toContain("layout");
  });
});
