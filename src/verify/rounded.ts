/** @file The original with its stored numbers rounded to half: what half precision costs at the least. */
import { tensorAttributeOf } from "../ir/attributes.ts";
import { dtypes } from "../ir/dtype.ts";
import { pushAll } from "../ir/lists.ts";
import type { Model, Node, Value } from "../ir/model.ts";
import { FreshNames } from "../ir/names.ts";
import { own } from "../ir/own.ts";
import { type NodeSpec, Patch, type TensorSpec } from "../ir/patch.ts";
import { type HalfType, halfRange } from "./budget.ts";
import { floatScalar } from "./tensor.ts";

/** Inputs of operators that are sizes or bounds, not numbers to compute with: rounding them changes another thing. */
const exact: Readonly<Record<string, readonly number[]>> = {
  Resize: [1, 2, 3],
  Upsample: [1],
  Range: [0, 1, 2],
  NonMaxSuppression: [2, 3, 4],
};

/**
 * Rounds every FP32 initializer and constant of the main graph with nodes in front of its consumers: to half and back,
 * except where a number lies outside the type's normal range, which a converter keeps in FP32.
 */
export function roundWeights(model: Model, dtype: HalfType): Patch {
  const patch = new Patch();
  const graph = patch.of(model.graph);
  const names = new FreshNames(model);
  const replaced = new Map<Value, string>();
  const opset = model.opsets.get("") ?? 1;
  const bounds = boundTensors(dtype, names);
  for (const value of model.graph.values.values()) {
    if (!isStoredFloat(value) || value.isOutput) continue;
    const rounding =
      opset < firstWhere ? plainRounding(value, dtype, names) : guardedRounding(value, dtype, names, bounds);
    replaced.set(value, rounding.result);
    if (value.producer === undefined) pushAll(graph.first, rounding.nodes);
    else graph.nodes.set(value.producer, [{ base: value.producer }, ...rounding.nodes]);
  }
  if (replaced.size > 0 && opset >= firstWhere)
    for (const [name, tensor] of bounds.tensors) graph.added.set(name, tensor);
  for (const node of model.graph.nodes) {
    const spec = readingRounded(node, replaced);
    if (spec !== undefined) graph.nodes.set(node, [spec, ...(graph.nodes.get(node)?.slice(1) ?? [])]);
  }
  return patch;
}

/** Where, of opset 9, is the youngest of the operators used. */
const firstWhere = 9;

function isStoredFloat({ initializer, producer }: Value): boolean {
  if (initializer !== undefined) return initializer.dtype === "float32";
  if (producer?.opType !== "Constant" || producer.domain !== "") return false;
  return tensorAttributeOf(producer, "value")?.dtype === "float32";
}

interface Rounding {
  readonly nodes: readonly NodeSpec[];
  readonly result: string;
}

function node(opType: string, inputs: readonly string[], output: string, to?: keyof typeof dtypes): NodeSpec {
  const attributes =
    to === undefined ? new Map() : new Map([["to", { type: "int", value: dtypes[to].code } as const]]);
  return { opType, inputs, outputs: [output], attributes };
}

function plainRounding({ name }: Value, dtype: HalfType, names: FreshNames): Rounding {
  const [half, result] = [names.make(`${name}_half`), names.make(`${name}_rounded`)];
  return { nodes: [node("Cast", [name], half, dtype), node("Cast", [half], result, "float32")], result };
}

interface Bounds {
  readonly largest: string;
  readonly smallest: string;
  readonly tensors: ReadonlyMap<string, TensorSpec>;
}

function guardedRounding(value: Value, dtype: HalfType, names: FreshNames, bounds: Bounds): Rounding {
  const { nodes, result: rounded } = plainRounding(value, dtype, names);
  const make = (suffix: string) => names.make(`${value.name}_${suffix}`);
  const [size, above, below, outside] = [make("size"), make("above"), make("below"), make("outside")];
  const result = make("kept");
  return {
    nodes: [
      ...nodes,
      node("Abs", [value.name], size),
      node("Greater", [size, bounds.largest], above),
      node("Less", [size, bounds.smallest], below),
      node("Or", [above, below], outside),
      node("Where", [outside, value.name, rounded], result),
    ],
    result,
  };
}

function boundTensors(dtype: HalfType, names: FreshNames): Bounds {
  const { largest, smallest } = halfRange[dtype];
  const [largestName, smallestName] = [names.make("half_largest"), names.make("half_smallest")];
  const tensors = new Map([
    [largestName, floatScalar(largest)],
    [smallestName, floatScalar(smallest)],
  ]);
  return { largest: largestName, smallest: smallestName, tensors };
}

/** The node reading rounded values, by what they are of; undefined where it reads none. */
export function readingRounded(node: Node, replaced: ReadonlyMap<Value, string>): NodeSpec | undefined {
  const kept = node.domain === "" ? (own(exact, node.opType) ?? []) : [];
  let isChanged = false;
  const inputs = node.inputs.map((value, index) => {
    const name = value === undefined || kept.includes(index) ? undefined : replaced.get(value);
    isChanged ||= name !== undefined;
    return name ?? value?.name ?? "";
  });
  return isChanged ? { base: node, inputs } : undefined;
}
