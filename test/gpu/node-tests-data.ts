/** @file ONNX's operator tests as folders: a model, and sets of inputs with the outputs that they have to give. */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { inferFacts } from "../../src/facts/infer.ts";
import type { Model, TensorRef, Value } from "../../src/ir/model.ts";
import { nodesOf } from "../../src/ir/nodes.ts";
import type { TensorBytes } from "../../src/ir/patch.ts";
import { DataFiles } from "../../src/onnx/data-files.ts";
import { type OpenModel, openModel } from "../../src/onnx/open.ts";
import { decodeTensor } from "../../src/onnx/tensor.ts";
import { elementBytes } from "../../src/onnx/tensor-bytes.ts";
import type { Fact } from "../../src/ops/op.ts";
import { maxFoldedElements } from "../../src/ops/op.ts";
import { encodeNumbers } from "../../src/passes/tensors.ts";
import { arrays, countOf, isArrayType, numbersOf, type Tensor } from "../../src/verify/tensor.ts";
import { Cursor } from "../../src/wire/cursor.ts";
import { BufferSource } from "../../src/wire/source.ts";

export interface TestSet {
  /** By input name. */
  readonly inputs: ReadonlyMap<string, Tensor>;
  /** By output name. */
  readonly outputs: ReadonlyMap<string, Tensor>;
}

export function listTests(folder: string): string[] {
  return readdirSync(folder)
    .filter((name) => existsSync(path.join(folder, name, "model.onnx")))
    .sort();
}

export function openTest(folder: string, name: string): OpenModel {
  return openModel(path.join(folder, name, "model.onnx"));
}

export function weightsOf(model: OpenModel): (tensor: TensorRef) => TensorBytes {
  return (tensor) => elementBytes(model.source, model.files, tensor, encodeNumbers);
}

/** Why the runtime need not run a test at all: what the contract of issue 5 leaves out. Undefined for a test to run. */
export function reasonToSkip(model: Model): string | undefined {
  if (model.hasTraining) return "training";
  for (const { domain } of nodesOf(model)) if (/^ai\.onnx\.(ml|preview)/.test(domain)) return domain;
  for (const value of [...model.graph.inputs, ...model.graph.outputs]) {
    const reason = reasonOfType(value);
    if (reason !== undefined) return reason;
  }
  for (const scope of inferFacts(model).scopes()) {
    for (const value of scope.graph.values.values()) {
      const fact = scope.fact(value);
      if (fact !== undefined && fact.kind !== "tensor") return fact.kind;
      if (fact?.dtype === "string") return "string";
    }
  }
  return undefined;
}

function reasonOfType({ declared }: Value): string | undefined {
  if (declared === undefined) return undefined;
  if (declared.kind !== "tensor") return declared.kind;
  return declared.dtype === "string" ? "string" : undefined;
}

export function readSets(folder: string, name: string, model: Model): TestSet[] {
  const test = path.join(folder, name);
  const sets = readdirSync(test).filter((entry) => entry.startsWith("test_data_set_"));
  return sets.sort().map((set) => ({
    inputs: readValues(path.join(test, set), "input", model.graph.inputs),
    outputs: readValues(path.join(test, set), "output", model.graph.outputs),
  }));
}

function readValues(folder: string, kind: "input" | "output", values: readonly Value[]): Map<string, Tensor> {
  const tensors = new Map<string, Tensor>();
  for (const [index, { name }] of values.entries()) {
    const file = path.join(folder, `${kind}_${index}.pb`);
    if (existsSync(file)) tensors.set(name, readTensor(file));
  }
  return tensors;
}

/** A file that is one TensorProto. */
function readTensor(file: string): Tensor {
  const payload = readFileSync(file);
  // As field 1 of a message around it, which is how the decoder finds tensors.
  const source = new BufferSource(
    file,
    Buffer.concat([Buffer.from([0x0a]), varint(payload.length), payload]),
  );
  const cursor = new Cursor(source);
  cursor.next();
  const tensor = decodeTensor(cursor);
  const { dtype, dims } = tensor;
  if (!isArrayType(dtype)) throw new UnreadableError(`elements of ${dtype ?? tensor.dtypeCode}`);
  const bytes = elementBytes(source, new DataFiles(undefined), emptyAware(tensor), encodeNumbers);
  const data = new Uint8Array(countOf(dims) * arrays[dtype].BYTES_PER_ELEMENT);
  if (data.length > 0) bytes.readInto(0, data);
  return { dtype, dims, data: new arrays[dtype](data.buffer) };
}

/** Elements of a type that nothing here reads. */
export class UnreadableError extends Error {
  override readonly name = "UnreadableError";
}

/** A tensor without elements may have no data field. */
function emptyAware(tensor: TensorRef): TensorRef {
  return tensor.data.kind === "none"
    ? { ...tensor, data: { kind: "typed", field: "float", spans: [] } }
    : tensor;
}

function varint(value: number): Buffer {
  const bytes: number[] = [];
  let rest = value;
  while (rest >= 0x80) {
    bytes.push((rest & 0x7f) | 0x80);
    rest >>>= 7;
  }
  return Buffer.from([...bytes, rest]);
}

/** An input whose elements planning may know. */
export function factOf(tensor: Tensor): Fact | undefined {
  if (tensor.dtype === "string" || tensor.data.length > maxFoldedElements) return undefined;
  const elements = Array.from(numbersOf(tensor));
  return { kind: "tensor", dtype: tensor.dtype, shape: tensor.dims, elements };
}
