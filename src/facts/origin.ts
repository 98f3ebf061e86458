/** @file Where a value comes from, behind operators that only rearrange or convert it. */
import type { DType } from "../ir/dtype.ts";
import { dtypes } from "../ir/dtype.ts";
import type { Node, Value } from "../ir/model.ts";
import { isConstantNode, isView, traitsOf } from "../ops/ask.ts";
import { intAttributeIn } from "./attributes.ts";
import type { Scope } from "./scope.ts";

/** A value in one instance of a graph. */
export interface Place {
  readonly value: Value;
  readonly scope: Scope;
}

/** Chains longer than this are not followed: every look-up stays cheap on any graph. */
const maxSteps = 64;

/** The initializer or Constant that `value` is a view or conversion of; undefined where it is computed. */
export function constantBehind(value: Value, scope: Scope): Value | undefined {
  const { value: origin } = follow({ value, scope }, isViewOrConversion);
  const isConstant =
    origin.initializer !== undefined || (origin.producer !== undefined && isConstantNode(origin.producer));
  return isConstant ? origin : undefined;
}

/**
 * The 8-bit type that a value is dequantized from (signed standing for unsigned too), views looked through. Undefined where each block
 * along an axis has a scale of its own: sums of codes could not be scaled as one.
 */
export function dequantizedFrom(value: Value, scope: Scope): DType | undefined {
  const { value: origin, scope: home } = follow({ value, scope }, isView);
  const { producer } = origin;
  if (producer === undefined || traitsOf(producer)?.layout !== "scaled") return undefined;
  if ((intAttributeIn(producer, "block_size", home) ?? 0) > 0) return undefined;
  const [quantized] = producer.inputs;
  const fact = quantized === undefined ? undefined : home.fact(quantized);
  if (fact?.kind !== "tensor" || fact.dtype === undefined || dtypes[fact.dtype].bits !== 8) return undefined;
  return fact.dtype === "uint8" ? "int8" : fact.dtype;
}

/** Walks up through nodes that `passes` allows, and out of function bodies to what the caller gave. */
function follow(start: Place, passes: (node: Node) => boolean): Place {
  let place = start;
  for (let step = 0; step < maxSteps; step++) {
    const next = before(place, passes);
    if (next === undefined) break;
    place = next;
  }
  return place;
}

function before({ value, scope }: Place, passes: (node: Node) => boolean): Place | undefined {
  const home = scope.scopeOf(value);
  if (home === undefined || value.initializer !== undefined) return undefined;
  if (value.producer !== undefined) {
    const [source] = value.producer.inputs;
    return source !== undefined && passes(value.producer) ? { value: source, scope: home } : undefined;
  }
  if (home.functionName === undefined || home.parent === undefined) return undefined;
  const given = home.owner?.inputs[home.graph.inputs.indexOf(value)];
  return given === undefined ? undefined : { value: given, scope: home.parent };
}

function isViewOrConversion(node: Node): boolean {
  if (isView(node) || traitsOf(node)?.elements === "converted") return true;
  // Codes, and what they stand for.
  return traitsOf(node)?.layout === "scaled";
}
