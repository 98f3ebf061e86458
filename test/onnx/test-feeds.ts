/** @file Inputs of ONNX's own operator tests. */
import { existsSync, readFileSync } from "node:fs";
import path from "node:path";
import onnxProto, { type onnx as types } from "onnx-proto";
import { Tensor } from "onnxruntime-node";

const readers: Partial<Record<number, (raw: ArrayBuffer, dims: number[]) => Tensor>> = {
  1: (raw, dims) => new Tensor("float32", new Float32Array(raw), dims),
  2: (raw, dims) => new Tensor("uint8", new Uint8Array(raw), dims),
  3: (raw, dims) => new Tensor("int8", new Int8Array(raw), dims),
  6: (raw, dims) => new Tensor("int32", new Int32Array(raw), dims),
  7: (raw, dims) => new Tensor("int64", new BigInt64Array(raw), dims),
  9: (raw, dims) => new Tensor("bool", new Uint8Array(raw), dims),
  11: (raw, dims) => new Tensor("float64", new Float64Array(raw), dims),
};

/** By name; undefined where an input is no plain tensor, or of a type that has no array here. */
export function readFeeds(test: string, bytes: Uint8Array): Readonly<Record<string, Tensor>> | undefined {
  const { graph } = onnxProto.onnx.ModelProto.decode(bytes);
  const feeds: Record<string, Tensor> = {};
  for (const [index, input] of (graph?.input ?? []).entries()) {
    if (input.type?.tensorType === undefined || input.type.tensorType === null) return undefined;
    const file = path.join(test, "test_data_set_0", `input_${index}.pb`);
    if (!existsSync(file)) return undefined;
    const tensor: types.ITensorProto = onnxProto.onnx.TensorProto.decode(readFileSync(file));
    const dims = (tensor.dims ?? []).map(Number);
    const read = readers[tensor.dataType ?? 0];
    if (read === undefined || tensor.rawData === undefined || tensor.rawData === null) return undefined;
    if (dims.reduce((total, dim) => total * dim, 1) > 0 && tensor.rawData.length === 0) return undefined;
    feeds[input.name ?? ""] = read(Uint8Array.from(tensor.rawData).buffer, dims);
  }
  return feeds;
}
