/** @file Makers of lane-wise operators and folds, so that each family is a table. */
import { type Dim, unknownDim } from "../../ir/dim.ts";
import { type DType, isIntegral } from "../../ir/dtype.ts";
import { type AxisContext, broadcastAxes, sameAxes } from "../axes.ts";
import { type BodyKernel, defineOp, type OpContext, type OpDefinition, type TensorFact } from "../op.ts";
import { asTensor, broadcastAll, tensor, tensorAt } from "../shape.ts";
import { allKernels, laneKernel } from "../traffic.ts";
import type { UnaryType } from "./curves.ts";
import { type Fold, foldLanes } from "./fold.ts";
import { type BroadcastType, broadcastLanes, unaryLane } from "./lanes.ts";
import { elementOf } from "./number.ts";
import { broadcastTraits, unaryTraits } from "./traits.ts";

/** A few instructions an element; the others take an exponential or a series. */
const arithmetic: ReadonlySet<UnaryType> = new Set<UnaryType>([
  "Abs",
  "BitwiseNot",
  "Ceil",
  "Floor",
  "HardSigmoid",
  "HardSwish",
  "IsInf",
  "IsNaN",
  "LeakyRelu",
  "Neg",
  "Not",
  "Reciprocal",
  "Relu",
  "Round",
  "Shrink",
  "Sign",
  "Softsign",
  "Sqrt",
  "ThresholdedRelu",
]);

/** Of functions, how many tensors of the input's size each of their nodes reads. */
const bodyReads: Partial<Record<UnaryType, readonly (1 | 2)[]>> = {
  // x · tanh(softplus(x))
  Mish: [1, 1, 2],
  // x · sigmoid(alpha · x)
  Swish: [1, 1, 2],
};

function unaryBody(context: OpContext, reads: readonly (1 | 2)[]): readonly BodyKernel[] | undefined {
  const x = tensorAt(context, 0);
  return allKernels(reads.map((count) => (count === 2 ? laneKernel(x, x, x) : laneKernel(x, x))));
}

/** One input, an output of its shape. `outputType` where it differs from the input's type. */
export function unaryOp(type: UnaryType, fold?: Fold, outputType?: DType): OpDefinition {
  const reads = bodyReads[type];
  return defineOp({
    domain: "",
    type,
    traits: unaryTraits[type],
    infer: (context) => [lanewise([tensorAt(context, 0)], fold, outputType)],
    axes: sameAxes,
    lanes: unaryLane(type),
    traffic: "elementwise",
    pass: arithmetic.has(type) ? "relu" : "gelu",
    ...(reads && { body: (context) => unaryBody(context, reads) }),
  });
}

const axesByType: Partial<Record<BroadcastType, (context: AxisContext) => void>> = {
  Div: secondAsOnes,
  Mod: secondAsOnes,
  Pow: secondAsOnes,
};

/** A stored divisor or exponent holds ones in its padded lanes. Whole numbers divided by a zero lane would trap. */
export function secondAsOnes(context: AxisContext): void {
  const divides = context.node.opType !== "Pow" && isIntegral(tensorAt(context, 0).dtype);
  if (divides) return context.blockAll("divides whole numbers");
  for (const axis of context.axesOf(1) ?? []) context.fill(1, axis, 1);
  broadcastAxes(context);
}

/** Inputs that share a type and broadcast against each other. */
export function broadcastOp(
  type: BroadcastType,
  fold?: (context: OpContext) => Fold,
  outputType?: DType,
): OpDefinition {
  return defineOp({
    domain: "",
    type,
    traits: broadcastTraits[type],
    infer: (context) => [lanewise(context.inputs.map(asTensor), fold?.(context), outputType)],
    axes: axesByType[type] ?? broadcastAxes,
    lanes: broadcastLanes[type],
    traffic: "elementwise",
    pass: "add",
  });
}

/** The result of a lane-wise operator whose inputs share a type. */
export function lanewise(inputs: readonly TensorFact[], fold?: Fold, outputType?: DType): TensorFact {
  const dtype = outputType ?? inputs.find((input) => input.dtype !== undefined)?.dtype;
  const shape = inputs.length === 0 ? undefined : broadcastAll(inputs.map((input) => input.shape));
  return tensor(dtype, shape, fold && foldLanes(inputs, shape, dtype, fold));
}

/** Arithmetic on one input, rounded or wrapped to the type. `symbolic` gets what is not a plain number. */
export function onOne(f: (value: number) => number, symbolic: (value: Dim) => Dim = unknownDim): Fold {
  return ([value], dtype) => {
    if (value === undefined) return unknownDim();
    return typeof value === "number" ? elementOf(f(value), dtype) : symbolic(value);
  };
}

/** Arithmetic on two inputs, as `onOne`; `f` may decline, and `symbolic` gets at least one that is not a plain number. */
export function onTwo(
  f: (a: number, b: number, dtype: DType) => number | undefined,
  symbolic: (a: Dim, b: Dim, dtype: DType) => Dim = unknownDim,
): Fold {
  return ([a, b], dtype) => {
    if (a === undefined || b === undefined) return unknownDim();
    if (typeof a !== "number" || typeof b !== "number") return symbolic(a, b, dtype);
    const result = f(a, b, dtype);
    return result === undefined ? unknownDim() : elementOf(result, dtype);
  };
}

/** A yes, a no, or not known, as an element. */
export function truth(value: boolean | undefined): Dim {
  return value === undefined ? unknownDim() : Number(value);
}
