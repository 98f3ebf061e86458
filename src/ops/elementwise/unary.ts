/** @file Functions of one element: mathematics and activations. */

import { intervalOf } from "../../ir/bounds.ts";
import { type Dim, mulDims, unknownDim } from "../../ir/dim.ts";
import { isIntegral } from "../../ir/dtype.ts";
import type { OpDefinition } from "../op.ts";
import { keysOf, type UnaryType } from "./curves.ts";
import { onOne, truth, unaryOp } from "./define.ts";
import type { Fold } from "./fold.ts";
import { elementOf, roundHalfEven } from "./number.ts";

/** Never part of shape arithmetic: only type and shape follow. */
const notFolded = [
  "Acos",
  "Acosh",
  "Asin",
  "Asinh",
  "Atan",
  "Atanh",
  "Celu",
  "Cos",
  "Cosh",
  "Elu",
  "Erf",
  "Exp",
  "Gelu",
  "HardSigmoid",
  "HardSwish",
  "LeakyRelu",
  "Log",
  "Mish",
  "Selu",
  "Shrink",
  "Sigmoid",
  "Sin",
  "Sinh",
  "Softplus",
  "Softsign",
  "Swish",
  "Tan",
  "Tanh",
  "ThresholdedRelu",
] as const satisfies readonly UnaryType[];

/** A symbol and sums of symbols are whole already. */
const whole = (value: Dim) => value;
const ifNotNegative = (value: Dim) => (intervalOf(value).low >= 0 ? value : unknownDim());

const folds = {
  Abs: onOne(Math.abs, ifNotNegative),
  Ceil: onOne(Math.ceil, whole),
  Floor: onOne(Math.floor, whole),
  Neg: onOne(
    (value) => -value,
    (value) => mulDims(value, -1),
  ),
  Reciprocal: onOne((value) => 1 / value),
  Relu: onOne((value) => Math.max(value, 0), ifNotNegative),
  Round: onOne(roundHalfEven, whole),
  Sign: onOne(
    (value) => Math.sign(value) + 0,
    (value) => (intervalOf(value).low > 0 ? 1 : unknownDim()),
  ),
  Sqrt: onOne(Math.sqrt),
} as const satisfies Partial<Record<UnaryType, Fold>>;

const tests = {
  IsNaN: ([value]) => truth(typeof value === "number" ? Number.isNaN(value) : undefined),
  Not: ([value]) => truth(typeof value === "number" ? value === 0 : undefined),
} as const satisfies Partial<Record<UnaryType, Fold>>;

const bitwiseNot: Fold = ([value], dtype) =>
  typeof value === "number" && isIntegral(dtype) && Number.isSafeInteger(value)
    ? elementOf(-1 - value, dtype)
    : unknownDim();

export const unaryOps: readonly OpDefinition[] = [
  ...notFolded.map((type) => unaryOp(type)),
  ...keysOf(folds).map((type) => unaryOp(type, folds[type])),
  ...keysOf(tests).map((type) => unaryOp(type, tests[type], "bool")),
  unaryOp("BitwiseNot", bitwiseNot),
  // Which infinities count is an attribute; nobody folds them.
  unaryOp("IsInf", undefined, "bool"),
];
