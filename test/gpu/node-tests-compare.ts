/** @file Outputs of a node test against those that it asks for. */
import { budgets, type HalfType, halfAllowance, isWithin } from "../../src/verify/budget.ts";
import { compareTensors, type Difference } from "../../src/verify/compare.ts";
import { isFloatTensor, numbersOf, type Tensor } from "../../src/verify/tensor.ts";

/**
 * |actual - expected| ≤ absolute + relative |expected|, as ONNX's own runner has it, and what FP32 rounds away of sums
 * whose terms are as large as the largest result.
 */
const relative = 1e-3;
const absolute = 1e-7;
const ofLargest = 1e-6;
/** Outputs in half are rounded once, and were computed in half by the reference: a few of the last bits. */
const halfUlps = 4;
const roundoffs: Readonly<Record<string, number>> = { float16: 2 ** -11, bfloat16: 2 ** -8 };

export interface Comparison {
  readonly same: boolean;
  /** |actual - expected|, and |expected|: the largest. */
  readonly maximumError: number;
  readonly largest: number;
  readonly problem: string | undefined;
}

/** Element by element: floats within ONNX's tolerance, everything else exactly; NaN equals NaN. */
export function compareExact(expected: Tensor, actual: Tensor): Comparison {
  const problem = shapeProblem(expected, actual);
  if (problem !== undefined) return { same: false, maximumError: Number.NaN, largest: 0, problem };
  const difference = compareTensors(expected, actual);
  const isSame = isFloatTensor(expected)
    ? isClose(expected, actual, difference.largest)
    : difference.mismatches === 0;
  return comparison(isSame, difference);
}

/** Design D8: `rounded` is what our own FP32 plan gives where the inputs were rounded to half before. */
export function compareHalf(
  expected: Tensor,
  actual: Tensor,
  dtype: HalfType,
  rounded: Tensor | undefined,
): Comparison {
  const problem = shapeProblem(expected, actual);
  if (problem !== undefined) return { same: false, maximumError: Number.NaN, largest: 0, problem };
  const difference = compareTensors(expected, actual);
  const own = compareTensors(expected, rounded ?? expected);
  return comparison(isWithin(difference, halfAllowance(budgets[dtype], difference, own)), difference);
}

function comparison(same: boolean, difference: Difference): Comparison {
  const { maximumError, largest, mismatches, worst } = difference;
  const at =
    worst === undefined ? "" : ` at [${worst.index.join(",")}]: ${worst.actual}, expected ${worst.expected}`;
  const what = mismatches > 0 ? `${mismatches} mismatches,` : `error ${maximumError.toExponential(2)}`;
  return { same, maximumError, largest, problem: same ? undefined : `${what}${at}` };
}

function shapeProblem(expected: Tensor, actual: Tensor): string | undefined {
  if (expected.dims.join() !== actual.dims.join()) {
    return `has shape [${actual.dims.join(",")}], expected [${expected.dims.join(",")}]`;
  }
  return expected.dtype === actual.dtype ? undefined : `is ${actual.dtype}, expected ${expected.dtype}`;
}

function isClose(expected: Tensor, actual: Tensor, largest: number): boolean {
  const [a, b] = [numbersOf(expected), numbersOf(actual)];
  const floor = absolute + ofLargest * largest;
  const share = Math.max(relative, halfUlps * (roundoffs[expected.dtype] ?? 0));
  for (let i = 0; i < a.length; i++) {
    const [x, y] = [a[i] ?? Number.NaN, b[i] ?? Number.NaN];
    if (x === y || (Number.isNaN(x) && Number.isNaN(y))) continue;
    // Written so that NaN and infinities fail.
    if (!(Math.abs(y - x) <= floor + share * Math.abs(x))) return false;
  }
  return true;
}
