/**
 * @file The graph that everything else reads: nodes and values by reference, weights as places in a file.
 *
 * Built once by `onnx/`; nobody else changes it. Names are kept as the file has them.
 */

import type { Shape } from "./dim.ts";
import type { DType } from "./dtype.ts";

/** A range of bytes of the model file: [offset, offset + length). */
export interface Span {
  readonly offset: number;
  readonly length: number;
}

/** The static type of a value, as declared in a file or as inferred. `undefined` means not known. */
export type ValueType =
  | {
      readonly kind: "tensor";
      readonly dtype: DType | undefined;
      readonly shape: Shape | undefined;
      /** The number in the file, where it is none that `dtype` knows. */
      readonly unknownCode?: number;
    }
  | { readonly kind: "sequence" | "optional"; readonly element: ValueType | undefined }
  | { readonly kind: "map" | "sparse" | "opaque" };

/** Part of a typed field: the payload of a packed one, or a run of single elements from the first one's payload on. */
export interface TypedSpan extends Span {
  readonly packed: boolean;
}

/** Where the elements of a tensor are. Nothing is read until someone asks. */
export type TensorData =
  | { readonly kind: "raw"; readonly span: Span }
  /** float_data, int32_data …, in file order. */
  | { readonly kind: "typed"; readonly field: TypedField; readonly spans: readonly TypedSpan[] }
  | {
      readonly kind: "external";
      readonly location: string;
      readonly offset: number;
      /** Absent in the file: everything the dims call for. */
      readonly length: number | undefined;
    }
  /** A SparseTensorProto: apart in the file, where no pass reads or writes. */
  | { readonly kind: "sparse" }
  /** Zero elements, or none that can be told. */
  | { readonly kind: "none" };

export type TypedField = "float" | "int32" | "string" | "int64" | "double" | "uint64";

export interface TensorRef {
  readonly name: string;
  readonly dtype: DType | undefined;
  /** The number in the file, which may be newer than `dtype` knows. */
  readonly dtypeCode: number;
  readonly dims: readonly number[];
  readonly data: TensorData;
  /** The TensorProto message itself. */
  readonly span: Span;
}

export interface Attribute {
  readonly name: string;
  readonly value: AttributeValue;
}

export type AttributeValue =
  | { readonly type: "int" | "float"; readonly value: number }
  | { readonly type: "string"; readonly value: string }
  | { readonly type: "ints" | "floats"; readonly values: readonly number[] }
  | { readonly type: "strings"; readonly values: readonly string[] }
  | { readonly type: "tensor"; readonly tensor: TensorRef }
  | { readonly type: "graph"; readonly graph: Graph }
  | { readonly type: "graphs"; readonly graphs: readonly Graph[] }
  /** In a function body: the value of the caller's attribute of this name. */
  | { readonly type: "reference"; readonly to: string }
  /** Tensors, sparse tensors, types, and kinds newer than this reader. */
  | {
      readonly type: "other";
      readonly code: number;
      /** Of a string that is too long to be read. */
      readonly bytes?: number;
    };

export interface Value {
  /** Dense over the whole model: use it to index arrays. */
  readonly id: number;
  readonly name: string;
  /** The graph or function body that defines it; consumers may be in subgraphs. */
  readonly graph: Graph;
  readonly producer: Node | undefined;
  readonly consumers: readonly Node[];
  /** From the graph's inputs, outputs or value_info. */
  readonly declared: ValueType | undefined;
  readonly initializer: TensorRef | undefined;
  /** An initializer that is also an input is a default that the caller may override: not a constant. */
  readonly isInput: boolean;
  readonly isOutput: boolean;
}

export interface Node {
  /** Dense over the whole model. */
  readonly id: number;
  /** As in the file; often empty. `labelOf` gives something to print. */
  readonly name: string;
  /** "" stands for ai.onnx, by either spelling. */
  readonly domain: string;
  readonly opType: string;
  readonly overload: string;
  /** An omitted optional input is undefined. */
  readonly inputs: readonly (Value | undefined)[];
  readonly outputs: readonly (Value | undefined)[];
  readonly attributes: readonly Attribute[];
  readonly graph: Graph;
  readonly span: Span;
}

export interface Graph {
  readonly name: string;
  /** The node whose attribute holds this graph; undefined for the main graph and for function bodies. */
  readonly owner: Node | undefined;
  /** In an order where producers come before consumers. */
  readonly nodes: readonly Node[];
  readonly inputs: readonly Value[];
  readonly outputs: readonly Value[];
  /** Names that quantization annotations of the graph refer to: these tensors must stay what they are. */
  readonly annotated: ReadonlySet<string>;
  /** Every value defined in this graph, by name. */
  readonly values: ReadonlyMap<string, Value>;
  /** Payload of its GraphProto, or of the FunctionProto whose body it is. */
  readonly span: Span;
}

/** A model-local function; `graph` is its body, whose inputs and outputs are in the order of the call. */
export interface FunctionDefinition {
  readonly domain: string;
  readonly name: string;
  readonly overload: string;
  readonly graph: Graph;
  readonly opsets: ReadonlyMap<string, number>;
  /** Attributes the caller may leave out, with their defaults. */
  readonly defaults: readonly Attribute[];
}

export interface Model {
  /** As the user wrote it; for messages. */
  readonly path: string;
  readonly bytes: number;
  readonly irVersion: number;
  /** By domain; "" is ai.onnx. */
  readonly opsets: ReadonlyMap<string, number>;
  readonly producer: { readonly name: string; readonly version: string };
  readonly metadata: ReadonlyMap<string, string>;
  readonly graph: Graph;
  /** Whether training_info is there: graphs of its own, which refer to values of this one by name. */
  readonly hasTraining: boolean;
  /** By `functionKey`. */
  readonly functions: ReadonlyMap<string, FunctionDefinition>;
  /** How many ids are in use: arrays indexed by `Value.id` or `Node.id` have this size. */
  readonly valueCount: number;
  readonly nodeCount: number;
  readonly reader: ModelReader;
}

/** Reads on demand what the graph only points at. */
export interface ModelReader {
  /**
   * Elements of a tensor as numbers (bool as 0/1; 64-bit integers beyond 2^53 rounded to the nearest double),
   * or undefined where there are more than `limit`, where the type is not numeric, or where external data is not there.
   */
  elements(tensor: TensorRef, limit: number): readonly number[] | undefined;
  /** metadata_props of a node (IR 10 and later); empty where there are none. */
  nodeMetadata(node: Node): ReadonlyMap<string, string>;
}

export function functionKey(domain: string, name: string, overload: string): string {
  return `${domain}\u0000${name}\u0000${overload}`;
}

/** The node's name, else `OpType(first output)`, which is unique in its graph. */
export function labelOf(node: Node): string {
  if (node.name !== "") return node.name;
  const output = node.outputs.find((value) => value !== undefined);
  return output === undefined ? `${node.opType}#${node.id}` : `${node.opType}(${output.name})`;
}

/** For error messages: `node "conv1" (Conv)`. */
export function describeNode(node: Node): string {
  return `node "${labelOf(node)}" (${operatorOf(node)})`;
}

/** The node that an error message names so. */
export function nodeNamedIn(message: string): string | undefined {
  return /\bnode "(.*?)" \([^()\s]+\)/s.exec(message)?.[1];
}

/** `Conv`, or `com.microsoft::FusedConv` outside ai.onnx. */
export function operatorOf(node: Node): string {
  return node.domain === "" ? node.opType : `${node.domain}::${node.opType}`;
}
