/** @file Small models written by hand, without a file behind them. */
import { symbol } from "../../src/ir/dim.ts";
import { type DType, dtypes } from "../../src/ir/dtype.ts";
import {
  type Attribute,
  type AttributeValue,
  type FunctionDefinition,
  functionKey,
  type Graph,
  type Model,
  type Node,
  type TensorRef,
  type Value,
  type ValueType,
} from "../../src/ir/model.ts";

/** `["float32", [2, "N"]]`; a string is a symbol; no shape is an unknown rank. */
export type TypeSpec = readonly [DType, (readonly (number | string)[])?];

export interface TensorSpec {
  readonly dtype: DType;
  readonly dims: readonly number[];
  /** Left out where nothing reads them, as for external data that is not there. */
  readonly elements?: readonly number[];
}

/** A plain number is an int, a list of numbers is ints. */
export type AttributeSpec =
  | number
  | string
  | readonly number[]
  | { readonly float: number }
  | { readonly tensor: TensorSpec }
  | { readonly graph: GraphSpec }
  | { readonly reference: string };

export interface NodeSpec {
  readonly op: string;
  readonly domain?: string;
  readonly name?: string;
  readonly inputs?: readonly string[];
  readonly outputs: readonly string[];
  readonly attributes?: Readonly<Record<string, AttributeSpec>>;
}

export interface GraphSpec {
  readonly inputs?: Readonly<Record<string, TypeSpec | undefined>>;
  readonly initializers?: Readonly<Record<string, TensorSpec>>;
  readonly nodes: readonly NodeSpec[];
  readonly outputs: readonly string[];
  readonly declared?: Readonly<Record<string, TypeSpec>>;
}

export interface FunctionSpec extends GraphSpec {
  readonly domain: string;
  readonly name: string;
  readonly opset?: number;
  readonly defaults?: Readonly<Record<string, AttributeSpec>>;
}

export interface ModelSpec extends GraphSpec {
  readonly opset?: number;
  readonly irVersion?: number;
  readonly functions?: readonly FunctionSpec[];
}

type Mutable<T> = { -readonly [K in keyof T]: T[K] };
type OpenValue = Omit<Mutable<Value>, "consumers"> & { consumers: Node[] };
type OpenGraph = Omit<Mutable<Graph>, "nodes" | "values"> & { nodes: Node[]; values: Map<string, OpenValue> };

const nowhere = { offset: 0, length: 0 };

export function buildModel(spec: ModelSpec): Model {
  const builder = new Builder();
  const graph = builder.graph(spec, undefined, []);
  const functions = new Map<string, FunctionDefinition>();
  for (const each of spec.functions ?? [])
    functions.set(functionKey(each.domain, each.name, ""), builder.function(each));
  return {
    path: "test.onnx",
    bytes: 0,
    irVersion: spec.irVersion ?? 10,
    opsets: new Map([["", spec.opset ?? 21]]),
    producer: { name: "test", version: "" },
    metadata: new Map(),
    graph,
    hasTraining: false,
    functions,
    valueCount: builder.values,
    nodeCount: builder.nodes,
    reader: {
      elements: (tensor, limit) => {
        const elements = builder.elements.get(tensor);
        return elements !== undefined && elements.length <= limit ? elements : undefined;
      },
      nodeMetadata: () => new Map(),
    },
  };
}

class Builder {
  values = 0;
  nodes = 0;
  readonly elements = new Map<TensorRef, readonly number[]>();

  function(spec: FunctionSpec): FunctionDefinition {
    return {
      domain: spec.domain,
      name: spec.name,
      overload: "",
      graph: this.graph(spec, undefined, []),
      opsets: new Map([["", spec.opset ?? 21]]),
      defaults: this.attributes(spec.defaults ?? {}, undefined, []),
    };
  }

  graph(spec: GraphSpec, owner: Node | undefined, outer: readonly OpenGraph[]): Graph {
    const graph: OpenGraph = {
      name: "g",
      owner,
      nodes: [],
      inputs: [],
      outputs: [],
      annotated: new Set(),
      values: new Map(),
      span: nowhere,
    };
    const scopes = [graph, ...outer];
    for (const [name, tensor] of Object.entries(spec.initializers ?? {})) {
      this.value(graph, name).initializer = this.tensor(tensor);
    }
    graph.inputs = Object.entries(spec.inputs ?? {}).map(([name, type]) => {
      const value = this.value(graph, name);
      value.isInput = true;
      value.declared = type && typeOf(type);
      return value;
    });
    for (const node of spec.nodes) this.node(node, graph, scopes);
    for (const [name, type] of Object.entries(spec.declared ?? {}))
      this.value(graph, name).declared = typeOf(type);
    graph.outputs = spec.outputs.map((name) => {
      const value = find(name, scopes);
      value.isOutput = true;
      return value;
    });
    return graph;
  }

  private node(spec: NodeSpec, graph: OpenGraph, scopes: readonly OpenGraph[]): void {
    const inputs = (spec.inputs ?? []).map((name) => (name === "" ? undefined : find(name, scopes)));
    const outputs = spec.outputs.map((name) => (name === "" ? undefined : this.value(graph, name)));
    const node: Mutable<Node> = {
      id: this.nodes++,
      name: spec.name ?? "",
      domain: spec.domain ?? "",
      opType: spec.op,
      overload: "",
      inputs,
      outputs,
      attributes: [],
      graph,
      span: nowhere,
    };
    node.attributes = this.attributes(spec.attributes ?? {}, node, scopes);
    for (const input of new Set(inputs)) input?.consumers.push(node);
    for (const output of outputs) if (output !== undefined) output.producer = node;
    graph.nodes.push(node);
  }

  private attributes(
    specs: Readonly<Record<string, AttributeSpec>>,
    owner: Node | undefined,
    scopes: readonly OpenGraph[],
  ): Attribute[] {
    return Object.entries(specs).map(([name, spec]) => ({
      name,
      value: this.attribute(spec, owner, scopes),
    }));
  }

  private attribute(
    spec: AttributeSpec,
    owner: Node | undefined,
    scopes: readonly OpenGraph[],
  ): AttributeValue {
    if (typeof spec === "number") return { type: "int", value: spec };
    if (typeof spec === "string") return { type: "string", value: spec };
    if ("float" in spec) return { type: "float", value: spec.float };
    if ("tensor" in spec) return { type: "tensor", tensor: this.tensor(spec.tensor) };
    if ("graph" in spec) return { type: "graph", graph: this.graph(spec.graph, owner, scopes) };
    if ("reference" in spec) return { type: "reference", to: spec.reference };
    return { type: "ints", values: spec };
  }

  private tensor({ dtype, dims, elements }: TensorSpec): TensorRef {
    const { code } = dtypes[dtype];
    const tensor: TensorRef = {
      name: "",
      dtype,
      dtypeCode: code,
      dims,
      data: { kind: "none" },
      span: nowhere,
    };
    if (elements !== undefined) this.elements.set(tensor, elements);
    return tensor;
  }

  private value(graph: OpenGraph, name: string): OpenValue {
    const existing = graph.values.get(name);
    if (existing !== undefined) return existing;
    const value: OpenValue = {
      id: this.values++,
      name,
      graph,
      producer: undefined,
      consumers: [],
      declared: undefined,
      initializer: undefined,
      isInput: false,
      isOutput: false,
    };
    graph.values.set(name, value);
    return value;
  }
}

function find(name: string, scopes: readonly OpenGraph[]): OpenValue {
  for (const { values } of scopes) {
    const value = values.get(name);
    if (value !== undefined) return value;
  }
  throw new Error(`the test model uses ${name} before it is there`);
}

function typeOf([dtype, shape]: TypeSpec): ValueType {
  return { kind: "tensor", dtype, shape: shape?.map((dim) => (typeof dim === "string" ? symbol(dim) : dim)) };
}

/** A value of the main graph. */
export function valueNamed(model: Model, name: string): Value {
  const value = model.graph.values.get(name);
  if (value === undefined) throw new Error(`the test model has no value ${name}`);
  return value;
}
