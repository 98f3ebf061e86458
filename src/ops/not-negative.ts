/**
 * @file Whole numbers that cannot be below zero: positions that count from the start of an axis.
 *
 * Only what holds for every input is here. Sums and products are not: they may wrap around.
 */
import { intervalOf } from "../ir/bounds.ts";
import { type DType, dtypes, isFloat } from "../ir/dtype.ts";
import { minOf } from "../ir/lists.ts";
import { own } from "../ir/own.ts";
import { dtypeAttribute } from "./elementwise/cast.ts";
import type { Fact, OpContext, OpDefinition } from "./op.ts";
import { asTensor, elementsAt, tensorAt } from "./shape.ts";

export interface SignContext extends OpContext {
  /** Whether input `index` has no element below zero. */
  isNotNegative(index: number): boolean;
}

/** Whether output `output` has no element below zero. */
type SignRule = (context: SignContext, output: number) => boolean;

/** By what is known of a value alone: its type, its elements. */
export function isKnownNotNegative(fact: Fact | undefined): boolean {
  const { dtype, elements } = asTensor(fact);
  if (dtype !== undefined && (dtype === "bool" || dtypes[dtype].kind === "uint")) return true;
  return elements?.every((element) => intervalOf(element).low >= 0) ?? false;
}

/** By the operator of a node, which is one of ai.onnx. */
export function isNotNegativeOutput(op: OpDefinition, context: SignContext, output: number): boolean {
  return op.domain === "" && (own(rules, op.type)?.(context, output) ?? false);
}

const always: SignRule = () => true;
const asData: SignRule = (context) => context.isNotNegative(0);
const asAll: SignRule = (context) => context.inputs.every((_, index) => context.isNotNegative(index));
const asAny: SignRule = (context) => context.inputs.some((_, index) => context.isNotNegative(index));

/** The smallest element of a stored input; undefined where it is not known. */
function leastOf(context: OpContext, index: number): number | undefined {
  const lows = elementsAt(context, index)?.map((element) => intervalOf(element).low) ?? [];
  return lows.length === 0 ? undefined : minOf(lows);
}

const clip: SignRule = (context) => {
  if (context.opset < 11) return (context.float("min") ?? -1) >= 0 && (context.float("max") ?? 0) >= 0;
  const isBelow = context.inputs[2] === undefined || context.isNotNegative(2);
  return (
    isBelow && (context.isNotNegative(0) || (context.inputs[1] !== undefined && context.isNotNegative(1)))
  );
};

/** Without fmod the remainder has the sign of the divisor. */
const modulo: SignRule = (context) => (leastOf(context, 1) ?? 0) > 0 && (context.int("fmod") ?? 0) === 0;

const range: SignRule = (context) => context.isNotNegative(0) && (leastOf(context, 2) ?? 0) > 0;

/** A type that holds all numbers of the other. A fraction beyond a whole type is no position whatever it becomes. */
const cast: SignRule = (context) => {
  const [from, to] = [tensorAt(context, 0).dtype, dtypeAttribute(context, "to")];
  return from !== undefined && to !== undefined && holdsAll(from, to) && context.isNotNegative(0);
};

function holdsAll(from: DType, to: DType): boolean {
  if (from === "bool" || isFloat(from) || from === to) return true;
  const [source, target] = [dtypes[from], dtypes[to]];
  if (target.kind === "uint") return true;
  return target.kind === "int" && target.bits > source.bits - (source.kind === "int" ? 1 : 0);
}

const rules: Readonly<Record<string, SignRule>> = {
  Abs: always,
  ArgMax: always,
  ArgMin: always,
  Cast: cast,
  Clip: clip,
  Concat: asAll,
  ConstantOfShape: (context) => isKnownNotNegative(context.tensor("value") ?? zero),
  Expand: asData,
  Flatten: asData,
  Gather: asData,
  GatherElements: asData,
  GatherND: asData,
  Identity: asData,
  Max: asAny,
  Min: asAll,
  Mod: modulo,
  NonZero: always,
  Range: range,
  Relu: always,
  Reshape: asData,
  Shape: always,
  Size: always,
  Slice: asData,
  Split: asData,
  Squeeze: asData,
  Tile: asData,
  // The second output counts along the axis.
  TopK: (context, output) => output === 1 || context.isNotNegative(0),
  Transpose: asData,
  Unsqueeze: asData,
  Where: (context) => context.isNotNegative(1) && context.isNotNegative(2),
};

const zero: Fact = { kind: "tensor", dtype: "float32", shape: [1], elements: [0] };
