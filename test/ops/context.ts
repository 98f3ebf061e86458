/** @file An operator's view of one node, built by hand for tests of `infer` and `work`. */
import type { Dim } from "../../src/ir/dim.ts";
import { unknownDim } from "../../src/ir/dim.ts";
import type { Graph, Node } from "../../src/ir/model.ts";
import type { Fact, OpContext, TensorFact, WorkContext } from "../../src/ops/op.ts";
import { findOp } from "../../src/ops/registry.ts";
import type { Work } from "../../src/ops/work.ts";

type AttributeInput =
  | number
  | string
  | readonly number[]
  | readonly string[]
  | TensorFact
  | { readonly float: number }
  | Graph;

export interface ContextOptions {
  readonly type: string;
  readonly domain?: string;
  readonly opset?: number;
  /** A plain number is an int; write `{ float: 0.5 }` where only a float attribute will do. */
  readonly attributes?: Readonly<Record<string, AttributeInput>>;
  readonly inputs?: readonly (Fact | undefined)[];
  readonly outputCount?: number;
  readonly inferGraph?: OpContext["inferGraph"];
}

const emptyGraph: Graph = {
  name: "test",
  owner: undefined,
  nodes: [],
  inputs: [],
  outputs: [],
  annotated: new Set(),
  values: new Map(),
  span: { offset: 0, length: 0 },
};

export function opContext(options: ContextOptions): OpContext {
  const attributes = options.attributes ?? {};
  const read = <T>(is: (value: unknown) => value is T) => {
    return (name: string): T | undefined => {
      const value = attributes[name];
      return is(value) ? value : undefined;
    };
  };
  return {
    node: nodeOf(options),
    opset: options.opset ?? 22,
    inputs: options.inputs ?? [],
    outputCount: options.outputCount ?? 1,
    int: read(isNumber),
    float: (name) => read(isFloatBox)(name)?.float ?? read(isNumber)(name),
    string: read(isString),
    ints: read(isNumbers),
    floats: read(isNumbers),
    strings: read(isStrings),
    tensor: read(isTensor),
    graph: read(isGraph),
    has: (name) => attributes[name] !== undefined,
    inferGraph: options.inferGraph ?? (() => []),
    inferIteration: () => undefined,
  };
}

function nodeOf({ type, domain = "" }: ContextOptions): Node {
  return {
    id: 0,
    name: "test",
    domain,
    opType: type,
    overload: "",
    inputs: [],
    outputs: [],
    attributes: [],
    graph: emptyGraph,
    span: { offset: 0, length: 0 },
  };
}

function isNumber(value: unknown): value is number {
  return typeof value === "number";
}
function isFloatBox(value: unknown): value is { float: number } {
  return typeof value === "object" && value !== null && "float" in value;
}
function isString(value: unknown): value is string {
  return typeof value === "string";
}
function isNumbers(value: unknown): value is readonly number[] {
  return Array.isArray(value) && value.every(isNumber);
}
function isStrings(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.every(isString);
}
function isTensor(value: unknown): value is TensorFact {
  return typeof value === "object" && value !== null && "kind" in value && value.kind === "tensor";
}
function isGraph(value: unknown): value is Graph {
  return typeof value === "object" && value !== null && "nodes" in value;
}

/** Facts of the outputs, through the registry as the driver does it. */
export function infer(options: ContextOptions): readonly (Fact | undefined)[] {
  return definitionOf(options).infer(opContext(options));
}

/** The one output of an operator, as a tensor. */
export function inferTensor(options: ContextOptions): TensorFact {
  const [fact] = infer(options);
  if (fact?.kind !== "tensor")
    throw new Error(`${options.type} gave ${fact?.kind ?? "nothing"}, not a tensor`);
  return fact;
}

/** What `work` says, with `outputs` as inferred. */
export function workOf(options: ContextOptions): readonly Work[] | undefined {
  const definition = definitionOf(options);
  const context = opContext(options);
  const withOutputs: WorkContext = { ...context, outputs: definition.infer(context) };
  return definition.work?.(withOutputs);
}

function definitionOf({ domain = "", type }: ContextOptions) {
  const definition = findOp(domain, type);
  if (definition === undefined) throw new Error(`operator ${domain}::${type} is not in the registry`);
  return definition;
}

/** A fact as text: `float32[2,N] = 1,2`; unknown sizes and elements are "?". For compact expectations. */
export function show(fact: Fact | undefined): string {
  if (fact === undefined) return "unknown";
  if (fact.kind !== "tensor") return fact.kind;
  const shape = fact.shape === undefined ? "[*]" : `[${fact.shape.map(showDim).join(",")}]`;
  const elements = fact.elements === undefined ? "" : ` = ${fact.elements.map(showDim).join(",")}`;
  return `${fact.dtype ?? "?"}${shape}${elements}`;
}

function showDim(dim: Dim): string {
  const text = String(dim);
  return /^\?\d+$/.test(text) ? "?" : text.replaceAll(/\?\d+/g, "?");
}

/** An element or size that inference must not guess. */
export const unknown = unknownDim();
