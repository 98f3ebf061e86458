/** @file The machine of cuda-runtime/ptx/machine.ts on JavaScript's numbers: what the emitted instructions compute. */

import { roundToEven } from "../../../cuda-runtime/ir/expr-value.ts";
import type { FloatMachine } from "../../../cuda-runtime/ptx/machine.ts";
import { exp2Series } from "../../../cuda-runtime/ptx/math-exp.ts";

export type NumberMachine = FloatMachine<number, boolean>;

/** The special function unit's 2^x is off by up to 2^-22.5. */
const exp2Error = 2 ** -22.5;

export function numberMachine(bits: 32 | 64, exp2Sign: -1 | 0 | 1 = 0): NumberMachine {
  const round = bits === 32 ? Math.fround : (x: number) => x;
  const machine: NumberMachine = {
    bits,
    constant: round,
    add: (a, b) => round(a + b),
    sub: (a, b) => round(a - b),
    mul: (a, b) => round(a * b),
    div: (a, b) => round(a / b),
    fma: (a, b, c) => (bits === 32 ? round(a * b + c) : fusedInDouble(a, b, c)),
    neg: (a) => -a,
    abs: Math.abs,
    sqrt: (a) => round(Math.sqrt(a)),
    floor: Math.floor,
    trunc: Math.trunc,
    rint: roundToEven,
    eq: (a, b) => a === b,
    lt: (a, b) => a < b,
    le: (a, b) => a <= b,
    and: (a, b) => a && b,
    or: (a, b) => a || b,
    not: (a) => !a,
    select: (condition, a, b) => (condition ? a : b),
    copySign: (size, sign) => (sign < 0 || Object.is(sign, -0) ? -Math.abs(size) : Math.abs(size)),
    exp2: (x) => (bits === 32 ? round(2 ** x * (1 + exp2Sign * exp2Error)) : exp2Series(machine, x)),
    powerOfTwo: (n) => 2 ** n,
    exponent: exponentOf,
    mantissa: (x) => (Number.isFinite(x) && x !== 0 ? x / 2 ** exponentOf(x) : 1),
    when: (condition, then, otherwise) => (condition ? then() : otherwise),
    inDouble: (x, f) => (bits === 64 ? f(machine, x) : round(f(numberMachine(64), x))),
    lookup(table, index) {
      const entry = table[index];
      if (entry === undefined) throw new Error(`no entry ${index} in a table of ${table.length}`);
      return entry;
    },
  };
  return machine;
}

function exponentOf(x: number): number {
  if (!Number.isFinite(x) || x === 0) return 0;
  const size = Math.abs(x);
  const guess = Math.floor(Math.log2(size));
  if (size < 2 ** guess) return guess - 1;
  return size >= 2 ** (guess + 1) ? guess + 1 : guess;
}

/** a b + c with the rounding error of the product, by Dekker and Veltkamp. */
function fusedInDouble(a: number, b: number, c: number): number {
  const product = a * b;
  const isPlain = Math.max(Math.abs(a), Math.abs(b)) < 1e150 && Math.abs(product) > 1e-250;
  if (!isPlain || !Number.isFinite(product + c)) return product + c;
  const [aHigh, aLow] = halves(a);
  const [bHigh, bLow] = halves(b);
  const lost = aHigh * bHigh - product + aHigh * bLow + aLow * bHigh + aLow * bLow;
  const sum = product + c;
  const part = sum - product;
  return sum + (product - (sum - part) + (c - part) + lost);
}

function halves(x: number): [number, number] {
  const scaled = 134217729 * x;
  const high = scaled - (scaled - x);
  return [high, x - high];
}
