/** @file A model as tc-lint reads it, against the same bytes as onnx-proto decodes them. */
import onnxProto, { type onnx as types } from "onnx-proto";
import { isUnknown } from "../../src/ir/dim.ts";
import { dtypeOfCode, dtypes } from "../../src/ir/dtype.ts";
import { functionKey, type Graph, type Node, type TensorRef, type Value } from "../../src/ir/model.ts";
import type { OpenModel } from "../../src/onnx/open.ts";

/** Elements of larger tensors are not compared: reading them takes the same path. */
const maxElements = 4096;

export interface Comparison {
  readonly differences: readonly string[];
  readonly nodes: number;
  readonly attributes: number;
  readonly tensors: number;
  /** Tensors whose elements were compared, too. */
  readonly readTensors: number;
  readonly types: number;
}

export function compareWithOnnxProto(model: OpenModel, bytes: Uint8Array): Comparison {
  const oracle = new Oracle(model);
  oracle.model(onnxProto.onnx.ModelProto.decode(bytes));
  return oracle;
}

class Oracle implements Comparison {
  readonly differences: string[] = [];
  nodes = 0;
  attributes = 0;
  tensors = 0;
  readTensors = 0;
  types = 0;
  readonly #model: OpenModel;

  constructor(model: OpenModel) {
    this.#model = model;
  }

  model(proto: types.IModelProto): void {
    const model = this.#model;
    this.#equal("IR version", model.irVersion, number(proto.irVersion));
    this.#equal("producer", model.producer.name, proto.producerName ?? "");
    this.#equal("opsets", [...model.opsets], (proto.opsetImport ?? []).map(opset));
    this.#equal(
      "metadata",
      [...model.metadata],
      (proto.metadataProps ?? []).map(({ key, value }) => [key, value]),
    );
    this.#equal("functions", model.functions.size, proto.functions?.length ?? 0);
    this.#graph("graph", model.graph, proto.graph ?? {});
    for (const definition of proto.functions ?? []) {
      const where = `function ${definition.name}`;
      const ours = model.functions.get(functionKey(domain(definition.domain), definition.name ?? "", ""));
      if (ours === undefined) {
        this.differences.push(`${where} is missing`);
        continue;
      }
      this.#equal(`${where} opsets`, [...ours.opsets], (definition.opsetImport ?? []).map(opset));
      this.#equal(`${where} inputs`, names(ours.graph.inputs), definition.input ?? []);
      this.#equal(`${where} outputs`, names(ours.graph.outputs), definition.output ?? []);
      this.#nodes(where, ours.graph.nodes, definition.node ?? []);
    }
  }

  #graph(where: string, graph: Graph, proto: types.IGraphProto): void {
    this.#equal(
      `${where} inputs`,
      names(graph.inputs),
      (proto.input ?? []).map(({ name }) => name),
    );
    this.#equal(
      `${where} outputs`,
      names(graph.outputs),
      (proto.output ?? []).map(({ name }) => name),
    );
    this.#nodes(where, graph.nodes, proto.node ?? []);
    for (const tensor of proto.initializer ?? []) {
      const ours = graph.values.get(tensor.name ?? "")?.initializer;
      this.#tensor(`${where}: ${tensor.name}`, ours, tensor);
    }
    for (const info of [...(proto.input ?? []), ...(proto.output ?? []), ...(proto.valueInfo ?? [])]) {
      const value = graph.values.get(info.name ?? "");
      // A declaration of a value that no graph defines says nothing; an output may be an outer value.
      if (value !== undefined) this.#type(`${where}: ${info.name}`, value, info.type?.tensorType);
    }
  }

  #nodes(where: string, nodes: readonly Node[], protos: readonly types.INodeProto[]): void {
    this.#equal(`${where} node count`, nodes.length, protos.length);
    const ours = nodes.map((node) => ({
      name: node.name,
      op: `${node.domain}::${node.opType}`,
      inputs: node.inputs.map((value) => value?.name ?? ""),
      outputs: node.outputs.map((value) => value?.name ?? ""),
    }));
    const theirs = protos.map((proto) => ({
      name: proto.name ?? "",
      op: `${domain(proto.domain)}::${proto.opType}`,
      inputs: proto.input ?? [],
      outputs: proto.output ?? [],
    }));
    this.nodes += protos.length;
    this.#equal(`${where} nodes`, ours, theirs);
    for (const [index, node] of nodes.entries()) {
      this.#attributes(`${where}/${node.name}`, node, protos[index]?.attribute ?? []);
    }
  }

  #attributes(where: string, node: Node, protos: readonly types.IAttributeProto[]): void {
    this.#equal(
      `${where} attribute names`,
      node.attributes.map(({ name }) => name),
      protos.map(({ name }) => name),
    );
    protos.forEach((proto, index) => {
      const value = node.attributes[index]?.value;
      const at = `${where}.${proto.name}`;
      this.attributes += 1;
      if (value?.type === "graph") this.#graph(at, value.graph, proto.g ?? {});
      else if (value?.type === "graphs")
        for (const [i, graph] of value.graphs.entries()) this.#graph(at, graph, proto.graphs?.[i] ?? {});
      else if (value?.type === "tensor") this.#tensor(at, value.tensor, proto.t ?? {});
      else this.#equal(at, value, plainAttribute(proto));
    });
  }

  #tensor(where: string, ours: TensorRef | undefined, proto: types.ITensorProto): void {
    this.tensors += 1;
    if (ours === undefined) {
      this.differences.push(`${where}: tensor is missing`);
      return;
    }
    this.#equal(`${where} dims`, ours.dims, (proto.dims ?? []).map(number));
    this.#equal(`${where} dtype`, ours.dtypeCode, proto.dataType);
    if (proto.dataLocation === 1) {
      const location = proto.externalData?.find(({ key }) => key === "location")?.value;
      this.#equal(
        `${where} location`,
        ours.data.kind === "external" ? ours.data.location : undefined,
        location,
      );
      return;
    }
    const theirs = elementsOf(proto);
    if (theirs === undefined || theirs.length > maxElements) return;
    this.readTensors += 1;
    this.#equal(`${where} elements`, this.#model.reader.elements(ours, maxElements), theirs);
  }

  #type(where: string, value: Value, proto: types.TypeProto.ITensor | null | undefined): void {
    if (proto === null || proto === undefined || value.declared?.kind !== "tensor") return;
    this.types += 1;
    this.#equal(`${where} declared dtype`, value.declared.dtype, dtypeOfCode(proto.elemType ?? 0));
    const ours = value.declared.shape?.map((dim) =>
      typeof dim === "number" ? dim : isUnknown(dim) ? "" : dim.key,
    );
    const theirs = proto.shape?.dim?.map((dim, axis) => {
      if (dim.dimParam !== undefined && dim.dimParam !== null && dim.dimParam !== "") return dim.dimParam;
      const size = dim.dimValue === undefined || dim.dimValue === null ? -1 : number(dim.dimValue);
      if (size >= 0) return size;
      return value.isInput && value.graph === this.#model.graph ? `${value.name}_d${axis}` : "";
    });
    this.#equal(`${where} declared shape`, ours, theirs);
  }

  #equal(what: string, ours: unknown, theirs: unknown): void {
    const [a, b] = [text(ours), text(theirs)];
    if (a !== b) this.differences.push(`${what}: ${a.slice(0, 300)}, onnx-proto has ${b.slice(0, 300)}`);
  }
}

/** JSON, with NaN, infinities and -0 kept apart. */
function text(value: unknown): string {
  const special = (_: string, item: unknown) =>
    typeof item === "number" && (!Number.isFinite(item) || Object.is(item, -0))
      ? `#${Object.is(item, -0) ? "-0" : item}`
      : item;
  return JSON.stringify(value, special) ?? "undefined";
}

/** onnx-proto gives 64-bit integers as Long objects. */
function number(value: unknown): number {
  return value === undefined || value === null ? 0 : Number(String(value));
}

function domain(name: string | null | undefined): string {
  return name === undefined || name === null || name === "ai.onnx" ? "" : name;
}

function opset({ domain: name, version }: types.IOperatorSetIdProto): [string, number] {
  return [domain(name), number(version)];
}

function names(values: readonly Value[]): string[] {
  return values.map(({ name }) => name);
}

const strict = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

function plainAttribute(proto: types.IAttributeProto): unknown {
  const code = proto.type ?? 0;
  if (proto.refAttrName !== undefined && proto.refAttrName !== null && proto.refAttrName !== "") {
    return { type: "reference", to: proto.refAttrName };
  }
  switch (code) {
    case 1:
      return { type: "float", value: proto.f };
    case 2:
      return { type: "int", value: number(proto.i) };
    case 3:
      return { type: "string", value: strict.decode(proto.s ?? new Uint8Array()) };
    case 6:
      return { type: "floats", values: proto.floats ?? [] };
    case 7:
      return { type: "ints", values: (proto.ints ?? []).map(number) };
    case 8:
      return { type: "strings", values: (proto.strings ?? []).map((item) => strict.decode(item)) };
    default:
      return { type: "other", code };
  }
}

/** Elements by onnx-proto's fields; undefined for what tc-lint does not fold either. */
function elementsOf(proto: types.ITensorProto): number[] | undefined {
  const dtype = dtypeOfCode(proto.dataType ?? 0);
  const count = (proto.dims ?? []).map(number).reduce((total, dim) => total * dim, 1);
  if (dtype === undefined) return undefined;
  if (count === 0) return [];
  if (
    dtypes[dtype].kind === "complex" ||
    dtype === "string" ||
    /^float[48]/.test(dtype) ||
    dtypes[dtype].bits < 4
  )
    return undefined;
  if (proto.rawData !== undefined && proto.rawData !== null && proto.rawData.length > 0) {
    return rawElements(proto.rawData, dtype, count);
  }
  if (dtypes[dtype].bits < 8) return undefined;
  const typed = [proto.floatData, proto.doubleData, proto.int32Data, proto.int64Data, proto.uint64Data];
  const numbers =
    typed.find((list) => list !== undefined && list !== null && list.length > 0)?.map(number) ?? [];
  if (dtype === "float16") return numbers.map(halfValue);
  return dtype === "bfloat16" ? numbers.map((bits) => floatOfBits(bits * 65536)) : numbers;
}

function rawElements(raw: Uint8Array, dtype: keyof typeof dtypes, count: number): number[] {
  const bytes = Uint8Array.from(raw).buffer;
  const nibbles = () =>
    Array.from({ length: count }, (_, i) => ((raw[i >> 1] ?? 0) >> (i % 2 === 0 ? 0 : 4)) & 15);
  switch (dtype) {
    case "float32":
      return [...new Float32Array(bytes)];
    case "float64":
      return [...new Float64Array(bytes)];
    case "int8":
      return [...new Int8Array(bytes)];
    case "int16":
      return [...new Int16Array(bytes)];
    case "uint16":
      return [...new Uint16Array(bytes)];
    case "int32":
      return [...new Int32Array(bytes)];
    case "uint32":
      return [...new Uint32Array(bytes)];
    case "int64":
      return [...new BigInt64Array(bytes)].map(Number);
    case "uint64":
      return [...new BigUint64Array(bytes)].map(Number);
    case "float16":
      return [...new Uint16Array(bytes)].map(halfValue);
    case "bfloat16":
      return [...new Uint16Array(bytes)].map((bits) => floatOfBits(bits * 65536));
    case "uint4":
      return nibbles();
    case "int4":
      return nibbles().map((value) => (value > 7 ? value - 16 : value));
    default:
      return [...raw];
  }
}

function floatOfBits(bits: number): number {
  return new Float32Array(Uint32Array.of(bits).buffer)[0] ?? Number.NaN;
}

/** By moving the fields of a binary16 into a binary32. */
function halfValue(bits: number): number {
  const sign = (bits & 0x8000) * 65536;
  const exponent = (bits >> 10) & 31;
  const fraction = bits & 1023;
  if (exponent === 31) return floatOfBits(sign + 0x7f800000 + fraction * 8192);
  if (exponent > 0) return floatOfBits(sign + (exponent + 112) * 2 ** 23 + fraction * 8192);
  // A subnormal half: scale a normal float by a power of two, which is exact.
  const magnitude = floatOfBits((113 << 23) + fraction * 8192) - 2 ** -14;
  return sign === 0 ? magnitude : -magnitude;
}
