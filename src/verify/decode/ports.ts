/** @file What of a decoder takes tokens, what takes lengths and caches, and what gives the next token's scores. */

import { type Dim, evaluateDim } from "../../ir/dim.ts";
import { InputError } from "../../ir/errors.ts";
import type { Model, Value } from "../../ir/model.ts";
import { requiredInputs } from "../../ir/symbols.ts";
import { type CachePair, cachesOf } from "../../ops/caches.ts";
import { type ArrayType, isArrayType } from "../tensor.ts";

export interface CachePort {
  readonly past: string;
  readonly present: string;
  readonly kind: CachePair["kind"];
  readonly dtype: ArrayType;
  readonly axis: number;
  /** Of one sample; the axis of positions is 0. */
  readonly dims: readonly number[];
}

export interface DecoderPorts {
  readonly ids: Port;
  /** 1 for each position that counts. */
  readonly mask: Port | undefined;
  readonly positions: Port | undefined;
  readonly caches: readonly CachePort[];
  /** Scores [batch, positions, vocabulary]. */
  readonly logits: string;
}

export interface Port {
  readonly name: string;
  readonly dtype: ArrayType;
}

/** Throws InputError `usage` where the model is no decoder with caches. */
export function decoderPorts(model: Model): DecoderPorts {
  const { graph, path } = model;
  const refuse = (what: string) => new InputError("usage", `--decode: ${path} ${what}`);
  const pairs = cachesOf(graph);
  if (pairs.length === 0)
    throw refuse("has no input that comes back as an output: past keys and values, and present ones");
  if (new Set(pairs.map(({ kind }) => kind)).size > 1)
    throw refuse("has caches that grow and caches of one length");
  const isCache = new Set(pairs.flatMap(({ past, present }) => [past, present]));
  const rest = requiredInputs(model).filter((input) => !isCache.has(input));
  const named = (pattern: RegExp) => rest.find(({ name }) => pattern.test(name));
  const [mask, positions] = [named(/mask/i), named(/position/i)];
  const others = rest.filter((input) => input !== mask && input !== positions);
  const [ids, ...more] = others;
  if (ids === undefined || more.length > 0)
    throw refuse(
      `has the inputs ${others.map(({ name }) => `"${name}"`).join(", ")} beside its caches, mask and positions, expected one of tokens`,
    );
  const [logits] = graph.outputs.filter((output) => !isCache.has(output));
  if (logits === undefined) throw refuse("has no output beside its caches");
  return {
    ids: portOf(ids, refuse),
    mask: mask && portOf(mask, refuse),
    positions: positions && portOf(positions, refuse),
    caches: pairs.map((pair) => cachePort(pair, refuse)),
    logits: logits.name,
  };
}

type Refuse = (what: string) => InputError;

function portOf({ name, declared }: Value, refuse: Refuse): Port {
  const dtype = declared?.kind === "tensor" ? declared.dtype : undefined;
  if (!isArrayType(dtype) || !(dtype === "int32" || dtype === "int64"))
    throw refuse(`has an input "${name}" of ${dtype ?? "no type"}, expected int32 or int64`);
  return { name, dtype };
}

/** Batches are of one; every other size but the length's has to be a number. */
function cachePort({ past, present, kind, axis }: CachePair, refuse: Refuse): CachePort {
  const { name, declared } = past;
  const dtype = declared?.kind === "tensor" ? declared.dtype : undefined;
  const shape = declared?.kind === "tensor" ? declared.shape : undefined;
  if (!isArrayType(dtype) || shape === undefined)
    throw refuse(`has a cache "${name}" without a type and a shape`);
  const sizeOf = (dim: Dim, at: number) => {
    if (at === axis) return 0;
    return at === 0 ? 1 : evaluateDim(dim, new Map());
  };
  const dims = shape.map(sizeOf).filter((size) => size !== undefined);
  if (dims.length !== shape.length) throw refuse(`has a cache "${name}" whose heads have no sizes`);
  return { past: name, present: present.name, kind, dtype, axis, dims };
}
