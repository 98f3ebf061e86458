import { execFileSync } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import onnxProto, { type onnx as types } from "onnx-proto";
import { InferenceSession, Tensor } from "onnxruntime-node";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { modelFromBytes } from "../../src/onnx/open.ts";
import { encodeNumbers } from "../../src/passes/tensors.ts";
import { nodeTestArchive } from "../onnx/node-tests.ts";
import { bytesOfModel, type Feeds } from "./folding.ts";
import { halveModel } from "./halving.ts";

/** Of the largest output; operators that cancel or divide small numbers lose more than a rounding. */
const tolerance = 0.02;

let folder = "";

describe.skipIf(nodeTestArchive === undefined)("ONNX's operator tests, all of it in FP16", () => {
  beforeAll(() => {
    folder = mkdtempSync(path.join(tmpdir(), "half-nodes-"));
    execFileSync("tar", ["-xJf", nodeTestArchive ?? "", "-C", folder]);
  });

  afterAll(() => rmSync(folder, { recursive: true, force: true }), 120_000);

  it("load and agree wherever the original does", { timeout: 600_000 }, async () => {
    const tally = { tests: 0, ran: 0, changed: 0 };
    const failures: string[] = [];
    for (const test of readdirSync(folder).sort()) {
      tally.tests += 1;
      const bytes = readFileSync(path.join(folder, test, "model.onnx"));
      const feeds = feedsOf(path.join(folder, test), bytes);
      const expected = feeds && (await outcome(bytes, feeds));
      if (feeds === undefined || expected === undefined || typeof expected === "string") continue;
      tally.ran += 1;
      const { changed, after } = halveModel(modelFromBytes(bytes), { halfIo: true });
      if (!changed) continue;
      tally.changed += 1;
      const actual = await outcome(bytesOfModel(after), inHalf(feeds, after));
      const problem = typeof actual === "string" ? actual : compare(expected, actual);
      if (problem !== undefined) failures.push(`${test}: ${problem}`);
    }
    console.log(`${JSON.stringify(tally)}, ${failures.length} failures\n${failures.join("\n")}`);
    expect(tally.changed).toBeGreaterThan(400);
    expect(failures).toEqual([]);
  });
});

type Outputs = Readonly<Record<string, Tensor>>;

async function outcome(bytes: Uint8Array, feeds: Feeds): Promise<Outputs | string> {
  try {
    const session = await InferenceSession.create(bytes, { logSeverityLevel: 4 });
    try {
      return await session.run(feeds);
    } finally {
      await session.release();
    }
  } catch (error) {
    return error instanceof Error ? error.message.slice(0, 200) : String(error);
  }
}

const readers: Partial<Record<number, (raw: Uint8Array, dims: number[]) => Tensor>> = {
  // Rounded to half: 10001 and 10003 are one number there, and no operator can tell them apart.
  1: (raw, dims) => new Tensor("float32", rounded(new Float32Array(aligned(raw))), dims),
  2: (raw, dims) => new Tensor("uint8", raw, dims),
  3: (raw, dims) => new Tensor("int8", new Int8Array(aligned(raw)), dims),
  6: (raw, dims) => new Tensor("int32", new Int32Array(aligned(raw)), dims),
  7: (raw, dims) => new Tensor("int64", new BigInt64Array(aligned(raw)), dims),
  9: (raw, dims) => new Tensor("bool", raw, dims),
};

function rounded(values: Float32Array): Float32Array {
  return Float32Array.from(new Uint16Array(encodeNumbers("float16", Array.from(values)).buffer), fromBits);
}

function aligned(raw: Uint8Array): ArrayBuffer {
  return Uint8Array.from(raw).buffer;
}

/** Undefined where an input is no plain tensor. */
function feedsOf(test: string, bytes: Uint8Array): Feeds | undefined {
  const { graph } = onnxProto.onnx.ModelProto.decode(bytes);
  const feeds: Record<string, Tensor> = {};
  for (const [index, input] of (graph?.input ?? []).entries()) {
    if (input.type?.tensorType === undefined || input.type.tensorType === null) return undefined;
    const file = path.join(test, "test_data_set_0", `input_${index}.pb`);
    const tensor: types.ITensorProto = onnxProto.onnx.TensorProto.decode(readFileSync(file));
    const dims = (tensor.dims ?? []).map(Number);
    const read = readers[tensor.dataType ?? 0];
    if (read === undefined || tensor.rawData === undefined || tensor.rawData === null) return undefined;
    if (dims.reduce((total, dim) => total * dim, 1) > 0 && tensor.rawData.length === 0) return undefined;
    feeds[input.name ?? ""] = read(tensor.rawData, dims);
  }
  return feeds;
}

function inHalf(feeds: Feeds, model: ReturnType<typeof modelFromBytes>): Feeds {
  return Object.fromEntries(
    model.graph.inputs.flatMap(({ name, declared }) => {
      const tensor = feeds[name];
      if (tensor === undefined) return [];
      const isHalf = declared?.kind === "tensor" && declared.dtype === "float16" && tensor.type === "float32";
      if (!isHalf) return [[name, tensor]];
      const bits = new Uint16Array(encodeNumbers("float16", Array.from(tensor.data as Float32Array)).buffer);
      return [[name, new Tensor("float16", bits, tensor.dims)]];
    }),
  );
}

function compare(expected: Outputs, actual: Outputs): string | undefined {
  for (const [name, want] of Object.entries(expected)) {
    const got = actual[name];
    if (got === undefined) return `no ${name}`;
    if (String(got.dims) !== String(want.dims)) return `${name} has dims ${got.dims}, expected ${want.dims}`;
    if (want.type !== "float32") continue;
    const [a, b] = [numbersOf(want), numbersOf(got)];
    const largest = a.reduce(
      (most, value) => (Number.isFinite(value) ? Math.max(most, Math.abs(value)) : most),
      1e-3,
    );
    for (const [index, value] of a.entries()) {
      const other = b[index] ?? Number.NaN;
      if (Object.is(value, other) || value === other) continue;
      // Beyond the range there is the end of the range.
      if (Math.abs(value) > 65504 && Math.sign(value) === Math.sign(other) && Math.abs(other) >= 65504)
        continue;
      if (!(Math.abs(value - other) <= tolerance * largest))
        return `${name}[${index}] is ${other}, expected ${value}`;
    }
  }
  return undefined;
}

function numbersOf({ type, data }: Tensor): number[] {
  const raw = Array.from(data as ArrayLike<number | bigint>, Number);
  // The runtime gives halves as their bits, or as numbers where the platform has a Float16Array.
  return type === "float16" && data instanceof Uint16Array ? raw.map(fromBits) : raw;
}

function fromBits(bits: number): number {
  const sign = bits & 0x8000 ? -1 : 1;
  const [exponent, fraction] = [(bits >> 10) & 31, bits & 1023];
  if (exponent === 31) return fraction === 0 ? sign * Number.POSITIVE_INFINITY : Number.NaN;
  return exponent === 0 ? sign * fraction * 2 ** -24 : sign * (1024 + fraction) * 2 ** (exponent - 25);
}
