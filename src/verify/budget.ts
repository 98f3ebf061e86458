/**
 * @file How large a difference may be: a budget of error, not a constant (design D8).
 *
 * `relative`, for changes that keep every value to rounding (padding, folding): the largest error is at most `tolerance`
 * times the output's largest magnitude. Where a model amplifies rounding itself, its own sensitivity counts: the
 * difference that ONNX Runtime shows between two ways of computing the original, and that the last bit of the inputs makes.
 *
 * `codesFactor` says that the model rounds to codes inside: a sum between two becomes either, and the difference behind is no rounding of
 * floats. Its sensitivity then counts whole, that many times, on each measure (`code-ways.ts`).
 *
 * `half`, for models moved to half precision: both the new model N and the original with its weights and inputs rounded
 * to half, R, are compared with the original O. Per output, with e(X) = X - O over all elements,
 *
 *     rms e(N) ≤ factor × max(rms e(R), u × rms O)      and      max |e(N)| ≤ 2 factor × max(max |e(R)|, u × max |O|)
 *
 * where u is half the distance from 1 to the next number of the type: no output in half can be better than that. R rounds
 * what is stored, not what is computed, so a correct half model errs more than R; `factor` is that allowance. On 24 zoo
 * models with every value rounded to half as well, rms e(N) came to 0.02 to 3.3 times the maximum above, max |e(N)| to 3.1.
 */
import type { Difference } from "./compare.ts";

export type HalfType = "float16" | "bfloat16";

export type Budget =
  | { readonly kind: "relative"; readonly tolerance: number; readonly codesFactor?: number }
  | { readonly kind: "half"; readonly dtype: HalfType; readonly factor: number };

/** Rounding to nearest changes a number by at most this share of it. */
const roundoff = { float16: 2 ** -11, bfloat16: 2 ** -8 } as const satisfies Record<HalfType, number>;

/** Largest magnitude of each type, and its smallest normal one. */
export const halfRange = {
  float16: { largest: 65504, smallest: 2 ** -14 },
  bfloat16: { largest: 2 ** 127 * (2 - 2 ** -7), smallest: 2 ** -126 },
} as const satisfies Record<HalfType, { largest: number; smallest: number }>;

/** What the passes ask for. */
export const budgets = {
  padding: { kind: "relative", tolerance: 1e-5 },
  folding: { kind: "relative", tolerance: 5e-5 },
  float16: { kind: "half", dtype: "float16", factor: 8 },
  bfloat16: { kind: "half", dtype: "bfloat16", factor: 8 },
} as const satisfies Record<string, Budget>;

/** What is asked for, as a budget: a multiple of what half precision costs, a tolerance, or what padding keeps to. */
export function budgetFor({
  tolerance,
  half,
}: {
  readonly tolerance?: number | undefined;
  readonly half?: "fp16" | "bf16" | undefined;
}): Budget {
  if (half !== undefined) return half === "fp16" ? budgets.float16 : budgets.bfloat16;
  return tolerance === undefined ? budgets.padding : { kind: "relative", tolerance };
}

/** A sensitivity beyond this share of the output says that the output is noise; it excuses no more. */
const largestSensitivity = 1e-3;
/** What rounding does in one way of computing, it may do the other way round in another. */
const sensitivityFactor = 4;

/** What a difference may come to. */
export interface Allowance {
  readonly maximumError: number;
  readonly rootMeanSquareError: number;
  /** Elements that may differ where no tolerance applies. */
  readonly mismatches: number;
}

/** How far the original's own ways of computing it are apart, the widest of each measure. */
export type Sensitivity = Pick<Difference, "maximumError" | "rootMeanSquareError" | "mismatches">;

/** `sensitivity` counts whole where inputs are `unusual`: the sine of 1e30 is noise, and nobody needs it. */
export function relativeAllowance(
  tolerance: number,
  difference: Difference,
  sensitivity = 0,
  unusual = false,
): Allowance {
  const most = unusual ? Number.POSITIVE_INFINITY : largestSensitivity * difference.largest;
  const own = Math.min(sensitivityFactor * sensitivity, most);
  const maximumError = Math.max(tolerance * difference.largest, own);
  return { maximumError, rootMeanSquareError: maximumError, mismatches: 0 };
}

/** Of a model that rounds to codes. `sensitivity` counts whole, on each measure; `mismatches` are of integers. */
export function codesAllowance(
  { tolerance, factor }: { readonly tolerance: number; readonly factor: number },
  difference: Difference,
  { maximumError, rootMeanSquareError, mismatches }: Sensitivity,
): Allowance {
  const least = tolerance * difference.largest;
  return {
    maximumError: Math.max(least, factor * maximumError),
    rootMeanSquareError: Math.max(least, factor * rootMeanSquareError),
    mismatches: factor * mismatches,
  };
}

/** `rounded` compares the original with itself after its weights and inputs were rounded. */
export function halfAllowance(
  { dtype, factor }: Extract<Budget, { kind: "half" }>,
  difference: Difference,
  rounded: Difference,
): Allowance {
  const unit = roundoff[dtype];
  return {
    rootMeanSquareError: factor * Math.max(rounded.rootMeanSquareError, unit * difference.rootMeanSquare),
    maximumError: 2 * factor * Math.max(rounded.maximumError, unit * difference.largest),
    mismatches: Math.floor(factor * rounded.mismatches),
  };
}

/** Written so that NaN fails. */
export function isWithin(difference: Difference, allowance: Allowance): boolean {
  return (
    difference.mismatches <= allowance.mismatches &&
    difference.maximumError <= allowance.maximumError &&
    difference.rootMeanSquareError <= allowance.rootMeanSquareError
  );
}
