/** @file One-node models, inferred by tc-lint and run by ONNX Runtime on the CPU. */
import { onnx } from "onnx-proto";
import { InferenceSession, Tensor } from "onnxruntime-node";
import { inferFacts } from "../../src/facts/infer.ts";
import { type DType, dtypes } from "../../src/ir/dtype.ts";
import { modelFromBytes } from "../../src/onnx/open.ts";
import { show } from "./context.ts";

export interface OracleInput {
  readonly dtype: DType;
  readonly dims: readonly number[];
  /** Zeros where it is missing. */
  readonly data?: readonly number[];
  /** An initializer rather than an input: what shape inference may read. */
  readonly constant?: boolean;
}

export interface OracleNode {
  readonly type: string;
  readonly domain?: string;
  readonly inputs: readonly (OracleInput | undefined)[];
  readonly attributes?: Readonly<Record<string, OracleAttribute>>;
  /** One by default; an empty name leaves an optional output out. */
  readonly outputs?: readonly string[];
  readonly opset?: number;
}

export type OracleAttribute = number | string | readonly number[] | { readonly float: number };

export function input(dtype: DType, dims: readonly number[], data?: readonly number[]): OracleInput {
  return data === undefined ? { dtype, dims } : { dtype, dims, data };
}
export function constant(dtype: DType, dims: readonly number[], data?: readonly number[]): OracleInput {
  return { ...input(dtype, dims, data), constant: true };
}

/** `float32[2,3]` for every output, as inferred and as run. */
export interface Comparison {
  readonly inferred: readonly string[];
  readonly actual: readonly string[];
}

export async function compare(node: OracleNode): Promise<Comparison> {
  const bytes = modelBytes(node);
  const inferred = inferredOutputs(bytes);
  const actual = await ranOutputs(bytes, node);
  return { inferred, actual };
}

function inferredOutputs(bytes: Uint8Array): readonly string[] {
  using model = modelFromBytes(bytes);
  const facts = inferFacts(model, { useDeclared: false });
  const [skipped] = facts.skipped;
  if (skipped !== undefined) throw new Error(skipped.reason);
  return model.graph.outputs.map((value) => show(facts.root.fact(value)));
}

async function ranOutputs(bytes: Uint8Array, node: OracleNode): Promise<readonly string[]> {
  const session = await InferenceSession.create(bytes, {
    logSeverityLevel: 4,
    graphOptimizationLevel: "disabled",
  });
  try {
    const feeds: Record<string, Tensor> = {};
    for (const [at, operand] of node.inputs.entries()) {
      if (operand !== undefined && operand.constant !== true) feeds[nameOf(at)] = ortTensor(operand);
    }
    const results = await session.run(feeds);
    return session.outputNames.map((name) => {
      const result = results[name];
      return result === undefined ? "missing" : `${result.type}[${result.dims.join(",")}]`;
    });
  } finally {
    await session.release();
  }
}

function nameOf(at: number): string {
  return `input${at}`;
}

function sizeOf({ dims }: OracleInput): number {
  return dims.reduce((size, dim) => size * dim, 1);
}

function valuesOf(operand: OracleInput): readonly number[] {
  return operand.data ?? new Array<number>(sizeOf(operand)).fill(0);
}

function ortTensor(operand: OracleInput): Tensor {
  const { dtype, dims } = operand;
  const values = valuesOf(operand);
  switch (dtype) {
    case "float32":
      return new Tensor("float32", Float32Array.from(values), dims);
    case "float16":
      return new Tensor("float16", Uint16Array.from(values), dims);
    case "int64":
      return new Tensor("int64", BigInt64Array.from(values, BigInt), dims);
    case "int32":
      return new Tensor("int32", Int32Array.from(values), dims);
    case "int16":
      return new Tensor("int16", Int16Array.from(values), dims);
    case "uint8":
      return new Tensor("uint8", Uint8Array.from(values), dims);
    case "int8":
      return new Tensor("int8", Int8Array.from(values), dims);
    case "bool":
      return new Tensor("bool", Uint8Array.from(values), dims);
    default:
      throw new Error(`no case of this test feeds ${dtype}`);
  }
}

function modelBytes({
  type,
  domain = "",
  inputs,
  attributes = {},
  outputs = ["output0"],
  opset = 21,
}: OracleNode) {
  const { AttributeType } = onnx.AttributeProto;
  const attribute = Object.entries(attributes).map(([name, value]): onnx.IAttributeProto => {
    if (typeof value === "number") return { name, i: value, type: AttributeType.INT };
    if (typeof value === "string")
      return { name, s: new TextEncoder().encode(value), type: AttributeType.STRING };
    if ("float" in value) return { name, f: value.float, type: AttributeType.FLOAT };
    return { name, ints: [...value], type: AttributeType.INTS };
  });
  const graph: onnx.IGraphProto = {
    name: "one",
    node: [
      {
        opType: type,
        domain,
        input: inputs.map((operand, at) => (operand === undefined ? "" : nameOf(at))),
        output: [...outputs],
        attribute,
      },
    ],
    input: inputs.flatMap((operand, at) =>
      operand === undefined || operand.constant ? [] : [declare(operand, at)],
    ),
    initializer: inputs.flatMap((operand, at) => (operand?.constant ? [initializer(operand, at)] : [])),
    output: outputs.filter((name) => name !== "").map((name) => ({ name })),
  };
  const model = onnx.ModelProto.create({
    irVersion: 10,
    opsetImport: [
      { domain: "", version: opset },
      { domain: "com.microsoft", version: 1 },
    ],
    graph,
  });
  return onnx.ModelProto.encode(model).finish();
}

function declare({ dtype, dims }: OracleInput, at: number): onnx.IValueInfoProto {
  const shape = { dim: dims.map((dimValue) => ({ dimValue })) };
  return { name: nameOf(at), type: { tensorType: { elemType: dtypes[dtype].code, shape } } };
}

function initializer(operand: OracleInput, at: number): onnx.ITensorProto {
  const { data } = ortTensor(operand);
  if (typeof data === "string" || !ArrayBuffer.isView(data))
    throw new Error("no case of this test has strings");
  const rawData = new Uint8Array(data.buffer, data.byteOffset, data.byteLength);
  return { name: nameOf(at), dataType: dtypes[operand.dtype].code, dims: [...operand.dims], rawData };
}
