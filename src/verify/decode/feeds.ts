/**
 * @file A decoder's inputs step by step. Growing: caches are as long as what was seen, as people run a model by hand. Fixed: every step
 * has the same sizes, so that one plan does for all; a mask leaves out what is not there yet.
 */
import { InputError } from "../../ir/errors.ts";
import { arrays, countOf, type NumberArray, type Tensor, type Tensors } from "../tensor.ts";
import type { CachePort, DecoderPorts, Port } from "./ports.ts";

export interface Feeds {
  /** For all tokens of the prompt at once. */
  prompt(tokens: readonly number[]): Map<string, Tensor>;
  /** For one token more, behind `seen` others. Caches are those of `caches`, or were left where they are. */
  next(token: number, seen: number): Map<string, Tensor>;
  /** From what a step gave, the caches that the next one takes. */
  caches(outputs: Tensors, seen: number): Map<string, Tensor>;
}

export function growingFeeds(ports: DecoderPorts): Feeds {
  return {
    prompt: (tokens) =>
      new Map([...inputsOf(ports, tokens, 0, ones(tokens.length)), ...emptyCaches(ports, 0)]),
    next: (token, seen) => inputsOf(ports, [token], seen, ones(seen + 1)),
    caches: (outputs) => renamed(ports, outputs, (tensor) => tensor),
  };
}

/** For at most `capacity` tokens. */
export function fixedFeeds(ports: DecoderPorts, capacity: number): Feeds {
  const isBuffer = ports.caches.every(({ kind }) => kind === "buffer");
  if (isBuffer && ports.mask === undefined)
    throw new InputError(
      "usage",
      "--decode: the model takes no attention mask, expected one beside its caches",
    );
  return isBuffer ? bufferFeeds(ports, capacity) : windowFeeds(ports, capacity);
}

/** Valid rows are at the front of caches of one length; present may be the past's own memory. */
function bufferFeeds(ports: DecoderPorts, capacity: number): Feeds {
  return {
    prompt: (tokens) =>
      new Map([...inputsOf(ports, tokens, 0, ones(tokens.length)), ...emptyCaches(ports, capacity)]),
    next: (token, seen) => inputsOf(ports, [token], seen, [...ones(seen + 1), ...zeros(capacity - seen - 1)]),
    caches: (outputs) => renamed(ports, outputs, (tensor) => tensor),
  };
}

/** Valid rows are at the end: each step drops the first row and adds its own. */
function windowFeeds(ports: DecoderPorts, capacity: number): Feeds {
  return {
    prompt: (tokens) =>
      new Map([...inputsOf(ports, tokens, 0, ones(tokens.length)), ...emptyCaches(ports, 0)]),
    next: (token, seen) => inputsOf(ports, [token], seen, [...zeros(capacity - seen), ...ones(seen + 1)]),
    caches: (outputs) => renamed(ports, outputs, (tensor, { axis }) => lastRows(tensor, axis, capacity)),
  };
}

const ones = (count: number): number[] => new Array<number>(count).fill(1);
const zeros = (count: number): number[] => new Array<number>(Math.max(0, count)).fill(0);

function inputsOf(
  { ids, mask, positions }: DecoderPorts,
  tokens: readonly number[],
  seen: number,
  counted: readonly number[],
): Map<string, Tensor> {
  const rows = [row(ids, tokens), ...(mask === undefined ? [] : [row(mask, counted)])];
  const places = tokens.map((_, at) => seen + at);
  return new Map([...rows, ...(positions === undefined ? [] : [row(positions, places)])]);
}

function row({ name, dtype }: Port, values: readonly number[]): [string, Tensor] {
  const data = dtype === "int64" ? BigInt64Array.from(values, BigInt) : Int32Array.from(values);
  return [name, { dtype, dims: [1, values.length], data }];
}

function emptyCaches({ caches }: DecoderPorts, length: number): [string, Tensor][] {
  return caches.map(({ past, dtype, axis, dims }) => {
    const own = dims.with(axis, length);
    return [past, { dtype, dims: own, data: new arrays[dtype](countOf(own)) }];
  });
}

function renamed(
  { caches }: DecoderPorts,
  outputs: Tensors,
  change: (tensor: Tensor, cache: CachePort) => Tensor,
): Map<string, Tensor> {
  return new Map(
    caches.map((cache) => {
      const tensor = outputs.get(cache.present);
      if (tensor === undefined) throw new Error(`tc-lint bug: no output "${cache.present}"`);
      return [cache.past, change(tensor, cache)];
    }),
  );
}

/** The last `count` of an axis, with zeros in front where there are fewer. */
function lastRows(tensor: Tensor, axis: number, count: number): Tensor {
  if (tensor.dtype === "string") throw new Error("tc-lint bug: a cache of strings");
  const { dtype, dims, data } = tensor;
  const own = dims[axis] ?? 0;
  const inner = countOf(dims.slice(axis + 1));
  const target: NumberArray = new arrays[dtype](countOf(dims.with(axis, count)));
  const kept = Math.min(own, count);
  for (let block = 0; block < countOf(dims.slice(0, axis)); block++) {
    const from = data.subarray((block * own + own - kept) * inner, (block + 1) * own * inner);
    copyInto(target, from, (block * count + count - kept) * inner);
  }
  return { dtype, dims: dims.with(axis, count), data: target };
}

function copyInto(target: NumberArray, from: NumberArray, at: number): void {
  const bytes = target.BYTES_PER_ELEMENT;
  new Uint8Array(target.buffer).set(
    new Uint8Array(from.buffer, from.byteOffset, from.byteLength),
    target.byteOffset + at * bytes,
  );
}
