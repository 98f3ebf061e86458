/** @file Conversions between register types, and roundings to what storage holds, as PTX. */

import type { ScalarType } from "../ir/expr.ts";
import type { NarrowType } from "../ir/expr-value.ts";
import type { SmallInteger } from "../ir/storage.ts";
import { type Assembler, doubleImmediate, floatImmediate, type Operand } from "./assembler.ts";

/** Types of cvt. */
const cvtTypes: Readonly<Record<Exclude<ScalarType, "bool">, string>> = {
  f32: "f32",
  f64: "f64",
  i32: "s32",
  u32: "u32",
  i64: "s64",
  u64: "u64",
};

/** An immediate of the type, or a register where there are none. */
export function constantOperand(assembler: Assembler, type: ScalarType, value: number): Operand {
  if (type === "f32") return floatImmediate(value);
  if (type === "f64") return doubleImmediate(value);
  if (type === "bool") return assembler.op("p", "setp.ne.u32", value === 0 ? "0" : "1", "0");
  const whole = BigInt(Math.trunc(Number.isFinite(value) ? value : 0));
  if (type === "i32") return String(BigInt.asIntN(32, whole));
  if (type === "u32") return String(BigInt.asUintN(32, whole));
  // 2^63 is as near as a double gets to the largest of 64 bits.
  const largest = 2n ** 63n - 1n;
  return type === "i64" && whole > largest ? String(largest) : String(BigInt.asIntN(64, whole));
}

/** As ONNX's Cast: floats to integers truncate, anything to bool is "not 0". */
export function emitConvert(assembler: Assembler, from: ScalarType, to: ScalarType, a: Operand): Operand {
  if (from === to) return a;
  if (to === "bool") return notZero(assembler, from, a);
  if (from === "bool") return fromBool(assembler, to, a);
  const isFromFloat = from === "f32" || from === "f64";
  if (to === "f32" || to === "f64") {
    if (from === "f32") return assembler.op("d", "cvt.f64.f32", a);
    const kind = to === "f32" ? "f" : "d";
    return assembler.op(kind, `cvt.rn.${to}.${cvtTypes[from]}`, a);
  }
  return isFromFloat ? fromFloat(assembler, from, to, a) : betweenIntegers(assembler, from, to, a);
}

function notZero(assembler: Assembler, from: ScalarType, a: Operand): Operand {
  if (from === "f32") return assembler.op("p", "setp.neu.f32", a, floatImmediate(0));
  if (from === "f64") return assembler.op("p", "setp.neu.f64", a, doubleImmediate(0));
  return assembler.op("p", from === "i64" || from === "u64" ? "setp.ne.s64" : "setp.ne.s32", a, "0");
}

function fromBool(assembler: Assembler, to: ScalarType, a: Operand): Operand {
  if (to === "f32") return assembler.op("f", "selp.f32", floatImmediate(1), floatImmediate(0), a);
  if (to === "f64") return assembler.op("d", "selp.f64", doubleImmediate(1), doubleImmediate(0), a);
  return to === "i64" || to === "u64"
    ? assembler.op("q", "selp.b64", "1", "0", a)
    : assembler.op("r", "selp.b32", "1", "0", a);
}

/** Negative numbers wrap in unsigned types, as processors do it. */
function fromFloat(
  assembler: Assembler,
  from: "f32" | "f64",
  to: "i32" | "u32" | "i64" | "u64",
  a: Operand,
): Operand {
  if (to === "i32") return assembler.op("r", `cvt.rzi.s32.${from}`, a);
  const wide = assembler.op("q", `cvt.rzi.s64.${from}`, a);
  if (to === "i64") return wide;
  if (to === "u32") return assembler.op("r", "cvt.u32.u64", wide);
  const zero = from === "f32" ? floatImmediate(0) : doubleImmediate(0);
  const isNegative = assembler.op("p", `setp.lt.${from}`, a, zero);
  const unsigned = assembler.op("q", `cvt.rzi.u64.${from}`, a);
  return assembler.op("q", "selp.b64", wide, unsigned, isNegative);
}

function betweenIntegers(assembler: Assembler, from: ScalarType, to: ScalarType, a: Operand): Operand {
  const isWide = (type: ScalarType) => type === "i64" || type === "u64";
  if (isWide(from) === isWide(to)) return a;
  if (isWide(from)) return assembler.op("r", "cvt.u32.u64", a);
  return from === "i32" ? assembler.op("q", "cvt.s64.s32", a) : assembler.op("q", "cvt.u64.u32", a);
}

/** Bits that are kept, and what fills those above. */
const narrowFields = {
  int8: { bits: 8, fill: "s" },
  uint8: { bits: 8, fill: "u" },
  int16: { bits: 16, fill: "s" },
  uint16: { bits: 16, fill: "u" },
  int4: { bits: 4, fill: "s" },
  uint4: { bits: 4, fill: "u" },
  int2: { bits: 2, fill: "s" },
  uint2: { bits: 2, fill: "u" },
} as const;

/** Rounded or wrapped, in the register type it had. */
export function emitNarrow(assembler: Assembler, type: ScalarType, to: NarrowType, a: Operand): Operand {
  if (to === "float16" || to === "bfloat16") {
    const single = emitConvert(assembler, type, "f32", a);
    const rounded =
      to === "float16"
        ? halfToFloat(assembler, floatToHalf(assembler, single))
        : bfloatToFloat(assembler, floatToBfloat(assembler, single));
    return emitConvert(assembler, "f32", type, rounded);
  }
  const isFloat = type === "f32" || type === "f64";
  const whole = isFloat ? emitConvert(assembler, type, "i64", a) : a;
  const isWide = isFloat || type === "i64" || type === "u64";
  const low = isWide ? assembler.op("r", "cvt.u32.u64", whole) : whole;
  const result = wrapped(assembler, to, low, isWide);
  return isFloat ? emitConvert(assembler, "i64", type, result) : result;
}

/** The low bits of a word, as 32 or 64. */
function wrapped(assembler: Assembler, to: SmallInteger, low: Operand, isWide: boolean): Operand {
  const { bits, fill } = narrowFields[to];
  if (bits >= 8)
    return assembler.op(isWide ? "q" : "r", `cvt.${fill}${isWide ? 64 : 32}.${fill}${bits}`, low);
  const field = assembler.op("r", `bfe.${fill}32`, low, "0", String(bits));
  return isWide ? assembler.op("q", `cvt.${fill}64.${fill}32`, field) : field;
}

/** To the bits of a half in an h register, and back. */
export function floatToHalf(assembler: Assembler, a: Operand): Operand {
  return assembler.op("h", "cvt.rn.f16.f32", a);
}

export function halfToFloat(assembler: Assembler, a: Operand): Operand {
  return assembler.op("f", "cvt.f32.f16", a);
}

export function bfloatToFloat(assembler: Assembler, a: Operand): Operand {
  const zero = assembler.op("h", "mov.b16", "0");
  return assembler.op("f", "mov.b32", `{${zero}, ${a}}`);
}

export function floatToBfloat(assembler: Assembler, a: Operand): Operand {
  if (assembler.features.packedConversion) return assembler.op("h", "cvt.rn.bf16.f32", a);
  // Adds half a unit, or just less where the last bit is even; NaN would carry into infinity.
  const bits = assembler.op("r", "mov.b32", a);
  const shifted = assembler.op("r", "shr.u32", bits, "16");
  const odd = assembler.op("r", "and.b32", shifted, "1");
  const carry = assembler.op("r", "add.u32", assembler.op("r", "add.u32", bits, "0x7FFF"), odd);
  const isNone = assembler.op("p", "setp.nan.f32", a, a);
  const rounded = assembler.op("r", "selp.b32", "0x7FFF0000", carry, isNone);
  return assembler.op("h", "cvt.u16.u32", assembler.op("r", "shr.u32", rounded, "16"));
}
