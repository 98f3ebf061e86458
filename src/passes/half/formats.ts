/** @file What the two half formats can hold. */
import { halfName } from "../../ir/half.ts";
import type { HalfType } from "./accepts.ts";

interface Format {
  /** Largest finite number. */
  readonly max: number;
  /** Smallest number with all its bits; below it precision is lost bit by bit. */
  readonly minNormal: number;
  /** Largest magnitude seen on samples that a value may have: other inputs reach further than samples. */
  readonly maxObserved: number;
  /** Squares, exponentials and sums of ordinary activations leave the range. */
  readonly isNarrow: boolean;
  readonly label: string;
}

const float16Max = 65504;
const bfloat16Max = (2 - 2 ** -7) * 2 ** 127;

export const formats: { readonly [T in HalfType]: Format } = {
  float16: {
    max: float16Max,
    minNormal: 2 ** -14,
    maxObserved: float16Max / 4,
    isNarrow: true,
    label: halfName.float16,
  },
  bfloat16: {
    max: bfloat16Max,
    minNormal: 2 ** -126,
    maxObserved: bfloat16Max / 4,
    isNarrow: false,
    label: halfName.bfloat16,
  },
};
