/** @file Graphs of any number of nodes, as an exporter would name them, written field by field. */
import { closeSync, openSync, writeSync } from "node:fs";
import onnxProto, { type onnx as types } from "onnx-proto";
import protobuf from "protobufjs/minimal.js";

const { onnx } = onnxProto;
const bufferBytes = 1 << 20;
const [channels, size] = [64, 56];

/** Nodes of one residual block; the activation stays [1, 64, 56, 56]. */
export const blockNodes = 8;

/** Writes a chain of `blocks` blocks. The weights are external data, in a file that is not there. */
export function writeSyntheticModel(file: string, blocks: number): void {
  const graphBytes = [...graphFields(blocks)].reduce((total, bytes) => total + bytes.length, 0);
  const writer = protobuf.Writer.create()
    .uint32(8)
    .int64(8)
    .uint32((7 << 3) | 2)
    .uint32(graphBytes);
  const opset = onnx.OperatorSetIdProto.encode({ domain: "", version: 17 }).finish();
  const descriptor = openSync(file, "w");
  let pending: Uint8Array[] = [writer.finish()];
  let pendingBytes = 0;
  const flush = () => {
    writeSync(descriptor, Buffer.concat(pending));
    pending = [];
    pendingBytes = 0;
  };
  for (const bytes of graphFields(blocks)) {
    pending.push(bytes);
    pendingBytes += bytes.length;
    if (pendingBytes > bufferBytes) flush();
  }
  pending.push(field(8, opset));
  flush();
  closeSync(descriptor);
}

function field(number: number, bytes: Uint8Array): Uint8Array {
  return protobuf.Writer.create()
    .uint32((number << 3) | 2)
    .bytes(bytes)
    .finish();
}

function* graphFields(blocks: number): Generator<Uint8Array> {
  yield field(2, Buffer.from("main_graph"));
  for (let block = 0, input = "x"; block < blocks; block++) {
    const output = block === blocks - 1 ? "y" : `/stage.${block >> 6}/block.${block}/relu3/Relu_output_0`;
    const { nodes, tensors } = residualBlock(block, input, output);
    for (const node of nodes) yield field(1, onnx.NodeProto.encode(node).finish());
    for (const tensor of tensors) yield field(5, onnx.TensorProto.encode(tensor).finish());
    input = output;
  }
  for (const [number, name] of [
    [11, "x"],
    [12, "y"],
  ] as const) {
    const dim = [1, channels, size, size].map((dimValue) => ({ dimValue }));
    const info = { name, type: { tensorType: { elemType: 1, shape: { dim } } } };
    yield field(number, onnx.ValueInfoProto.encode(info).finish());
  }
}

/** Conv, Relu, Conv, Add, Relu, MatMul, Add, Relu. */
function residualBlock(block: number, input: string, output: string) {
  const prefix = `/stage.${block >> 6}/block.${block}`;
  const out = (name: string) => `${prefix}/${name}_output_0`;
  const node = (opType: string, name: string, inputs: string[], to = out(name)): types.INodeProto => ({
    opType,
    name: `${prefix}/${name}`,
    input: inputs,
    output: [to],
    attribute: opType === "Conv" ? convAttributes : [],
  });
  const weight = (name: string) => `stage.${block >> 6}.block.${block}.${name}`;
  const nodes = [
    node("Conv", "conv1/Conv", [input, weight("conv1.weight"), weight("conv1.bias")]),
    node("Relu", "relu1/Relu", [out("conv1/Conv")]),
    node("Conv", "conv2/Conv", [out("relu1/Relu"), weight("conv2.weight"), weight("conv2.bias")]),
    node("Add", "Add", [out("conv2/Conv"), input]),
    node("Relu", "relu2/Relu", [out("Add")]),
    node("MatMul", "mix/MatMul", [out("relu2/Relu"), weight("mix.weight")]),
    node("Add", "mix/Add", [out("mix/MatMul"), weight("mix.bias")]),
    node("Relu", "relu3/Relu", [out("mix/Add")], output),
  ];
  const convDims = [channels, channels, 3, 3];
  const tensors = [
    external(weight("conv1.weight"), convDims, 0),
    external(weight("conv1.bias"), [channels], 147_456),
    external(weight("conv2.weight"), convDims, 147_712),
    external(weight("conv2.bias"), [channels], 295_168),
    external(weight("mix.weight"), [size, size], 295_424),
    external(weight("mix.bias"), [size], 307_968),
  ];
  return { nodes, tensors };
}

const ints = (name: string, ...values: number[]): types.IAttributeProto => ({ name, type: 7, ints: values });
const convAttributes = [ints("kernel_shape", 3, 3), ints("pads", 1, 1, 1, 1), ints("strides", 1, 1)];

function external(name: string, dims: number[], offset: number): types.ITensorProto {
  const length = 4 * dims.reduce((total, dim) => total * dim, 1);
  const entries = { location: "model.weights", offset: String(offset), length: String(length) };
  const externalData = Object.entries(entries).map(([key, value]) => ({ key, value }));
  return { name, dims, dataType: 1, dataLocation: 1, externalData };
}
