/** @file Numbers drawn from a seed: the same on every machine. */
import { type StorageType, storageTypes } from "../ir/storage.ts";

/**
 * Uniform: floats in [-scale, scale) (scale 1 unless given), integers from -scale to scale, unsigned ones from 0
 * (scale 10 unless given), booleans half and half.
 */
export function randomValues(
  type: StorageType,
  count: number,
  seed: number,
  scale: number | undefined,
): Float64Array {
  const next = uniform(seed);
  const { kind } = storageTypes[type];
  const most = scale ?? (kind === "float" ? 1 : 10);
  const draw = {
    float: () => most * (2 * next() - 1),
    int: () => Math.floor((2 * most + 1) * next()) - most,
    uint: () => Math.floor((most + 1) * next()),
    bool: () => Math.floor(2 * next()),
    code: () => Math.floor(120 * next()),
  }[kind];
  const values = new Float64Array(count);
  for (let index = 0; index < count; index++) values[index] = draw();
  return values;
}

/** In [0, 1): a counter, mixed by the finalizer of MurmurHash3. */
function uniform(seed: number): () => number {
  let state = Math.imul(seed + 1, 0x9e37_79b1) >>> 0;
  return () => {
    state = (state + 0x9e37_79b9) >>> 0;
    let bits = state;
    bits = Math.imul(bits ^ (bits >>> 16), 0x85eb_ca6b);
    bits = Math.imul(bits ^ (bits >>> 13), 0xc2b2_ae35);
    return ((bits ^ (bits >>> 16)) >>> 0) / 2 ** 32;
  };
}
