/** @file The machine that writes PTX. */
import { type Assembler, doubleImmediate, floatImmediate, type Operand } from "./assembler.ts";
import type { FloatMachine } from "./machine.ts";
import { exp2Series } from "./math-exp.ts";

export type PtxMachine = FloatMachine<Operand, Operand>;

/** Per width: suffix of instructions, register class, fields of the number's bits. */
const formats = {
  32: { type: "f32", register: "f", bias: 127, fraction: 23 },
  64: { type: "f64", register: "d", bias: 1023, fraction: 52 },
} as const;

export function ptxMachine(assembler: Assembler, bits: 32 | 64): PtxMachine {
  const { type, register } = formats[bits];
  const op = (mnemonic: string, ...operands: Operand[]) =>
    assembler.op(register, `${mnemonic}.${type}`, ...operands);
  const predicate = (mnemonic: string, ...operands: Operand[]) => assembler.op("p", mnemonic, ...operands);
  const whole = (mode: string, a: Operand) => assembler.op(register, `cvt.${mode}.${type}.${type}`, a);
  const machine: PtxMachine = {
    bits,
    constant: bits === 32 ? floatImmediate : doubleImmediate,
    add: (a, b) => op("add.rn", a, b),
    sub: (a, b) => op("sub.rn", a, b),
    mul: (a, b) => op("mul.rn", a, b),
    div: (a, b) => op("div.rn", a, b),
    fma: (a, b, c) => op("fma.rn", a, b, c),
    neg: (a) => op("neg", a),
    abs: (a) => op("abs", a),
    sqrt: (a) => op("sqrt.rn", a),
    floor: (a) => whole("rmi", a),
    trunc: (a) => whole("rzi", a),
    rint: (a) => whole("rni", a),
    eq: (a, b) => predicate(`setp.eq.${type}`, a, b),
    lt: (a, b) => predicate(`setp.lt.${type}`, a, b),
    le: (a, b) => predicate(`setp.le.${type}`, a, b),
    and: (a, b) => predicate("and.pred", a, b),
    or: (a, b) => predicate("or.pred", a, b),
    not: (a) => predicate("not.pred", a),
    select: (condition, a, b) => assembler.op(register, `selp.${type}`, a, b, condition),
    // The instruction takes the sign first.
    copySign: (size, sign) => op("copysign", sign, size),
    exp2: (x) => (bits === 32 ? op("ex2.approx.ftz", x) : exp2Series(machine, x)),
    ...bitAccess(assembler, bits),
    when(condition, then, otherwise) {
      const result = op("mov", otherwise);
      const end = assembler.label();
      assembler.line(`@!${condition} bra ${end};`);
      assembler.line(`mov.${type} ${result}, ${then()};`);
      assembler.place(end);
      return result;
    },
    inDouble(x, f) {
      if (bits === 64) return f(machine, x);
      const result = f(ptxMachine(assembler, 64), assembler.op("d", "cvt.f64.f32", x));
      return assembler.op("f", "cvt.rn.f32.f64", result);
    },
    lookup(table, index) {
      const at = assembler.op("r", "cvt.rzi.s32.f64", index);
      const base = assembler.op("q", "mov.u64", assembler.table(table));
      const address = assembler.op("q", "mad.wide.s32", at, "8", base);
      return assembler.op("d", "ld.const.f64", `[${address}]`);
    },
  };
  return machine;
}

/** What reads and makes exponents. */
function bitAccess(
  assembler: Assembler,
  bits: 32 | 64,
): Pick<PtxMachine, "powerOfTwo" | "exponent" | "mantissa"> {
  const { bias } = formats[bits];
  // Exponent and sign lie in the high word of a double.
  const shift = bits === 32 ? "23" : "20";
  const highWord = (x: Operand) => {
    if (bits === 32) return assembler.op("r", "mov.b32", x);
    const raw = assembler.op("q", "mov.b64", x);
    return assembler.op("r", "cvt.u32.u64", assembler.op("q", "shr.u64", raw, "32"));
  };
  return {
    powerOfTwo(n) {
      const integer = assembler.op("r", `cvt.rzi.s32.f${bits}`, n);
      const biased = assembler.op("r", "add.s32", integer, String(bias));
      const word = assembler.op("r", "shl.b32", biased, shift);
      return bits === 32
        ? assembler.op("f", "mov.b32", word)
        : assembler.op("d", "mov.b64", `{${assembler.op("r", "mov.b32", "0")}, ${word}}`);
    },
    exponent(x) {
      const biased = assembler.op("r", "shr.u32", highWord(x), shift);
      const integer = assembler.op("r", "sub.s32", biased, String(bias));
      return assembler.op(bits === 32 ? "f" : "d", `cvt.rn.f${bits}.s32`, integer);
    },
    mantissa(x) {
      const masked = assembler.op("r", "and.b32", highWord(x), bits === 32 ? "0x007FFFFF" : "0x000FFFFF");
      const word = assembler.op("r", "or.b32", masked, bits === 32 ? "0x3F800000" : "0x3FF00000");
      if (bits === 32) return assembler.op("f", "mov.b32", word);
      const low = assembler.op("r", "cvt.u32.u64", assembler.op("q", "mov.b64", x));
      return assembler.op("d", "mov.b64", `{${low}, ${word}}`);
    },
  };
}
