/** @file Models for tests: valid ones through onnx-proto, odd ones field by field through protobufjs. */
import onnxProto, { type onnx as types } from "onnx-proto";
import protobuf from "protobufjs/minimal.js";

export const { onnx } = onnxProto;
export type { types };

export const float = 1;
export const int64 = 7;

type Axis = number | string | undefined;

export function tensorType(elemType: number, dims?: readonly Axis[]): types.ITypeProto {
  const shape = dims && { dim: dims.map(axis) };
  return { tensorType: { elemType, ...(shape && { shape }) } };
}

function axis(size: Axis): types.TensorShapeProto.IDimension {
  if (size === undefined) return {};
  return typeof size === "number" ? { dimValue: size } : { dimParam: size };
}

export function info(name: string, dims?: readonly Axis[], elemType = float): types.IValueInfoProto {
  return { name, type: tensorType(elemType, dims) };
}

export function node(
  opType: string,
  input: string[],
  output: string[],
  rest: types.INodeProto = {},
): types.INodeProto {
  return { opType, input, output, ...rest };
}

export function floats(name: string, dims: number[], values: readonly number[]): types.ITensorProto {
  return { name, dims, dataType: float, rawData: Buffer.from(Float32Array.from(values).buffer) };
}

export function integers(name: string, dims: number[], values: readonly number[]): types.ITensorProto {
  const raw = BigInt64Array.from(values, (value) => BigInt(value));
  return { name, dims, dataType: int64, rawData: Buffer.from(raw.buffer) };
}

/** IR 8, opset 17 unless `rest` says otherwise. */
export function modelBytes(graph: types.IGraphProto, rest: types.IModelProto = {}): Uint8Array {
  const opsetImport = [{ domain: "", version: 17 }];
  return onnx.ModelProto.encode({
    irVersion: 8,
    opsetImport,
    graph: { name: "g", ...graph },
    ...rest,
  }).finish();
}

/** x → Relu → y, with more in the graph if asked. */
export function reluModel(extra: types.IGraphProto = {}, rest: types.IModelProto = {}): Uint8Array {
  const graph = {
    node: [node("Relu", ["x"], ["y"])],
    input: [info("x", ["N", 8])],
    output: [info("y", ["N", 8])],
    ...extra,
  };
  return modelBytes(graph, rest);
}

/** One length-delimited field. */
export function field(number: number, ...parts: readonly (Uint8Array | string)[]): Uint8Array {
  const bytes = Buffer.concat(parts.map((part) => (typeof part === "string" ? Buffer.from(part) : part)));
  return protobuf.Writer.create()
    .uint32((number << 3) | 2)
    .bytes(bytes)
    .finish();
}

export function varint(number: number, value: number | string): Uint8Array {
  return protobuf.Writer.create()
    .uint32(number << 3)
    .int64(value)
    .finish();
}

export function join(...parts: readonly Uint8Array[]): Uint8Array {
  return Buffer.concat(parts);
}
