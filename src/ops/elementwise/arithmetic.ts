/** @file Add, Sub, Mul, Div, Mod, Pow and the variadic Sum, Mean, Max, Min. */
import { intervalOf } from "../../ir/bounds.ts";
import {
  addDims,
  type Dim,
  divideExactly,
  floorDivDims,
  mulDims,
  product,
  subDims,
  unknownDim,
} from "../../ir/dim.ts";
import { isFloat, isIntegral } from "../../ir/dtype.ts";
import { defineOp, type OpDefinition } from "../op.ts";
import { asTensor, tensorAt } from "../shape.ts";
import { broadcastOp, lanewise, onTwo, secondAsOnes } from "./define.ts";
import type { Fold } from "./fold.ts";
import { broadcastLanes } from "./lanes.ts";
import { elementOf } from "./number.ts";
import { isWhole, largerOf, smallerOf } from "./order.ts";
import { broadcastTraits } from "./traits.ts";

/** Dims count in whole numbers; anything else beside a symbol makes the result unknown. */
function whole(f: (a: Dim, b: Dim) => Dim): (a: Dim, b: Dim) => Dim {
  return (a, b) => (isWhole(a) && isWhole(b) ? f(a, b) : unknownDim());
}

const add = onTwo((a, b) => a + b, whole(addDims));
const subtract = onTwo((a, b) => a - b, whole(subDims));
const multiply = onTwo((a, b) => a * b, multiplySymbols);

/** A factor such as 0.5 is a division where the symbol allows it. */
function multiplySymbols(a: Dim, b: Dim): Dim {
  if (isWhole(a) && isWhole(b)) return mulDims(a, b);
  const [value, factor] = typeof a === "number" ? [b, a] : [a, b];
  const divisor = typeof factor === "number" ? 1 / factor : undefined;
  if (divisor === undefined || !Number.isSafeInteger(divisor)) return unknownDim();
  return divideExactly(value, divisor) ?? unknownDim();
}

const divide = onTwo(
  (a, b, dtype) => (isFloat(dtype) ? a / b : b === 0 ? Number.NaN : Math.trunc(a / b)),
  (a, b, dtype) => {
    if (!isWhole(a) || !isWhole(b) || b === 0) return unknownDim();
    const exact = divideExactly(a, b);
    if (exact !== undefined) return exact;
    // Integer division truncates: the same as the floor where nothing is negative.
    return isIntegral(dtype) && isNotNegative(a) && isNotNegative(b) ? floorDivDims(a, b) : unknownDim();
  },
);

/** For a size of at least 1, so that (N - 1) / 2 is a floor division. */
function isNotNegative(value: Dim): boolean {
  return intervalOf(value, 1).low >= 0;
}

/** The sign of the remainder follows the divisor, or with `fmod` the dividend. */
function modulo(fmod: boolean): Fold {
  return onTwo(
    (a, b, dtype) => {
      if (b === 0 && !isFloat(dtype)) return Number.NaN;
      const remainder = a % b;
      return fmod || remainder === 0 || remainder < 0 === b < 0 ? remainder : remainder + b;
    },
    (a, b) => {
      if (typeof b !== "number" || b <= 0 || !isWhole(b) || typeof a === "number") return unknownDim();
      if (divideExactly(a, b) !== undefined) return 0;
      return fmod && !isNotNegative(a) ? unknownDim() : subDims(a, mulDims(floorDivDims(a, b), b));
    },
  );
}

const power = onTwo(
  (base, exponent, dtype) => (isFloat(dtype) && !roundedAlike.has(exponent) ? undefined : base ** exponent),
  (base, exponent) => {
    const small =
      typeof exponent === "number" && Number.isInteger(exponent) && exponent >= 0 && exponent <= 8;
    return small ? product(new Array<Dim>(exponent).fill(base)) : unknownDim();
  },
);

/** Exponents of which every runtime rounds the result the same way. */
const roundedAlike: ReadonlySet<number> = new Set([-1, 0, 0.5, 1, 2]);

const larger: Fold = ([a, b]) => (a === undefined || b === undefined ? unknownDim() : largerOf(a, b));
const smaller: Fold = ([a, b]) => (a === undefined || b === undefined ? unknownDim() : smallerOf(a, b));

function overAll(fold: Fold): Fold {
  return (values, dtype) => values.reduce((total, value) => fold([total, value], dtype));
}

const mean: Fold = (values, dtype) => {
  const sum = overAll(add)(values, dtype);
  return typeof sum === "number" ? elementOf(sum / values.length, dtype) : unknownDim();
};

/** The exponent may be of another type; the result has the base's. */
const pow = defineOp({
  domain: "",
  type: "Pow",
  traits: broadcastTraits.Pow,
  infer(context) {
    const base = tensorAt(context, 0);
    return [lanewise([base, { ...tensorAt(context, 1), dtype: base.dtype }], power)];
  },
  axes: secondAsOnes,
  lanes: broadcastLanes.Pow,
  traffic: "elementwise",
  pass: "add",
});

const mod = defineOp({
  domain: "",
  type: "Mod",
  traits: broadcastTraits.Mod,
  infer: (context) => [lanewise(context.inputs.map(asTensor), modulo(context.int("fmod") === 1))],
  axes: secondAsOnes,
  lanes: broadcastLanes.Mod,
  traffic: "elementwise",
  pass: "add",
});

export const arithmeticOps: readonly OpDefinition[] = [
  broadcastOp("Add", () => add),
  broadcastOp("Sub", () => subtract),
  broadcastOp("Mul", () => multiply),
  broadcastOp("Div", () => divide),
  broadcastOp("Sum", () => overAll(add)),
  broadcastOp("Max", () => overAll(larger)),
  broadcastOp("Min", () => overAll(smaller)),
  broadcastOp("Mean", () => mean),
  mod,
  pow,
];
