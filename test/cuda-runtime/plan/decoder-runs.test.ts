/** @file Whole decoders run on the CPU by the meaning of their plans' launches, token by token beside ONNX Runtime. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, expect, test, vi } from "vitest";
import { encodeValues } from "../../../cuda-runtime/ir/encode.ts";
import { h200, type Launch } from "../../../cuda-runtime/ir/step.ts";
import { rowNormStruct } from "../../../cuda-runtime/kernels/norm/params.table.ts";
import { reduceStruct } from "../../../cuda-runtime/kernels/reduce/params.table.ts";
import { genaiDecoder } from "../../../fixtures/decoder/genai.ts";
import { type DecoderForm, decoderSizes, plainForm } from "../../../fixtures/decoder/sizes.ts";
import { planFor } from "../../../src/gpu/plan.ts";
import { openModel } from "../../../src/onnx/open.ts";
import { compareDecoded } from "../../../src/verify/decode/compare.ts";
import { fixedFeeds, growingFeeds } from "../../../src/verify/decode/feeds.ts";
import { decodeGreedily } from "../../../src/verify/decode/greedy.ts";
import { decoderPorts } from "../../../src/verify/decode/ports.ts";
import { openSession } from "../../../src/verify/ort.ts";
import { arrays, numbersOf, type Tensor } from "../../../src/verify/tensor.ts";
import { runAttention, runCacheAppend } from "../lower/cache-machine.ts";
import { interpret } from "../lower/movement-interpreter.ts";
import { runNBits } from "../lower/nbits-machine.ts";
import { runProduct } from "../lower/product-machine.ts";
import { fieldsOf } from "../lower/struct-reader.ts";
import { type PlanMemory, runPlan } from "./machine.ts";

vi.mock("../../../cuda-runtime/ptx/compile.ts", async (importOriginal) => {
  const real = await importOriginal<typeof import("../../../cuda-runtime/ptx/compile.ts")>();
  const { rememberingChains } = await import("./machine.ts");
  return { ...real, compileChain: rememberingChains(real.compileChain) };
});

const folder = mkdtempSync(path.join(tmpdir(), "decoder-runs-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

function runNorm(launch: Launch, memory: PlanMemory): void {
  const fields = fieldsOf(launch, rowNormStruct);
  const [rows, cols] = [fields.int("rows"), fields.int("cols")];
  const rowsOf = (name: string, stride: string) => {
    const view = fields.view(name);
    return view && memory.read({ ...view, shape: [rows, cols], strides: [fields.int(stride), 1] });
  };
  const scale = fields.view("scale");
  const scales = scale && memory.read({ ...scale, shape: [cols], strides: [1] });
  const [x, skip] = [rowsOf("x", "xStride") ?? [], rowsOf("skip", "skipStride")];
  const sums = x.map((value, at) => value + (skip?.[at] ?? 0));
  const result = sums.map((value, at) => {
    const row = sums.slice(at - (at % cols), at - (at % cols) + cols);
    const squares = row.reduce((total, each) => total + each * each, 0);
    return (value / Math.sqrt(squares / cols + fields.float("epsilon"))) * (scales?.[at % cols] ?? 1);
  });
  for (const [name, stride, values] of [
    ["y", "yStride", result],
    ["sum", "sumStride", sums],
  ] as const) {
    const view = fields.view(name);
    if (view !== undefined)
      memory.write({ ...view, shape: [rows, cols], strides: [fields.int(stride), 1] }, values);
  }
}

/** One sum of all: what counts a mask of one sample. */
function runSum(launch: Launch, memory: PlanMemory): void {
  const fields = fieldsOf(launch, reduceStruct);
  const [x, y] = [fields.view("x"), fields.view("y")];
  if (fields.int("outer") !== 1 || x === undefined || y === undefined) throw new Error("not one sum");
  const all = memory.read({ ...x, shape: [fields.int("inner")], strides: [1] });
  memory.write({ ...y, shape: [1], strides: [1] }, [all.reduce((total, value) => total + value, 0)]);
}

function runLaunch(launch: Launch, memory: PlanMemory): void {
  const { entry } = launch.kernel;
  if (entry === "cache_append") runCacheAppend(launch, memory);
  else if (entry.startsWith("attention_")) runAttention(launch, memory);
  else if (entry.startsWith("nbits4_")) runNBits(launch, memory);
  else if (entry.startsWith("rownorm_")) runNorm(launch, memory);
  else if (entry.startsWith("reduce_")) runSum(launch, memory);
  else if (entry.startsWith("gather_")) interpret(launch, memory);
  else runProduct(launch, memory);
}

const prompt = [5, 17, 300, 42, 7];
const count = 4;

const forms: readonly Partial<DecoderForm>[] = [
  { block: 32 },
  { block: 32, zeroPoints: true, rotary: "node" },
  { block: 32, tied: true },
];

test.each(
  (["llama-small", "qwen-small"] as const).flatMap((sizes) => forms.map((form) => [sizes, form] as const)),
)("%s, %j: tokens are ONNX Runtime's", async (sizes, form) => {
  const file = path.join(folder, `${sizes}-${JSON.stringify(form).replaceAll(/\W+/g, "-")}.onnx`);
  const whole = { ...plainForm, dtype: "float16", ...form } as const;
  writeFileSync(file, genaiDecoder({ name: "decoder", sizes: decoderSizes[sizes], form: whole }).bytes);
  using model = openModel(file);
  const ports = decoderPorts(model);
  await using session = await openSession({ path: file }, { optimization: "basic", threads: 1 });
  const expected = await decodeGreedily(ports, growingFeeds(ports), prompt, count, (inputs) =>
    session.run(inputs),
  );
  const run = async (inputs: ReadonlyMap<string, Tensor>) => {
    const { plan } = planFor(model, inputs, { precision: "model", target: h200, shareCaches: true });
    const numbers = Object.fromEntries(
      [...inputs].map(([name, tensor]) => [name, Array.from(numbersOf(tensor))]),
    );
    const outputs = runPlan(plan, numbers, runLaunch);
    return new Map(
      plan.outputs.map(({ name, view: { type, shape } }): [string, Tensor] => {
        const bytes = encodeValues(type, outputs[name] ?? []);
        return [name, { dtype: type, dims: shape, data: new arrays[type](bytes.slice().buffer) }];
      }),
    );
  };
  const actual = await decodeGreedily(ports, fixedFeeds(ports, 16), prompt, count, run, expected.tokens);
  const { others, largestError } = compareDecoded(expected, actual, 2 ** -8);
  expect(others.filter(({ isTie }) => !isTie)).toEqual([]);
  expect(largestError).toBeLessThan(0.02);
});
