/** @file Floats of 8 and 4 bits: what their codes stand for, and the code of a number. Sources: OFP8, OCP MX, onnx.proto. */
import type { DType } from "./dtype.ts";

/** Sign, exponent, `fraction` bits of fraction. A format without infinity or NaN takes their codes for numbers. */
export interface SmallFloat {
  /** All bits but the sign, which lies above them. */
  readonly magnitudeBits: number;
  readonly fraction: number;
  readonly bias: number;
  /** Code of the largest number. */
  readonly largest: number;
  /** What lies beyond the largest number becomes where nothing saturates; the sign is added unless `isUnsignedZero`. */
  readonly overflow: number;
  /** Undefined where there is none. */
  readonly nan: number | undefined;
  /** The code of a negative zero is NaN: zero has no sign. */
  readonly isUnsignedZero: boolean;
}

export const smallFloats = {
  float8e4m3fn: row(7, 3, 7, 0x7e, 0x7f, 0x7f),
  float8e4m3fnuz: row(7, 3, 8, 0x7f, 0x80, 0x80, true),
  float8e5m2: row(7, 2, 15, 0x7b, 0x7c, 0x7f),
  float8e5m2fnuz: row(7, 2, 16, 0x7f, 0x80, 0x80, true),
  float4e2m1: row(3, 1, 1, 7, 7, undefined),
} as const satisfies Partial<Record<DType, SmallFloat>>;

export type SmallFloatType = keyof typeof smallFloats;

function row(
  magnitudeBits: number,
  fraction: number,
  bias: number,
  largest: number,
  overflow: number,
  nan: number | undefined,
  isUnsignedZero = false,
): SmallFloat {
  return { magnitudeBits, fraction, bias, largest, overflow, nan, isUnsignedZero };
}

export function isSmallFloat(dtype: string | undefined): dtype is SmallFloatType {
  return dtype !== undefined && Object.hasOwn(smallFloats, dtype);
}

/** What a code stands for. */
export function smallFloatValue(dtype: SmallFloatType, code: number): number {
  const { magnitudeBits, fraction, bias, largest, nan, isUnsignedZero } = smallFloats[dtype];
  const sign = (code >> magnitudeBits) & 1 ? -1 : 1;
  const magnitude = code & ((1 << magnitudeBits) - 1);
  if (isUnsignedZero && code === nan) return Number.NaN;
  if (magnitude > largest) return dtype === "float8e5m2" && magnitude === 0x7c ? sign * Infinity : Number.NaN;
  const exponent = magnitude >> fraction;
  const steps = magnitude & ((1 << fraction) - 1);
  const whole = exponent === 0 ? steps : steps + (1 << fraction);
  return sign * whole * 2 ** (Math.max(exponent, 1) - bias - fraction);
}

/** 2^(code - 127), the scale of a block; 255 is NaN. */
export function exponentValue(code: number): number {
  return code === 255 ? Number.NaN : 2 ** (code - 127);
}
