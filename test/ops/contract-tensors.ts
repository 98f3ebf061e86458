/** @file Tensors with padded lanes: made of true ones and a filling, and compared with them. */
import { Tensor } from "onnxruntime-node";
import { type DType, dtypes } from "../../src/ir/dtype.ts";
import type { Lane } from "../../src/ops/axes.ts";
import { MemoryBytes } from "../../src/passes/tensors.ts";
import { readFloats } from "../../src/passes/transform-tensor.ts";
import type { Operand } from "./contracts.ts";

export function isFloatType({ dtype = "float32" }: Operand): boolean {
  return dtypes[dtype].kind === "float";
}

/** For each padded place the true one, or -1. */
function placesOf(maps: readonly Int32Array[]): number[] {
  let places = [0];
  for (const map of maps) {
    const size = map.reduce((count, index) => count + (index < 0 ? 0 : 1), 0);
    places = places.flatMap((place) =>
      Array.from(map, (index) => (place < 0 || index < 0 ? -1 : place * size + index)),
    );
  }
  return places;
}

export function padTensor(
  operand: Operand,
  numbers: readonly number[],
  maps: readonly Int32Array[],
  filler: readonly number[],
): Tensor {
  let next = 0;
  const values = placesOf(maps).map(
    (place) => (place < 0 ? filler[next++ % filler.length] : numbers[place]) ?? 0,
  );
  return tensorOf(
    operand,
    maps.map((map) => map.length),
    values,
  );
}

const arrays: Partial<Record<DType, (values: readonly number[], dims: readonly number[]) => Tensor>> = {
  float32: (values, dims) => new Tensor("float32", Float32Array.from(values), dims),
  float64: (values, dims) => new Tensor("float64", Float64Array.from(values), dims),
  int64: (values, dims) =>
    new Tensor(
      "int64",
      BigInt64Array.from(values, (value) => BigInt(value)),
      dims,
    ),
  int32: (values, dims) => new Tensor("int32", Int32Array.from(values), dims),
  uint8: (values, dims) => new Tensor("uint8", Uint8Array.from(values), dims),
  int8: (values, dims) => new Tensor("int8", Int8Array.from(values), dims),
  bool: (values, dims) => new Tensor("bool", Uint8Array.from(values), dims),
};

export function tensorOf(
  { dtype = "float32" }: Operand,
  dims: readonly number[],
  values: readonly number[],
): Tensor {
  const make = arrays[dtype];
  if (make === undefined) throw new Error(`contracts: no tensors of ${dtype}`);
  return make(values, dims);
}

function numbersIn(tensor: Tensor): number[] {
  if (tensor.type === "float16") {
    const halves = tensor.data as Uint16Array;
    const bytes = new Uint8Array(halves.buffer, halves.byteOffset, halves.byteLength);
    return [...readFloats(new MemoryBytes(bytes), "float16")];
  }
  return Array.from(tensor.data as ArrayLike<number | bigint>, Number);
}

/** Sums are taken in another order. */
const tolerance = 2e-5;

export function differenceIn(want: Tensor, got: Tensor, maps: readonly Int32Array[]): string | undefined {
  const [expected, actual] = [numbersIn(want), numbersIn(got)];
  const finite = expected.filter(Number.isFinite).map(Math.abs);
  const largest = finite.reduce((most, value) => Math.max(most, value), 1);
  for (const [at, place] of placesOf(maps).entries()) {
    if (place < 0) continue;
    const [a = 0, b = 0] = [expected[place], actual[at]];
    if (Object.is(a, b) || Math.abs(a - b) <= tolerance * largest) continue;
    return `[${place}] is ${b}, was ${a}`;
  }
  return undefined;
}

export function brokenClaim(
  lane: Lane | undefined,
  isInfinite: boolean,
  got: Tensor,
  maps: readonly Int32Array[],
): string | undefined {
  if (lane === undefined || lane.kind === "unknown") return undefined;
  if (isInfinite && lane.fails !== undefined) return undefined;
  const actual = numbersIn(got);
  for (const [at, place] of placesOf(maps).entries()) {
    const value = actual[at] ?? 0;
    if (place >= 0) continue;
    const holds =
      lane.kind === "constant" ? Math.abs(value - lane.value) <= slack(lane.value) : Number.isFinite(value);
    if (!holds) return `holds ${value} in a lane that is ${lane.kind === "constant" ? lane.value : "finite"}`;
  }
  return undefined;
}

/** Zeros are exact; other constants are rounded as they come. */
function slack(value: number): number {
  return value === 0 ? 0 : 1e-4 * Math.max(1, Math.abs(value));
}
