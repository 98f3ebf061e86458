/** Files of memory passes alone: what lint tells of half, a command makes, and what no command makes it does not point to. */
import { afterAll, describe, expect, it } from "vitest";
import { type GraphBuilder, model } from "../../fixtures/builder.ts";
import { fix } from "../../src/api/fix.ts";
import { lint } from "../../src/api/lint.ts";
import type { DType } from "../../src/ir/dtype.ts";
import { temporaryFolder } from "../cli/models.ts";
import { expectAlike } from "../lint/sums.ts";

const folder = temporaryFolder();
afterAll(() => folder[Symbol.dispose]());

const sizes = [1, 320, 64, 64] as const;
const float = 1;
const half = 10;

interface Network {
  readonly dtype: DType;
  build(graph: GraphBuilder, x: string, dtype: DType): string;
}

const groupNorm: Network["build"] = (graph, x, dtype) => {
  const parameter = (value: number) =>
    graph.weight([sizes[1]], { dtype, values: new Array<number>(sizes[1]).fill(value) });
  return graph.node("GroupNormalization", [x, parameter(1), parameter(0)], { num_groups: 8 });
};
const softmax: Network["build"] = (graph, x) => graph.node("Softmax", [graph.node("Mul", [x, x])]);
const inFloat = (graph: GraphBuilder, x: string) => graph.node("Cast", [x], { to: float });

const networks: Readonly<Record<string, Network>> = {
  "GroupNormalization in half, which its function computes in FP32": { dtype: "float16", build: groupNorm },
  "Softmax in BF16": { dtype: "bfloat16", build: softmax },
  "GroupNormalization in FP32": { dtype: "float32", build: groupNorm },
  "Softmax in half": { dtype: "float16", build: softmax },
  "Softmax in FP32": { dtype: "float32", build: softmax },
  "FP32 between halves": {
    dtype: "float16",
    build: (graph, x) => graph.node("Cast", [graph.node("Softmax", [inFloat(graph, x)])], { to: half }),
  },
  "what half leaves": {
    dtype: "float32",
    build: (graph, x) => graph.node("CumSum", [x, graph.weight([], { dtype: "int64", values: [1] })]),
  },
};

describe.each(["ort-cuda", "ort-cuda-nhwc", "cudnn", "inductor", "tensorrt"] as const)("on %s", (stack) => {
  it.each(Object.entries(networks))("%s", async (name, { dtype, build }) => {
    const bytes = model({ name: "passes", opset: 21 }, (graph) => {
      graph.output(build(graph, graph.input("x", sizes, dtype), dtype), dtype);
    });
    const file = folder.write(`${name}.onnx`, bytes);
    const report = await lint(file, { stack });
    const made = await fix(file, { stack, half: "fp16", halfOnlyWhereFaster: false, dryRun: true });
    const step = report.account.find((each) => each.step === "precision");
    const isPointedTo = step?.castsIn !== undefined || (step?.command ?? "") !== "";
    if (isPointedTo) expect(made.changed).toBe(true);
    if (dtype !== "float32" && !made.changed) expect(step).toBeUndefined();
    if (step !== undefined && !made.changed) expect(step.unwritten).toBe(true);
    const plain = await fix(file, { stack, dryRun: true });
    const ofLint = report.account.filter((each) => ["exported", "precision", "safe"].includes(each.step));
    expect(plain.account?.map((each) => each.step) ?? []).toEqual(ofLint.map((each) => each.step));
    for (const [at, each] of ofLint.entries()) expectAlike(plain.account?.[at], each);
  });
});
