/** @file Small models for tests of rules, written down where they are tested. */
import { type DType, dtypes } from "../ir/dtype.ts";
import type { NewAttribute } from "../ir/edits.ts";
import { encodeNumbers } from "../passes/tensors.ts";
import type { ModelProto } from "./lint.ts";

/** A string is a symbol. */
export type TestTensor = readonly [dtype: DType, dims: readonly (number | string)[]];

export interface TestNode {
  readonly op: string;
  /** Its operator with its first output unless given. */
  readonly name?: string;
  readonly domain?: string;
  /** "" is an operand that is left out. */
  readonly inputs: readonly string[];
  readonly outputs: readonly string[];
  /** A whole number is an int and a list of such ints; `{ float: 1 }` and `{ floats: [1] }` are floats. */
  readonly attributes?: Readonly<Record<string, NewAttribute>>;
}

export interface TestGraph {
  /** Of ai.onnx; 21 unless given. */
  readonly opset?: number;
  /** Of other domains. */
  readonly domains?: Readonly<Record<string, number>>;
  readonly inputs: Readonly<Record<string, TestTensor>>;
  readonly outputs: Readonly<Record<string, TestTensor>>;
  readonly constants?: Readonly<
    Record<
      string,
      { readonly dtype: DType; readonly dims: readonly number[]; readonly values: readonly number[] }
    >
  >;
  readonly nodes: readonly TestNode[];
}

const [standardOpset, irVersion] = [21, 10];

/** A model that `lint`, and RuleTester, take as it is. */
export function testModel(graph: TestGraph): ModelProto {
  const { opset = standardOpset, domains = {}, inputs, outputs, constants = {}, nodes } = graph;
  const values = (tensors: TestGraph["inputs"]) =>
    Object.entries(tensors).map(([name, tensor]) => ({ name, type: typeOf(tensor) }));
  return {
    irVersion,
    producerName: "tc-lint/rules",
    opsetImport: Object.entries({ "": opset, ...domains }).map(([domain, version]) => ({ domain, version })),
    graph: {
      name: "test",
      input: values(inputs),
      output: values(outputs),
      initializer: Object.entries(constants).map(([name, { dtype, dims, values: numbers }]) => ({
        name,
        dims: [...dims],
        dataType: dtypes[dtype].code,
        rawData: encodeNumbers(dtype, numbers),
      })),
      node: nodes.map(nodeOf),
    },
  };
}

function typeOf([dtype, dims]: TestTensor): object {
  const dim = dims.map((size) => (typeof size === "number" ? { dimValue: size } : { dimParam: size }));
  return { tensorType: { elemType: dtypes[dtype].code, shape: { dim } } };
}

function nodeOf({ op, name = "", domain = "", inputs, outputs, attributes = {} }: TestNode): object {
  const attribute = Object.entries(attributes).map(([key, value]) => ({ name: key, ...attributeOf(value) }));
  return { opType: op, name, domain, input: [...inputs], output: [...outputs], attribute };
}

/** Numbers of AttributeType: onnx.proto. */
const codes = { float: 1, int: 2, string: 3, floats: 6, ints: 7 } as const;

function attributeOf(value: NewAttribute): object {
  if (typeof value === "string") return { type: codes.string, s: new TextEncoder().encode(value) };
  if (typeof value === "number")
    return Number.isInteger(value) ? { type: codes.int, i: value } : { type: codes.float, f: value };
  if ("float" in value) return { type: codes.float, f: value.float };
  if ("floats" in value) return { type: codes.floats, floats: [...value.floats] };
  return { type: codes.ints, ints: [...value] };
}
