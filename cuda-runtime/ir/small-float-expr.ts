/** @file Floats of 8 and 4 bits, which registers hold as their codes: the number of a code, the code of a number. */
import { type SmallFloat, smallFloats } from "../../src/ir/small-float.ts";
import type { Expr } from "./expr.ts";
import {
  add,
  binary,
  bits,
  compare,
  constant,
  convert,
  like,
  multiply,
  select,
  test,
  unary,
} from "./expr-build.ts";
import type { CodeStorage } from "./storage.ts";

/** Bits of fraction, and what is added to the exponent, in float32. */
const [fraction32, bias32] = [23, 127];

function u32(value: number): Expr {
  return constant("u32", value);
}

function shifted(op: "shl" | "shr", value: Expr, distance: number): Expr {
  return binary(op, value, u32(distance));
}

/** The number as f32, exact. */
export function decoded(type: CodeStorage, code: Expr): Expr {
  if (type === "float8e8m0") return decodedExponent(code);
  const format: SmallFloat = smallFloats[type];
  const { magnitudeBits, fraction, bias, largest, overflow, nan, isUnsignedZero } = format;
  const magnitude = binary("and", code, u32((1 << magnitudeBits) - 1));
  // The fields in float32's places; its own bias is made up for by a product, which also gives what is below 2^(1 - bias).
  const placed = bits("f32", shifted("shl", magnitude, fraction32 - fraction));
  const number = multiply(placed, constant("f32", 2 ** (bias32 - bias)));
  const sign = shifted("shl", binary("and", code, u32(1 << magnitudeBits)), 31 - magnitudeBits);
  const signed = bits("f32", binary("or", bits("u32", number), sign));
  if (nan === undefined) return signed;
  const none = constant("f32", Number.NaN);
  if (isUnsignedZero) return select(compare("eq", code, u32(nan)), none, signed);
  const special = select(compare("gt", magnitude, u32(largest)), none, signed);
  if (overflow === nan) return special;
  const infinity = bits("f32", binary("or", u32(0x7f80_0000), sign));
  return select(compare("eq", magnitude, u32(overflow)), infinity, special);
}

function decodedExponent(code: Expr): Expr {
  const power = bits("f32", shifted("shl", code, fraction32));
  const number = select(compare("eq", code, u32(0)), constant("f32", 2 ** -bias32), power);
  return select(compare("eq", code, u32(255)), constant("f32", Number.NaN), number);
}

/** The code nearest to a number of f32, ties to even; beyond the largest one it saturates, or becomes infinity or NaN. */
export function encoded(type: CodeStorage, value: Expr, saturates: boolean): Expr {
  const x = convert("f32", value);
  if (type === "float8e8m0") return encodedExponent(x, saturates);
  const { magnitudeBits, fraction, bias, largest, overflow, nan, isUnsignedZero }: SmallFloat =
    smallFloats[type];
  const size = unary("abs", x);
  const spare = fraction32 - fraction;
  const own = bits("u32", size);
  const odd = binary("and", shifted("shr", own, spare), u32(1));
  const rounded = add(add(own, u32(2 ** (spare - 1) - 1)), odd);
  const normal = binary("sub", shifted("shr", rounded, spare), u32((bias32 - bias) << fraction));
  const steps = unary("round", multiply(size, like(size, 2 ** (bias - 1 + fraction))));
  const small = compare("lt", size, like(size, 2 ** (1 - bias)));
  const magnitude = select(small, convert("u32", steps), normal);
  const isOver = compare("gt", magnitude, u32(largest));
  const sign = binary("and", shifted("shr", bits("u32", x), 31 - magnitudeBits), u32(1 << magnitudeBits));
  const signOf = (code: Expr) =>
    isUnsignedZero
      ? select(compare("eq", code, u32(0)), code, binary("or", code, sign))
      : binary("or", code, sign);
  const beyond = saturates || !isUnsignedZero ? signOf(u32(saturates ? largest : overflow)) : u32(overflow);
  const number = select(isOver, beyond, signOf(magnitude));
  // What has no NaN makes a negative zero of it, as ONNX's reference.
  const none = nan === undefined ? u32(1 << magnitudeBits) : isUnsignedZero ? u32(nan) : signOf(u32(nan));
  return select(test("isnan", x), none, number);
}

/** Up to the next power of two, as ONNX's default for scales of blocks has it. */
function encodedExponent(x: Expr, saturates: boolean): Expr {
  const own = bits("u32", unary("abs", x));
  const up = add(own, u32(2 ** fraction32 - 1));
  const exponent = shifted("shr", up, fraction32);
  const isOver = compare("gt", exponent, u32(254));
  const least = select(compare("le", own, u32(0x40_0000)), u32(0), exponent);
  const number = select(isOver, u32(saturates ? 254 : 255), least);
  return select(test("isnan", x), u32(255), number);
}
