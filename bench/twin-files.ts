/**
 * @file A zoo file with the masks that its exporter stored. The zoo keeps of large tensors what manifest.json says: a causal mask has lost
 * its values there, but not how many of them are the lowest.
 */
import { readFileSync, writeFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import onnxProto, { type onnx as types } from "onnx-proto";

const { onnx } = onnxProto;

interface Stored {
  readonly name: string;
  readonly dims: readonly number[];
  readonly dtype: string;
  readonly mean: number;
  readonly min: number;
  readonly max: number;
}

type Manifest = Readonly<Record<string, { readonly weights: readonly Stored[] }>>;

/** The file itself where it has no such mask, else a copy in `folder`. */
export function withMasks(path: string, folder: string): string {
  const manifest: Manifest = JSON.parse(readFileSync(join(dirname(path), "manifest.json"), "utf8"));
  const weights = manifest[basename(path, ".onnx")]?.weights ?? [];
  const masks = new Map(weights.filter(isCausal).map((stored) => [stored.name, stored]));
  if (masks.size === 0) return path;
  const proto = onnx.ModelProto.decode(readFileSync(path));
  for (const tensor of proto.graph?.initializer ?? []) {
    const mask = masks.get(tensor.name ?? "");
    if (mask !== undefined) fill(tensor, mask);
  }
  const copy = join(folder, basename(path));
  writeFileSync(copy, onnx.ModelProto.encode(proto).finish());
  return copy;
}

/** Square, zeros but for the share that lies above a diagonal, which is as low as a float is. */
function isCausal({ dims, dtype, mean, min, max }: Stored): boolean {
  const [rows = 0, columns = 0] = dims.slice(-2);
  if (dtype !== "float32" || rows !== columns || max !== 0 || min > -1e30) return false;
  return Math.abs(mean / min - (columns - 1) / (2 * columns)) < 1e-9;
}

function fill(tensor: types.ITensorProto, { dims, min }: Stored): void {
  const size = dims.at(-1) ?? 1;
  const count = dims.reduce((product, dim) => product * dim, 1);
  const isAhead = (at: number) => at % size > Math.floor(at / size) % size;
  const values = Float32Array.from({ length: count }, (_, at) => (isAhead(at) ? min : 0));
  tensor.rawData = new Uint8Array(values.buffer);
  tensor.dataLocation = onnx.TensorProto.DataLocation.DEFAULT;
  tensor.externalData = [];
}
