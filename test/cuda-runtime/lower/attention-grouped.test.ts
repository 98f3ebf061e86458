/** @file GroupQueryAttention over caches: launches run by their meaning, beside ONNX Runtime on the CPU. */
import { InferenceSession, Tensor } from "onnxruntime-node";
import { describe, expect, test } from "vitest";
import type { StorageType } from "../../../cuda-runtime/ir/storage.ts";
import type { View } from "../../../cuda-runtime/ir/view.ts";
import { groupQueryAttention } from "../../../cuda-runtime/lower/attention-grouped.ts";
import { model } from "../../../fixtures/builder.ts";
import type { DType } from "../../../src/ir/dtype.ts";
import { Random } from "../../../src/verify/random.ts";
import { runAttention, runCacheAppend } from "./cache-machine.ts";
import { attributesOf, Machine, MachineContext, nodeOf } from "./movement-machine.ts";

interface Case {
  readonly batch?: number;
  readonly heads?: number;
  readonly kvHeads?: number;
  readonly length: number;
  /** Of the past's memory, and of the attention mask. */
  readonly past: number;
  readonly total: number;
  /** Valid keys of each sample. */
  readonly valid: readonly number[];
  readonly rotary?: "halves" | "interleaved" | "part";
  readonly window?: number;
  readonly isPacked?: boolean;
  readonly positions?: readonly number[];
  /** The runtime writes into the past's memory. */
  readonly isShared?: boolean;
}

const dim = 32;

interface Given {
  readonly dtype: "float32" | "int32" | "int64";
  readonly dims: readonly number[];
  readonly values: readonly number[];
}

function drawn(seed: string, dims: readonly number[]): Given {
  const random = new Random(seed);
  const values = Array.from({ length: dims.reduce((total, size) => total * size, 1) }, () =>
    Math.fround(random.normal()),
  );
  return { dtype: "float32", dims, values };
}

const integers = (dtype: "int32" | "int64", dims: readonly number[], values: readonly number[]): Given => ({
  dtype,
  dims,
  values,
});

function inputsOf(each: Case): (Given | undefined)[] {
  const { batch = 1, heads = 4, kvHeads = 2, length, past, total, valid, rotary, positions } = each;
  const pairs = rotary === "part" ? dim / 4 : dim / 2;
  const fresh = each.isPacked
    ? [drawn("q", [batch, length, (heads + 2 * kvHeads) * dim]), undefined, undefined]
    : [
        drawn("q", [batch, length, heads * dim]),
        drawn("k", [batch, length, kvHeads * dim]),
        drawn("v", [batch, length, kvHeads * dim]),
      ];
  const caches = ["past k", "past v"].map((seed) => drawn(seed, [batch, kvHeads, past, dim]));
  const lengths = integers(
    "int32",
    [batch],
    valid.map((count) => count - 1),
  );
  const angles = ["cos", "sin"].map((seed) => drawn(seed, [64, pairs]));
  return [
    ...fresh,
    ...caches,
    lengths,
    integers("int32", [1], [total]),
    ...(rotary === undefined ? [] : angles),
    ...(positions === undefined ? [] : [integers("int64", [batch, length], positions)]),
  ];
}

function attributes({ heads = 4, kvHeads = 2, rotary, window }: Case): Record<string, number> {
  return {
    num_heads: heads,
    kv_num_heads: kvHeads,
    do_rotary: rotary === undefined ? 0 : 1,
    rotary_interleaved: rotary === "interleaved" ? 1 : 0,
    ...(window !== undefined && { local_window_size: window }),
  };
}

/** Y, present keys and values. */
async function byOnnxRuntime(each: Case): Promise<readonly number[][]> {
  const inputs = inputsOf(each);
  const outputs = ["y", "k", "v"];
  const bytes = model({ name: "gqa", opset: 21, irVersion: 10, domains: { "com.microsoft": 1 } }, (graph) => {
    const names = inputs.map((input, index) =>
      input === undefined ? "" : graph.input(`x${index}`, input.dims, input.dtype as DType),
    );
    graph.nodes("GroupQueryAttention", names, attributes(each), { domain: "com.microsoft", outputs });
    for (const name of outputs) graph.output(name);
  });
  const session = await InferenceSession.create(bytes, { logSeverityLevel: 4 });
  const feeds = Object.fromEntries(
    inputs.flatMap((input, index) => (input === undefined ? [] : [[`x${index}`, tensorOf(input)]])),
  );
  const results = await session.run(feeds);
  return outputs.map((name) => Array.from(results[name]?.data as Float32Array));
}

function tensorOf({ dtype, dims, values }: Given): Tensor {
  if (dtype === "float32") return new Tensor("float32", Float32Array.from(values), dims);
  if (dtype === "int32") return new Tensor("int32", Int32Array.from(values), dims);
  return new Tensor("int64", BigInt64Array.from(values, BigInt), dims);
}

class GroupedContext extends MachineContext {
  homes: readonly (View | undefined)[] = [];

  override home(index: number): View | undefined {
    return this.homes[index];
  }
}

function byLaunches(each: Case): readonly number[][] {
  const machine: Machine = new Machine({
    run: (launch) =>
      launch.kernel.entry === "cache_append"
        ? runCacheAppend(launch, machine)
        : runAttention(launch, machine),
  });
  const { batch = 1, heads = 4, kvHeads = 2, length, past, total } = each;
  const inputs = inputsOf(each).map(
    (input) => input && machine.tensor(input.dtype as StorageType, input.dims, input.values),
  );
  const cache = { type: "float32", shape: [batch, kvHeads, Math.max(past, total), dim] } as const;
  const context = new GroupedContext(machine, {
    opset: 1,
    attributes: attributesOf(attributes(each)),
    inputs,
    outputs: [{ type: "float32", shape: [batch, length, heads * dim] }, cache, cache],
    node: nodeOf("GroupQueryAttention"),
  });
  if (each.isShared === true) context.homes = [undefined, inputs[3], inputs[4]];
  groupQueryAttention(context);
  return context.results.map((view) => Array.from(view === undefined ? [] : machine.read(view)));
}

/** Rows of a cache that count. */
function validRows(cache: readonly number[] = [], { batch = 1, kvHeads = 2, past, total, valid }: Case) {
  const rows = Math.max(past, total);
  return Array.from({ length: batch * kvHeads }, (_, head) => {
    const start = head * rows * dim;
    return cache.slice(start, start + (valid[Math.floor(head / kvHeads)] ?? 0) * dim);
  }).flat();
}

function expectClose(actual: readonly number[] = [], expected: readonly number[] = []): void {
  expect(actual.length).toBe(expected.length);
  const off = actual.findIndex((value, index) => !(Math.abs(value - (expected[index] ?? 0)) < 1e-4));
  expect(off === -1 ? undefined : [off, actual[off], expected[off]]).toBeUndefined();
}

const cases: Readonly<Record<string, Case>> = {
  "one token behind seven": { length: 1, past: 7, total: 8, valid: [8] },
  "one token behind seven, turned": { length: 1, past: 7, total: 8, valid: [8], rotary: "halves" },
  "turned in pairs of neighbours": { length: 1, past: 7, total: 8, valid: [8], rotary: "interleaved" },
  "half of each head turned": { length: 1, past: 7, total: 8, valid: [8], rotary: "part" },
  "in a buffer that is longer": { length: 1, past: 24, total: 9, valid: [9], rotary: "halves" },
  "a mask as long as the buffer": { length: 1, past: 24, total: 24, valid: [9], rotary: "halves" },
  "samples of different lengths": {
    batch: 2,
    length: 1,
    past: 24,
    total: 24,
    valid: [9, 17],
    rotary: "halves",
  },
  "a prompt": { length: 6, past: 0, total: 6, valid: [6], rotary: "halves" },
  "a prompt into a buffer": { length: 6, past: 24, total: 6, valid: [6], rotary: "halves" },
  "three tokens behind five": { length: 3, past: 5, total: 8, valid: [8], rotary: "halves" },
  "a window": { length: 1, past: 24, total: 24, valid: [20], rotary: "halves", window: 6 },
  "Q, K and V in one": { length: 1, past: 7, total: 8, valid: [8], rotary: "halves", isPacked: true },
  "heads that share nothing": { kvHeads: 4, length: 1, past: 7, total: 8, valid: [8], rotary: "halves" },
};

describe("GroupQueryAttention over a cache is what ONNX Runtime gives", () => {
  test.each(Object.entries(cases))("%s", async (_, each) => {
    const [y, k, v] = await byOnnxRuntime(each);
    const [ownY, ownK, ownV] = byLaunches(each);
    expectClose(ownY, y);
    expectClose(ownK, k);
    expectClose(ownV, v);
  });

  test.each([
    cases["a mask as long as the buffer"],
    cases["samples of different lengths"],
    cases["a prompt into a buffer"],
  ])("in place: %j", async (each) => {
    if (each === undefined) throw new Error("no such case");
    const [y, k, v] = await byOnnxRuntime(each);
    const [ownY, ownK, ownV] = byLaunches({ ...each, isShared: true });
    expectClose(ownY, y);
    expectClose(validRows(ownK, each), validRows(k, each));
    expectClose(validRows(ownV, each), validRows(v, each));
  });
});
