/** @file A run on many samples as runs of a model that takes few, stacked. */
import { InputError } from "../ir/errors.ts";
import { minOf } from "../ir/lists.ts";
import type { Stacked } from "../ir/stacked.ts";
import { arrays, countOf, type Tensor, type Tensors } from "./tensor.ts";

/** The last run is filled with samples that are there, and what it gives for these is left out. Throws InputError `cannot-run`. */
export async function runStacked(
  { size, inputs, outputs }: Stacked,
  given: Tensors,
  run: (part: Tensors) => Promise<Tensors>,
  path: string,
): Promise<Tensors> {
  const samples = minOf(inputs.map((name) => given.get(name)?.dims[0] ?? 0));
  if (samples === 0)
    throw new InputError("cannot-run", `${path}: it takes ${size} samples, and there are none`);
  const parts: Tensors[] = [];
  for (let from = 0; from < samples; from += size) {
    const places = Array.from({ length: size }, (_, at) => Math.min(from + at, samples - 1));
    const taken = ([name, tensor]: [string, Tensor]) =>
      [name, inputs.includes(name) ? pick(tensor, 0, places) : tensor] as const;
    parts.push(await run(new Map([...given].map(taken))));
  }
  const [first = new Map<string, Tensor>()] = parts;
  return new Map(
    [...first.keys()].map((name) => [name, stack(name, parts, outputs.get(name), samples / size)]),
  );
}

/** Where an output has no samples, it is that of the first run. */
function stack(name: string, parts: readonly Tensors[], axis: number | undefined, runs: number): Tensor {
  const tensors = parts.flatMap((part) => part.get(name) ?? []);
  const [first] = tensors;
  if (first === undefined) throw new Error(`tc-lint bug: no run gave "${name}"`);
  if (axis === undefined) return first;
  const whole = joined(tensors, first, axis);
  const length = Math.round((first.dims[axis] ?? 0) * runs);
  return pick(
    whole,
    axis,
    Array.from({ length }, (_, at) => at),
  );
}

function joined(tensors: readonly Tensor[], first: Tensor, axis: number): Tensor {
  const rows = countOf(first.dims.slice(0, axis));
  const dims = first.dims.map((dim, at) => (at === axis ? dim * tensors.length : dim));
  return filled(first, dims, (row) => tensors.map((tensor) => slab(tensor, axis, row)), rows);
}

/** Those at `places` along an axis. */
function pick(tensor: Tensor, axis: number, places: readonly number[]): Tensor {
  const { dims } = tensor;
  const rows = countOf(dims.slice(0, axis));
  const inner = countOf(dims.slice(axis + 1));
  const picked = (row: number) =>
    places.map((place) => {
      const from = (row * (dims[axis] ?? 0) + place) * inner;
      return [tensor, from, from + inner] as const;
    });
  return filled(
    tensor,
    dims.map((dim, at) => (at === axis ? places.length : dim)),
    picked,
    rows,
  );
}

type Slab = readonly [tensor: Tensor, from: number, to: number];

function slab(tensor: Tensor, axis: number, row: number): Slab {
  const length = countOf(tensor.dims.slice(axis));
  return [tensor, row * length, (row + 1) * length];
}

function filled(
  like: Tensor,
  dims: readonly number[],
  slabsOf: (row: number) => readonly Slab[],
  rows: number,
): Tensor {
  const slabs = Array.from({ length: rows }, (_, row) => slabsOf(row)).flat();
  if (like.dtype === "string") {
    const data = slabs.flatMap(([{ data: from }, start, end]) => Array.from(from.slice(start, end), String));
    return { dtype: like.dtype, dims, data };
  }
  const width = arrays[like.dtype].BYTES_PER_ELEMENT;
  const bytes = new Uint8Array(countOf(dims) * width);
  let at = 0;
  for (const [{ data }, start, end] of slabs) {
    if (!ArrayBuffer.isView(data)) continue;
    bytes.set(new Uint8Array(data.buffer, data.byteOffset + start * width, (end - start) * width), at);
    at += (end - start) * width;
  }
  return { dtype: like.dtype, dims, data: new arrays[like.dtype](bytes.buffer) };
}
