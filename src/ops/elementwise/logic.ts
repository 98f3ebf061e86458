/** @file Comparisons, logic and bits. */
import { isEqual, isLess } from "../../ir/bounds.ts";
import { type Dim, unknownDim } from "../../ir/dim.ts";
import { dtypes } from "../../ir/dtype.ts";
import type { OpContext, OpDefinition } from "../op.ts";
import { keysOf } from "./curves.ts";
import { broadcastOp, truth } from "./define.ts";
import type { Fold } from "./fold.ts";
import type { BroadcastType } from "./lanes.ts";

function compare(test: (a: Dim, b: Dim) => boolean | undefined): Fold {
  return ([a, b]) => (a === undefined || b === undefined ? unknownDim() : truth(test(a, b)));
}

function negate(value: boolean | undefined): boolean | undefined {
  return value === undefined ? undefined : !value;
}

/** a ≤ b is not b < a, except that nothing holds of NaN. */
function isAtMost(a: Dim, b: Dim): boolean | undefined {
  return Number.isNaN(a) || Number.isNaN(b) ? false : negate(isLess(b, a));
}

/** One side can decide: 0 for And, 1 for Or. */
function decidedBy(value: 0 | 1): Fold {
  return ([a, b]) => {
    if (a === value || b === value) return value;
    return typeof a === "number" && typeof b === "number" ? 1 - value : unknownDim();
  };
}

const exclusiveOr: Fold = ([a, b]) =>
  truth(typeof a === "number" && typeof b === "number" ? a !== b : undefined);

const predicates = {
  And: decidedBy(0),
  Equal: compare(isEqual),
  Greater: compare((a, b) => isLess(b, a)),
  GreaterOrEqual: compare((a, b) => isAtMost(b, a)),
  Less: compare(isLess),
  LessOrEqual: compare(isAtMost),
  Or: decidedBy(1),
  Xor: exclusiveOr,
} as const satisfies Partial<Record<BroadcastType, Fold>>;

/** On the two's complement of the type's own width. */
function onBits(f: (a: bigint, b: bigint) => bigint): Fold {
  return ([a, b], dtype) => {
    const { bits, kind } = dtypes[dtype];
    if (!Number.isSafeInteger(a) || !Number.isSafeInteger(b) || bits === 0) return unknownDim();
    const raw = f(BigInt(String(a)), BigInt(String(b)));
    const value = Number(kind === "uint" ? BigInt.asUintN(bits, raw) : BigInt.asIntN(bits, raw));
    return Number.isSafeInteger(value) ? value : unknownDim();
  };
}

function shift(context: OpContext): Fold {
  const left = context.string("direction") === "LEFT";
  return onBits((a, b) => {
    const distance = b < 0n || b > 64n ? 64n : b;
    return left ? a << distance : a >> distance;
  });
}

export const logicOps: readonly OpDefinition[] = [
  ...keysOf(predicates).map((type) => broadcastOp(type, () => predicates[type], "bool")),
  broadcastOp("BitShift", shift),
  broadcastOp("BitwiseAnd", () => onBits((a, b) => a & b)),
  broadcastOp("BitwiseOr", () => onBits((a, b) => a | b)),
  broadcastOp("BitwiseXor", () => onBits((a, b) => a ^ b)),
];
