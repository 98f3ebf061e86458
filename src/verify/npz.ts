/** @file Named arrays in NumPy's archive: inputs given by the user, and inputs kept to show a difference. */
import { readNpy, writeNpy } from "./npy.ts";
import type { Tensor, Tensors } from "./tensor.ts";
import { readZip, writeZip } from "./zip.ts";

/** Far above any model's inputs; what a small archive may unpack to. */
const maxUnpackedBytes = 2 ** 31;

/** Arrays by name, in the archive's order. Throws InputError `bad-npz` or `bad-npy`. */
export function readNpz(archive: Uint8Array, name: string, maxBytes = maxUnpackedBytes): Tensors {
  const tensors = new Map<string, Tensor>();
  for (const entry of readZip(archive, name, maxBytes)) {
    const array = entry.name.replace(/\.npy$/, "");
    tensors.set(array, readNpy(entry.bytes, `${name}: array "${array}"`));
  }
  return tensors;
}

export function writeNpz(tensors: Tensors, options: { readonly compress?: boolean } = {}): Buffer {
  const entries = [...tensors].map(([name, tensor]) => ({ name: `${name}.npy`, bytes: writeNpy(tensor) }));
  return writeZip(entries, options.compress ?? false);
}
