import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { pathToFileURL } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type GraphBuilder, model } from "../../fixtures/builder.ts";
import { overflowing, type Size } from "../../fixtures/overflowing.ts";
import { storedTensor } from "../../src/facts/stored.ts";
import { fixModel, type Verify } from "../../src/fix/fix.ts";
import { proveHalf } from "../../src/fix/half-proof.ts";
import { rangesFor } from "../../src/fix/observed-ranges.ts";
import type { FixSettings } from "../../src/fix/pipeline.ts";
import { overflowBehind } from "../../src/gpu/validate/overflow.ts";
import { judgementOf } from "../../src/gpu/validate/precision.ts";
import { openModel } from "../../src/onnx/open.ts";
import { align } from "../../src/passes/align/align.ts";
import { fold } from "../../src/passes/fold/fold.ts";
import { half } from "../../src/passes/half/half.ts";
import { rescale } from "../../src/passes/half/rescale.ts";
import type { Ranges } from "../../src/passes/pass.ts";
import { overflowLines } from "../../src/report/validate-text.ts";
import type { HalfType } from "../../src/verify/budget.ts";
import { compareTensors } from "../../src/verify/compare.ts";
import { tensorOf } from "../../src/verify/tensor.ts";
import { type Bundle, bundle } from "../bundle.ts";
import { settingsFor } from "../fix/models.ts";
import { withConstantNodes } from "../onnx/constant-nodes.ts";

let child: Bundle;
let folder: string;
beforeAll(async () => {
  child = await bundle("src/verify/child.ts");
  folder = mkdtempSync(path.join(tmpdir(), "overflow-"));
});
afterAll(() => rmSync(folder, { recursive: true }));

const size: Size = { width: 16, side: 32, batch: 4 };

function write(name: keyof typeof overflowing, own: Size): string {
  const file = path.join(folder, `${name}.onnx`);
  writeFileSync(file, overflowing[name](own));
  return file;
}

const settings = settingsFor([fold, align, rescale, half]);

function rangesOf(file: string): Promise<Ranges | undefined> {
  const request = {
    path: file,
    settings,
    childUrl: pathToFileURL(child.path),
    sizes: {},
    onProgress: () => {},
  };
  return rangesFor({ ...request, samples: undefined, mayDraw: true, within: (work) => work() }).then(
    ({ ranges }) => ranges,
  );
}

function fix(file: string, own: FixSettings, verify: Verify | undefined) {
  return fixModel({
    path: file,
    destination: `${file}.half.onnx`,
    settings: own,
    dryRun: verify === undefined,
    promise: "",
    verify: verify ?? (() => Promise.reject(new Error("nothing to verify"))),
  });
}

const withRanges = (ranges: Ranges | undefined): FixSettings => ({
  ...settings,
  options: { ...settings.options, ranges },
});

describe("what a validation says of NaN in FP16", () => {
  const difference = compareTensors(tensorOf("float32", [1], [1]), tensorOf("float32", [1], [Number.NaN]));
  const wrong = {
    name: "y",
    dtype: "float32",
    dims: [1],
    draw: "given",
    same: false,
    problem: undefined,
    difference,
    allowed: undefined,
  } as const;

  /** x [2,4] → first (times 1000) → second (times 1000) → third (times 1e-6) → y. */
  const chain = model({ name: "chain", opset: 17 }, (graph) => {
    const times = (value: string, factor: number, name: string) =>
      graph.node(
        "MatMul",
        [
          value,
          graph.weight([4, 4], {
            values: Array.from({ length: 16 }, (_, at) => (at % 5 === 0 ? factor : 0)),
          }),
        ],
        {},
        { name },
      );
    const first = times(graph.input("x", [2, 4]), 1000, "first");
    const result = times(
      graph.node("Relu", [times(first, 1000, "second")], {}, { name: "relu" }),
      1e-6,
      "third",
    );
    graph.node("Identity", [result], {}, { outputs: ["y"] });
    graph.output("y");
  });

  function ask(type: HalfType | undefined, size: number, same = false) {
    const file = path.join(folder, "chain.onnx");
    writeFileSync(file, chain);
    const inputs = [new Map([["x", tensorOf("float32", [2, 4], new Array<number>(8).fill(size))]])];
    const childUrl = pathToFileURL(child.path);
    return overflowBehind({ path: file, type, outputs: [{ ...wrong, same }], inputs, childUrl });
  }

  it("names the node, how far it goes, and what would hold it", async () => {
    const overflow = await ask("float16", 1.2);
    expect(overflow).toMatchObject({
      type: "float16",
      limit: 65504,
      node: "second",
      operator: "MatMul",
      nodes: ["second", "relu", "third"],
      isInBfloat16: true,
    });
    expect(overflow?.reaches).toBeCloseTo(1.2e6, -2);
    expect(overflowLines(overflow).slice(0, 2)).toEqual([
      '  FP16 overflows at MatMul "second": |v| up to 1200000 > 65504',
      '    BF16 holds that; FP16 does with 3 nodes in FP32: "second", "relu", "third"',
    ]);
  });

  it("says nothing where values are in range, where outputs agree in kind, and of FP32", async () => {
    expect(await ask("float16", 0.01)).toBeUndefined();
    expect(await ask("bfloat16", 1.2)).toBeUndefined();
    expect(await ask(undefined, 1.2)).toBeUndefined();
    expect(await ask("float16", 1.2, true)).toBeUndefined();
    expect(overflowLines(undefined)).toEqual([]);
  });
});

describe("the precision that a model is validated in", () => {
  const judged = (build: (graph: GraphBuilder) => void, asked?: "fp16" | "model") => {
    const file = path.join(folder, "judged.onnx");
    writeFileSync(file, model({ name: "judged", opset: 17 }, build));
    return judgementOf(file, asked);
  };
  const plain = (graph: GraphBuilder) => {
    graph.node("Relu", [graph.input("x", [2])], {}, { outputs: ["y"] });
    graph.output("y");
  };
  const islands = (graph: GraphBuilder) => {
    const half = graph.node("Relu", [graph.node("Cast", [graph.input("x", [2])], { to: 10 })]);
    graph.node("Exp", [graph.node("Cast", [half], { to: 1 })], {}, { outputs: ["y"] });
    graph.output("y");
  };

  it("is FP16, but as it is stored where a fix left nodes FP32 beside half ones", () => {
    expect(judged(plain).precision).toBe("fp16");
    expect(judged(plain, "model").budget).toMatchObject({ kind: "relative" });
    expect(judged(islands)).toMatchObject({ precision: "model", budget: { dtype: "float16" } });
    expect(judged(islands, "fp16").precision).toBe("fp16");
  });
});

describe("activations beyond FP16", () => {
  const names = Object.keys(overflowing) as (keyof typeof overflowing)[];
  // TC_LINT_FUZZ_RUNS asks for more.
  const isLong = process.env["TC_LINT_FUZZ_RUNS"] !== undefined;
  const cases = names.flatMap((name) =>
    (isLong ? [false, true] : [name === "vgg"]).map((isConstant) => ({ name, isConstant, areNodes: false })),
  );
  cases.push({ name: "vgg", isConstant: false, areNodes: true });

  it.each(cases)(
    "$name, constant weights: $isConstant, in Constant nodes: $areNodes",
    { timeout: 120_000 },
    async ({ name, isConstant, areNodes }) => {
      const file = write(name, { ...size, isConstant });
      if (areNodes) writeFileSync(file, withConstantNodes(readFileSync(file)));
      const ranges = await rangesOf(file);
      expect(Math.max(...(ranges?.largest.values() ?? []))).toBeGreaterThan(65504);
      const verify: Verify = (original, candidate, { permutations }) =>
        proveHalf(
          {
            path: file,
            original,
            candidate,
            permutations,
            half: "fp16",
            childUrl: pathToFileURL(child.path),
          },
          "float16",
        );
      const blind = await fix(file, withRanges(undefined), undefined);
      const fixed = await fix(file, withRanges(ranges), verify);
      expect(fixed.proof?.kind).toBe("verified");
      expect(fixed.microseconds.after).toBeLessThan(1.05 * blind.microseconds.after);
      expect(fixed.notes.some(({ message }) => /beyond FP16: scaled down/.test(message))).toBe(true);
      using again = openModel(`${file}.half.onnx`);
      const products = again.graph.nodes.filter(({ opType }) => opType === "Conv" || opType === "Gemm");
      const inHalf = products.filter(({ inputs: [, w] }) => w && storedTensor(w)?.dtype === "float16");
      expect(inHalf.length).toBeGreaterThan(0.6 * products.length);
      const unread = again.graph.nodes.filter(({ outputs: [value] }) => value?.consumers.length === 0);
      expect(unread.filter(({ opType }) => opType === "Constant")).toEqual([]);
    },
  );
});
