/** @file Plans of decoders: what a step for one token launches, what it copies, and what is uploaded. */
import { describe, expect, test } from "vitest";
import type { Plan } from "../../../cuda-runtime/ir/step.ts";
import { planModel } from "../../../cuda-runtime/plan/build.ts";
import { dynamoDecoder } from "../../../fixtures/decoder/dynamo.ts";
import { genaiDecoder } from "../../../fixtures/decoder/genai.ts";
import { type DecoderForm, decoderSizes, plainForm } from "../../../fixtures/decoder/sizes.ts";
import { weightBytesOf } from "../../../src/gpu/decode/weight-bytes.ts";
import { modelFromBytes } from "../../../src/onnx/open.ts";

const half: DecoderForm = { ...plainForm, dtype: "float16" };

interface Request {
  readonly form?: Partial<DecoderForm>;
  readonly isDynamo?: boolean;
  readonly sizes?: "llama" | "qwen" | "llama-small";
  readonly length?: number;
  readonly past: number;
  readonly total: number;
  readonly shareCaches?: boolean;
}

function planOf({
  form,
  isDynamo = false,
  sizes = "llama",
  length = 1,
  past,
  total,
  shareCaches,
}: Request): Plan {
  const write = isDynamo ? dynamoDecoder : genaiDecoder;
  const options = {
    name: "decoder",
    sizes: decoderSizes[sizes],
    form: { ...half, ...form },
    isExternal: true,
  };
  using model = modelFromBytes(write(options).bytes);
  const dims = {
    batch_size: 1,
    sequence_length: length,
    past_sequence_length: past,
    total_sequence_length: total,
  };
  return planModel({
    model,
    dims: new Map(Object.entries(dims)),
    shareCaches,
    weights: () => ({ size: 0, readInto: () => undefined }),
  });
}

function entriesOf({ steps }: Plan): string[] {
  return steps.map(({ action }) => (action.kind === "launch" ? action.launch.kernel.entry : "clear"));
}

function buffersOf(ports: Plan["inputs"], pattern: RegExp): number[] {
  return ports.filter(({ name }) => pattern.test(name)).map(({ view }) => view.buffer.id);
}

const names = { past: /^past/, present: /^present/ };

describe("a token behind a buffer of 2,112", () => {
  const request = { form: { block: 32 }, past: 2112, total: 2112 } as const;

  test("leaves caches where they are, if their memory is given up", () => {
    const plan = planOf({ ...request, shareCaches: true });
    expect(buffersOf(plan.outputs, names.present)).toEqual(buffersOf(plan.inputs, names.past));
    const appends = plan.steps.flatMap(({ action }) =>
      action.kind === "launch" && action.launch.kernel.entry === "cache_append" ? [action.launch] : [],
    );
    expect(appends.map(({ movedBytes = 0 }) => movedBytes < 100_000)).toEqual([true, true]);
  });

  test("else writes present where it is read, and inputs stay what they are", () => {
    const plan = planOf(request);
    const inputs = new Set(plan.inputs.map(({ view }) => view.buffer));
    for (const { action } of plan.steps) {
      const writes = action.kind === "launch" ? action.launch.writes : [action.view];
      expect(writes.filter(({ buffer }) => inputs.has(buffer))).toEqual([]);
    }
    expect(plan.steps.some(({ operator }) => operator === "output")).toBe(false);
  });

  test("is 25 launches: queries, keys and values are one product, gate and up another", () => {
    const entries = entriesOf(planOf({ ...request, shareCaches: true }));
    expect(entries).toHaveLength(25);
    expect(entries.filter((entry) => entry === "nbits4_f16_stream")).toHaveLength(9);
  });

  test.each([
    [{ block: 32 }, 4.5],
    [{ block: 128, zeroPoints: true }, 4.125 + 4 / 128],
    [{}, 16],
  ] as const)("reads each weight once, in the bits that it has: %j", (form, bits) => {
    const plan = planOf({ ...request, form, shareCaches: true });
    const weights = 2 * (2 * 4096 * 4096 + 2 * 4096 * 1024 + 3 * 4096 * 14_336) + 4096 * 128_256;
    expect(weightBytesOf(plan) / ((weights * bits) / 8)).toBeCloseTo(1, 2);
  });
});

test("a table that is the head as well is uploaded once, and looked up as it is", () => {
  for (const isDynamo of [false, true]) {
    const plan = planOf({ isDynamo, form: { tied: true }, past: 64, total: isDynamo ? 65 : 64 });
    const table = 4096 * 128_256 * 2;
    expect(plan.uploads.filter(({ sizeBytes }) => sizeBytes === table)).toHaveLength(1);
    const constants = plan.buffers.filter(({ kind, bytes }) => kind === "constant" && bytes === table);
    expect(constants).toHaveLength(1);
  }
});

test("caches that are concatenated are written where they are read: once, and no more", () => {
  const plan = planOf({ isDynamo: true, past: 2048, total: 2049 });
  expect(plan.steps.some(({ operator }) => operator === "output")).toBe(false);
  const cacheBytes = 8 * 2049 * 128 * 2;
  const writes = plan.steps.flatMap(({ action }) => (action.kind === "launch" ? action.launch.writes : []));
  const large = writes.filter(({ buffer }) => buffer.bytes >= cacheBytes);
  expect(large.every(({ buffer }) => buffer.kind === "output")).toBe(true);
});

test("norms that are written out in float32 are a launch each, and what a residual adds is not converted before", () => {
  const plan = planOf({ isDynamo: true, past: 2048, total: 2049 });
  const norms = entriesOf(plan).filter((entry) => entry.startsWith("rownorm_"));
  expect(norms).toEqual(new Array(5).fill("rownorm_f16_w8_block1"));
  const vectors = plan.steps.flatMap(({ action }) =>
    action.kind === "launch" ? action.launch.writes.filter(({ shape }) => shape.at(-1) === 4096) : [],
  );
  expect(vectors.filter(({ type, shape }) => type === "float32" && shape[0] === 1)).toEqual([]);
  // Products of one token go without splits of k, whose sums were launches.
  expect(plan.steps).toHaveLength(38);
});

test("a prompt of 512 multiplies expanded weights on Tensor Cores", () => {
  const entries = entriesOf(planOf({ form: { block: 32 }, length: 512, past: 2112, total: 512 }));
  expect(entries.some((entry) => entry.startsWith("nbits4_"))).toBe(false);
});
