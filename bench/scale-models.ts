/** @file Families of graphs of any number of nodes, for scale.ts, written field by field. Weights are in the file. */
import { closeSync, openSync, writeSync } from "node:fs";
import onnxProto, { type onnx as types } from "onnx-proto";
import protobuf from "protobufjs/minimal.js";

const { onnx } = onnxProto;

/** What a family is made of, part by part: nothing holds a whole graph. */
type Part =
  | { readonly node: types.INodeProto }
  | { readonly tensor: types.ITensorProto }
  | { readonly input: types.IValueInfoProto }
  | { readonly output: types.IValueInfoProto };

interface Family {
  /** What `n` counts, where it is not nodes. */
  readonly unit: string;
  readonly parts: (n: number) => Iterable<Part>;
  readonly functions?: readonly types.IFunctionProto[];
}

const opsetImport = [
  { domain: "", version: 17 },
  { domain: "local", version: 1 },
];
const bufferBytes = 1 << 20;
/** Off every multiple, so that padding has something to do. */
const width = 12;
const rows = 64;

export const families = {
  adds: { unit: "nodes", parts: adds },
  mlp: { unit: "nodes", parts: mlp },
  residual: { unit: "nodes", parts: residual },
  dense: { unit: "layers", parts: dense },
  split: { unit: "parts", parts: split },
  "split-residual": { unit: "parts", parts: splitResidual },
  sum: { unit: "inputs", parts: wideSum },
  huge: { unit: "elements", parts: huge },
  calls: { unit: "calls", parts: calls, functions: nestedFunctions(8) },
} as const satisfies Record<string, Family>;

export type FamilyName = keyof typeof families;

/** Writes the member of a family that has `n` of its unit. */
export function writeFamily(file: string, name: FamilyName, n: number): void {
  const family: Family = families[name];
  let graphBytes = 0;
  for (const part of family.parts(n)) graphBytes += encoded(part).length;
  const header = protobuf.Writer.create()
    .uint32(8)
    .int64(8)
    .uint32((7 << 3) | 2)
    .uint32(graphBytes);
  const descriptor = openSync(file, "w");
  let pending: Uint8Array[] = [header.finish()];
  let pendingBytes = 0;
  const flush = () => {
    writeSync(descriptor, Buffer.concat(pending));
    pending = [];
    pendingBytes = 0;
  };
  for (const part of family.parts(n)) {
    const bytes = encoded(part);
    pending.push(bytes);
    pendingBytes += bytes.length;
    if (pendingBytes > bufferBytes) flush();
  }
  for (const opset of opsetImport) pending.push(field(8, onnx.OperatorSetIdProto.encode(opset).finish()));
  for (const each of family.functions ?? [])
    pending.push(field(25, onnx.FunctionProto.encode(each).finish()));
  flush();
  closeSync(descriptor);
}

function encoded(part: Part): Uint8Array {
  if ("node" in part) return field(1, onnx.NodeProto.encode(part.node).finish());
  if ("tensor" in part) return field(5, onnx.TensorProto.encode(part.tensor).finish());
  return "input" in part
    ? field(11, onnx.ValueInfoProto.encode(part.input).finish())
    : field(12, onnx.ValueInfoProto.encode(part.output).finish());
}

function field(number: number, bytes: Uint8Array): Uint8Array {
  return protobuf.Writer.create()
    .uint32((number << 3) | 2)
    .bytes(bytes)
    .finish();
}

function info(name: string, dims: readonly number[]): types.IValueInfoProto {
  const dim = dims.map((dimValue) => ({ dimValue }));
  return { name, type: { tensorType: { elemType: 1, shape: { dim } } } };
}

/** Small numbers that differ from tensor to tensor. */
function weight(name: string, dims: number[], seed: number): Part {
  const count = dims.reduce((total, dim) => total * dim, 1);
  const rawData = new Uint8Array(
    Float32Array.from({ length: count }, (_, at) => (((seed + at) * 7919) % 17) / 64 - 0.125).buffer,
  );
  return { tensor: { name, dims, dataType: 1, rawData } };
}

function wholeNumbers(name: string, values: readonly number[]): Part {
  const rawData = new Uint8Array(BigInt64Array.from(values, BigInt).buffer);
  return { tensor: { name, dims: [values.length], dataType: 7, rawData } };
}

function ints(name: string, ...values: number[]): types.IAttributeProto {
  return { name, type: 7, ints: values };
}

function int(name: string, value: number): types.IAttributeProto {
  return { name, type: 2, i: value };
}

function node(
  opType: string,
  input: string[],
  output: string[],
  ...attribute: types.IAttributeProto[]
): Part {
  return { node: { opType, name: `${opType}/${output[0] ?? ""}`, input, output, attribute } };
}

/** A chain of Adds, with a constant each, on one axis. */
function* adds(n: number): Generator<Part> {
  for (let i = 0; i < n; i++) {
    yield node("Add", [i === 0 ? "x" : `h${i - 1}`, `b${i}`], [i === n - 1 ? "y" : `h${i}`]);
    yield weight(`b${i}`, [width], i);
  }
  yield { input: info("x", [rows, width]) };
  yield { output: info("y", [rows, width]) };
}

/** MatMul, Add, Relu, each layer of a width of its own. */
function* mlp(n: number): Generator<Part> {
  const layers = Math.ceil(n / 3);
  const widthOf = (layer: number) => 9 + ((layer * 5) % 13);
  for (let i = 0; i < layers; i++) {
    const input = i === 0 ? "x" : `h${i - 1}`;
    yield node("MatMul", [input, `w${i}`], [`m${i}`]);
    yield node("Add", [`m${i}`, `b${i}`], [`a${i}`]);
    yield node("Relu", [`a${i}`], [i === layers - 1 ? "y" : `h${i}`]);
    yield weight(`w${i}`, [widthOf(i), widthOf(i + 1)], i);
    yield weight(`b${i}`, [widthOf(i + 1)], i);
  }
  yield { input: info("x", [rows, widthOf(0)]) };
  yield { output: info("y", [rows, widthOf(layers)]) };
}

/** Conv, Relu, Conv, Add: the channels of the sums are one axis. */
function* residual(n: number): Generator<Part> {
  const blocks = Math.ceil(n / 4);
  const middleOf = (block: number) => 9 + ((block * 5) % 13);
  for (let i = 0; i < blocks; i++) {
    const input = i === 0 ? "x" : `h${i - 1}`;
    yield node("Conv", [input, `w${i}`], [`c${i}`]);
    yield node("Relu", [`c${i}`], [`r${i}`]);
    yield node("Conv", [`r${i}`, `v${i}`], [`d${i}`]);
    yield node("Add", [`d${i}`, input], [i === blocks - 1 ? "y" : `h${i}`]);
    yield weight(`w${i}`, [middleOf(i), width, 1, 1], i);
    yield weight(`v${i}`, [width, middleOf(i), 1, 1], i);
  }
  yield { input: info("x", [1, width, 8, 8]) };
  yield { output: info("y", [1, width, 8, 8]) };
}

/** Concat of everything before, Conv, Relu. */
function* dense(layers: number): Generator<Part> {
  const before = ["x"];
  for (let i = 0; i < layers; i++) {
    const output = i === layers - 1 ? "y" : `h${i}`;
    yield node("Concat", before, [`k${i}`], int("axis", 1));
    yield node("Conv", [`k${i}`, `w${i}`], [`c${i}`]);
    yield node("Relu", [`c${i}`], [output]);
    yield weight(`w${i}`, [width, width * before.length, 1, 1], i);
    before.push(output);
  }
  yield { input: info("x", [1, width, 8, 8]) };
  yield { output: info("y", [1, width, 8, 8]) };
}

/** A Split into parts of sizes that repeat, a Concat of them the other way round, between two products. */
function* split(parts: number): Generator<Part> {
  const sizes = Array.from({ length: parts }, (_, part) => 3 + (part % 5));
  const total = sizes.reduce((sum, size) => sum + size, 0);
  const names = Array.from({ length: parts }, (_, part) => `s${part}`);
  yield node("MatMul", ["x", "w"], ["h"]);
  yield node("Split", ["h", "sizes"], names, int("axis", 1));
  yield node("Concat", names.toReversed(), ["k"], int("axis", 1));
  yield node("MatMul", ["k", "v"], ["y"]);
  yield wholeNumbers("sizes", sizes);
  yield weight("w", [width, total], 0);
  yield weight("v", [total, width], 1);
  yield { input: info("x", [rows, width]) };
  yield { output: info("y", [rows, width]) };
}

/** Equal parts, added to what was split: parts are tied to parts. */
function* splitResidual(parts: number): Generator<Part> {
  const total = 3 * parts;
  const names = Array.from({ length: parts }, (_, part) => `s${part}`);
  yield node("MatMul", ["x", "w"], ["h"]);
  yield node("Split", ["h"], names, int("axis", 1));
  yield node("Concat", names.toReversed(), ["k"], int("axis", 1));
  yield node("Add", ["k", "h"], ["a"]);
  yield node("MatMul", ["a", "v"], ["y"]);
  yield weight("w", [width, total], 0);
  yield weight("v", [total, width], 1);
  yield { input: info("x", [rows, width]) };
  yield { output: info("y", [rows, width]) };
}

/** One Sum of many. */
function* wideSum(n: number): Generator<Part> {
  const names = Array.from({ length: n }, (_, at) => `r${at}`);
  for (const name of names) yield node("Relu", ["x"], [name]);
  yield node("Sum", names, ["s"]);
  yield node("MatMul", ["s", "w"], ["y"]);
  yield weight("w", [width, width], 0);
  yield { input: info("x", [rows, width]) };
  yield { output: info("y", [rows, width]) };
}

/** Few nodes on axes that no weight stands behind. */
function* huge(n: number): Generator<Part> {
  yield node("MatMul", ["x", "w"], ["h"]);
  yield node("Transpose", ["h"], ["t"], ints("perm", 1, 0));
  yield node("Concat", ["t", "t"], ["k"], int("axis", 1));
  yield node("Relu", ["k"], ["y"]);
  yield node("MatMul", ["p", "q"], ["z"]);
  yield weight("w", [width, width + 1], 0);
  yield { input: info("x", [n + 1, width]) };
  yield { input: info("p", [width, n + 1]) };
  yield { input: info("q", [n + 1, width]) };
  yield { output: info("y", [width + 1, 2 * (n + 1)]) };
  yield { output: info("z", [width, width]) };
}

/** A chain of calls of a function that calls another, and so on. */
function* calls(n: number): Generator<Part> {
  for (let i = 0; i < n; i++) {
    const [input, output] = [i === 0 ? "x" : `h${i - 1}`, i === n - 1 ? "y" : `h${i}`];
    yield { node: { opType: "f0", domain: "local", name: `call${i}`, input: [input], output: [output] } };
  }
  yield { input: info("x", [rows, width]) };
  yield { output: info("y", [rows, width]) };
}

function nestedFunctions(depth: number): types.IFunctionProto[] {
  return Array.from({ length: depth }, (_, level) => ({
    name: `f${level}`,
    domain: "local",
    input: ["a"],
    output: ["b"],
    opsetImport,
    node: [
      level === depth - 1
        ? { opType: "Relu", input: ["a"], output: ["b"] }
        : { opType: `f${level + 1}`, domain: "local", input: ["a"], output: ["b"] },
    ],
  }));
}
