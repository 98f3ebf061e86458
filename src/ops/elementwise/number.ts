/** @file A computed number as an element of a type: rounded, wrapped, or not known. */
import { type Dim, unknownDim } from "../../ir/dim.ts";
import { type DType, dtypes } from "../../ir/dtype.ts";

/** Significand bits (the leading one counted), smallest normal exponent and largest value of the small floats. */
const smallFloats: Partial<Record<DType, readonly [bits: number, minExponent: number, largest: number]>> = {
  float16: [11, -14, 65504],
  bfloat16: [8, -126, (2 - 2 ** -7) * 2 ** 127],
};

/** `value` as stored in a tensor of `dtype`; an unknown dim where that is not defined or not exact. */
export function elementOf(value: number, dtype: DType): Dim {
  switch (dtypes[dtype].kind) {
    case "bool":
      return value === 0 ? 0 : 1;
    case "int":
    case "uint":
      return wrapInteger(value, dtype);
    case "float":
      return roundFloat(value, dtype);
    case "string":
    case "complex":
      return unknownDim();
  }
}

/** Whole numbers wrap around in two's complement, as every runtime does. */
function wrapInteger(value: number, dtype: DType): Dim {
  if (!Number.isSafeInteger(value)) return unknownDim();
  const { bits, kind } = dtypes[dtype];
  // Adding 0 turns -0, which integers do not have, into 0.
  if (bits === 64) return kind === "uint" && value < 0 ? unknownDim() : value + 0;
  const modulus = 2 ** bits;
  const wrapped = ((value % modulus) + modulus) % modulus;
  return kind === "int" && wrapped >= modulus / 2 ? wrapped - modulus : wrapped;
}

function roundFloat(value: number, dtype: DType): Dim {
  if (dtype === "float64") return value;
  if (dtype === "float32") return Math.fround(value);
  const small = smallFloats[dtype];
  if (small === undefined) return unknownDim();
  return roundSmall(value, ...small);
}

function roundSmall(value: number, bits: number, minExponent: number, largest: number): number {
  if (!Number.isFinite(value) || value === 0) return value;
  const magnitude = Math.abs(value);
  let exponent = Math.floor(Math.log2(magnitude));
  // log2 may be off by one next to a power of two.
  if (2 ** exponent > magnitude) exponent -= 1;
  else if (2 ** (exponent + 1) <= magnitude) exponent += 1;
  const step = 2 ** (Math.max(exponent, minExponent) - bits + 1);
  const rounded = roundHalfEven(magnitude / step) * step;
  return Math.sign(value) * (rounded > largest ? Infinity : rounded);
}

/** To the nearest whole number, ties to the even one; the sign stays, also of a zero. */
export function roundHalfEven(value: number): number {
  const below = Math.floor(value);
  const rest = value - below;
  const goesUp = rest > 0.5 || (rest === 0.5 && below % 2 !== 0);
  const rounded = goesUp ? below + 1 : below;
  return rounded === 0 && value < 0 ? -0 : rounded;
}
