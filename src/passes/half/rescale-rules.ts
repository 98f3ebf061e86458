/** @file How a factor on what an operator reads comes out of it: what can be held at another scale, and where that ends. */
import { floatAttributeOf, hasAttribute } from "../../ir/attributes.ts";
import type { Node, Value } from "../../ir/model.ts";
import { traitsOf } from "../../ops/ask.ts";
import type { FloatGraph, FloatNode } from "./graph.ts";

/** Stored operands that take up the difference between the scale of what goes in and of what comes out. */
export interface Absorbing {
  readonly kind: "absorbing";
  readonly input: Value;
  readonly weight: Value;
  /** Is added to the result: has its scale. */
  readonly bias: Value | undefined;
  readonly output: Value;
}

/** f(c·x) = c·f(x): everything has one scale, what is stored included. */
export interface Homogeneous {
  readonly kind: "homogeneous";
  readonly values: readonly Value[];
  readonly stored: readonly Value[];
}

export type ScaleRule = Absorbing | Homogeneous;

/** Undefined where a scale ends: behind such a node everything is as it was. */
export function scaleRule({ node, inputs }: FloatNode, graph: FloatGraph): ScaleRule | undefined {
  if (node.domain !== "" || node.outputs.filter((value) => value !== undefined).length === 0)
    return undefined;
  const isStored = (value: Value) => graph.values.get(value)?.isStored === true;
  const scale = isZeroPad(node) ? "first" : traitsOf(node)?.scale;
  if (scale === undefined) return undefined;
  if (scale === "weight-second" || scale === "weight-either")
    return absorbing(node, scale === "weight-either", isStored);
  const isFirst = scale === "first";
  // A mask that a pool or a Dropout also gives has no scale.
  const outputs = node.outputs.flatMap((value) =>
    value !== undefined && graph.values.has(value) ? [value] : [],
  );
  const read = node.inputs.flatMap((value, position) => {
    const isRead = inputs[position] !== "other" && (position === 0 || !isFirst);
    return value === undefined || !isRead ? [] : [value];
  });
  const values = read.filter((value) => !isStored(value));
  if (values.length === 0) return undefined;
  return { kind: "homogeneous", values: [...values, ...outputs], stored: read.filter(isStored) };
}

function absorbing(
  node: Node,
  mayBeFirst: boolean,
  isStored: (value: Value) => boolean,
): Absorbing | undefined {
  const [a, b, bias] = node.inputs;
  const [output] = node.outputs;
  if (a === undefined || b === undefined || output === undefined) return undefined;
  if (bias !== undefined && !isStored(bias)) return undefined;
  if (isStored(b) && !isStored(a)) return { kind: "absorbing", input: a, weight: b, bias, output };
  return mayBeFirst && isStored(a) && !isStored(b)
    ? { kind: "absorbing", input: b, weight: a, bias, output }
    : undefined;
}

/** Zeros have any scale, and so has what is repeated from the edge. */
function isZeroPad(node: Node): boolean {
  if (traitsOf(node)?.layout !== "padded") return false;
  const isZero = !hasAttribute(node, "value") || floatAttributeOf(node, "value") === 0;
  return node.inputs[2] === undefined && isZero;
}
