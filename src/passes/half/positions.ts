/**
 * @file Values made from whole numbers: positions, sizes, lengths, masks.
 *
 * Half counts to 2048 (bfloat16: to 256) without gaps; what is computed from an index is computed in FP32.
 */
import { bytesOf, type DType, isIntegral } from "../../ir/dtype.ts";
import type { Value } from "../../ir/model.ts";
import { carriesElements, isOp } from "../../ops/ask.ts";
import { inputsOf, outputsOf } from "./follow.ts";
import type { FloatGraph, FloatNode, FloatValue } from "./graph.ts";
import { dtypeIn } from "./slots.ts";

/** Tables of frequencies and slopes are small; a larger constant is a weight. */
const maxTableElements = 4096;

export class Positions {
  readonly #graph: FloatGraph;
  readonly #counted: ReadonlySet<Value>;
  readonly #whole: ReadonlySet<Value>;

  constructor(graph: FloatGraph) {
    this.#graph = graph;
    this.#counted = computedFrom(graph, isCounter);
    this.#whole = computedFrom(graph, isIntegral);
  }

  /** Whether the node computes with numbers that may count beyond what half can, other than to make them floats. */
  computes(node: FloatNode): boolean {
    if (isOp(node.node, "Cast") || carriesElements(node.node)) return false;
    return reads(node, this.#graph, this.#counted);
  }

  /** Whether a value is computed from whole numbers or booleans, and small constants, alone. */
  isWhole(value: Value): boolean {
    return this.#whole.has(value);
  }
}

/** Values computed from nothing but tensors of types that `isSource` allows, and small constants. */
function computedFrom(graph: FloatGraph, isSource: (dtype: DType | undefined) => boolean): Set<Value> {
  const values = new Set<Value>();
  for (const node of graph.nodes) {
    const isStart =
      isOp(node.node, "Range") ||
      (isOp(node.node, "Cast") && isSource(dtypeIn(node.node.inputs[0], node.scope)));
    if (!isStart && !reads(node, graph, values)) continue;
    for (const { value } of outputsOf(node, graph)) values.add(value);
  }
  return values;
}

/** All FP32 inputs are among `values` or small constants, and at least one is no constant. */
function reads(entry: FloatNode, graph: FloatGraph, values: ReadonlySet<Value>): boolean {
  if (forgetting.has(entry.node.opType)) return false;
  const inputs = inputsOf(entry, graph);
  const isTable = (input: FloatValue) => input.isStored && isSmall(input, entry.isProduct);
  const known = inputs.filter(({ value }) => values.has(value)).length;
  return known > 0 && inputs.every((input) => values.has(input.value) || isTable(input));
}

/** Their results are bounded, and as smooth as anything else. */
const forgetting: ReadonlySet<string> = new Set([
  "Sin",
  "Cos",
  "Sigmoid",
  "Tanh",
  "Softmax",
  "Erf",
  "Gelu",
  "Relu",
]);

/** Bytes and booleans are exact in half. */
function isCounter(dtype: DType | undefined): boolean {
  return dtype !== undefined && isIntegral(dtype) && dtype !== "bool" && bytesOf(dtype, 1) > 1;
}

/** A product's constant operand must be a vector: frequencies times positions are an outer product. */
function isSmall({ value, scope }: FloatValue, vector: boolean): boolean {
  const shape = scope.shape(value);
  if (shape === undefined || !shape.every((dim) => typeof dim === "number")) return false;
  if (vector && shape.filter((dim) => dim !== 1).length > 1) return false;
  return shape.reduce((total, dim) => total * dim, 1) <= maxTableElements;
}
