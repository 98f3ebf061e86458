/** @file What is reduced, and how: the terms of all walks. */
import type { View } from "../../ir/view.ts";
import type { Axis } from "./axes.ts";

/** Codes are those of reduce.cu. */
export const combineCodes = { sum: 0, prod: 1, max: 2, min: 3, logSumExp: 4 } as const;
export const preCodes = { none: 0, abs: 1, square: 2, negate: 3 } as const;
export const postCodes = { none: 0, sqrt: 1, log: 2, negate: 3 } as const;

/** What is done to each element, how two are combined, what is done to the result. */
export interface Reduction {
  readonly pre: keyof typeof preCodes;
  readonly combine: keyof typeof combineCodes;
  readonly post: keyof typeof postCodes;
  /** The result is divided by this before `post`; integers truncate. */
  readonly divisor: number;
}

export interface ReduceRequest extends Reduction {
  readonly input: View;
  /** Axes of the input that are reduced, not negative. */
  readonly axes: ReadonlySet<number>;
  /** Of the input's rank: reduced axes have one element. */
  readonly output: View;
  /** What integers are computed in; "float64" for roots and logarithms of them. Floats and doubles as they are. */
  readonly integersAs: "integer" | "float64";
}

/** Kept and reduced axes as the kernels walk them. Strides: of the input, then of the output. */
export interface ReduceShape {
  readonly kept: readonly Axis[];
  readonly reduced: readonly Axis[];
}
