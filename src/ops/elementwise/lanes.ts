/** @file What lane-wise operators make of padded lanes. */
import { finiteLane, isZero, type Lane, type LaneContext, unknownLane, zeroLane } from "../axes.ts";
import {
  bounded,
  failing,
  finiteIfKnown,
  foldLanes,
  joinLanes,
  keepLane,
  mixLanes,
  multiplyLanes,
  operandLanes,
} from "../lanes.ts";
import { type Curve, curves, type UnaryType } from "./curves.ts";

type LaneRule = (context: LaneContext, output: number) => Lane;

/** The curve of the operator, at the lanes of the first input. */
export function unaryLane(type: UnaryType): LaneRule {
  return (context, output) => curveLane(curves[type], keepLane(context), context, output);
}

function curveLane(curve: Curve, lane: Lane, context: LaneContext, output: number): Lane {
  if (lane.kind === "unknown") return curve.isBounded === true ? bounded(context, lane) : unknownLane;
  const otherwise = curve.leavesFinite === true && lane.kind !== "constant" ? unknownLane : finiteLane;
  const at = ([x]: readonly number[]) => (x === undefined ? x : curve.at(x, context));
  const folded = foldLanes(context, output, [lane], at, otherwise);
  return curve.isBounded === true ? bounded(context, folded) : folded;
}

/** `f` of constants; anything finite otherwise. */
function folding(f: (values: readonly number[]) => number): LaneRule {
  return (context, output) => {
    const lanes = operandLanes(context, output);
    return foldLanes(context, output, lanes, f, joinedFinite(lanes));
  };
}

function joinedFinite(lanes: readonly Lane[]): Lane {
  return finiteIfKnown(joinLanes(lanes));
}

const multiply: LaneRule = (context, output) => {
  const lanes = operandLanes(context, output);
  const product = lanes.reduce(multiplyLanes);
  if (isZero(product)) return product;
  const folded = foldLanes(context, output, lanes, ([a = 1, b = 1]) => a * b, finiteIfKnown(product));
  return failing(folded, product.fails);
};

/** A divisor without the atom divides true lanes as well: it is no zero. */
const divide: LaneRule = (context, output) => {
  const [dividend = finiteLane, divisor = finiteLane] = operandLanes(context, output);
  const isTrue = context.laneOf(1) === undefined;
  const mayBeZero = divisor.kind === "constant" ? divisor.value === 0 : !isTrue;
  if (mayBeZero || dividend.kind === "unknown" || divisor.kind === "unknown") return unknownLane;
  const quotient = isZero(dividend)
    ? zeroLane
    : foldLanes(context, output, [dividend, divisor], ([a = 0, b = 1]) => a / b);
  // A number over infinity is zero.
  const fails = divisor.fails === undefined ? dividend.fails : context.ofTrueLanes ? "along" : "alone";
  return failing(quotient, fails);
};

/** Powers of zero by anything above zero, and whole powers of anything finite. */
const power: LaneRule = (context, output) => {
  const [base = finiteLane, exponent = finiteLane] = operandLanes(context, output);
  const whole = exponent.kind === "constant" && exponent.value >= 0 && Number.isInteger(exponent.value);
  const otherwise = whole ? finiteIfKnown(base) : unknownLane;
  return foldLanes(context, output, [base, exponent], ([a = 0, b = 0]) => a ** b, otherwise);
};

const modulo: LaneRule = (context, output) => {
  const [dividend = finiteLane, divisor = finiteLane] = operandLanes(context, output);
  if (divisor.kind !== "constant" || divisor.value === 0) return unknownLane;
  return isZero(dividend) ? failing(zeroLane, dividend.fails) : finiteIfKnown(dividend);
};

/** Yes or no, whatever is compared. */
const truth: LaneRule = () => finiteLane;

/** An exact comparison of constants; lanes that were rounded on the way do not tell. */
function comparing(test: (a: number, b: number) => boolean): LaneRule {
  return (context, output) => {
    const lanes = operandLanes(context, output);
    const exact = lanes.every(
      (lane) => lane.kind === "constant" && !lane.fails && Number.isInteger(lane.value),
    );
    return exact ? foldLanes(context, output, lanes, ([a = 0, b = 0]) => Number(test(a, b))) : finiteLane;
  };
}

const sum = (values: readonly number[]) => values.reduce((total, value) => total + value, 0);

export const broadcastLanes = {
  Add: folding(sum),
  And: comparing((a, b) => a !== 0 && b !== 0),
  BitShift: truth,
  BitwiseAnd: truth,
  BitwiseOr: truth,
  BitwiseXor: truth,
  Div: divide,
  Equal: comparing((a, b) => a === b),
  Greater: comparing((a, b) => a > b),
  GreaterOrEqual: comparing((a, b) => a >= b),
  Less: comparing((a, b) => a < b),
  LessOrEqual: comparing((a, b) => a <= b),
  Max: folding((values) => values.reduce((a, b) => Math.max(a, b))),
  Mean: folding((values) => sum(values) / values.length),
  Min: folding((values) => values.reduce((a, b) => Math.min(a, b))),
  Mod: modulo,
  Mul: multiply,
  Or: comparing((a, b) => a !== 0 || b !== 0),
  Pow: power,
  Sub: folding(([a = 0, b = 0]) => a - b),
  Sum: folding(sum),
  Xor: comparing((a, b) => (a !== 0) !== (b !== 0)),
} as const satisfies Record<string, LaneRule>;

export type BroadcastType = keyof typeof broadcastLanes;

/** The branch that a constant condition takes; both otherwise. */
export const whereLane: LaneRule = (context, output) => {
  const [condition = finiteLane, whenTrue = finiteLane, whenFalse = finiteLane] = operandLanes(
    context,
    output,
  );
  if (condition.kind === "constant" && !condition.fails) return condition.value === 0 ? whenFalse : whenTrue;
  const either = joinLanes([whenTrue, whenFalse]);
  // What is infinite may be what is not taken; true lanes may still be either.
  return context.ofTrueLanes ? either : bounded(context, either);
};

/** Operands mixed by some function that takes zeros to zero and finite numbers to finite ones. */
export const zeroPreserving: LaneRule = (context, output) => mixLanes(operandLanes(context, output));
