/** @file Circular functions and their inverses, for either width. */
import type { FloatMachine } from "./machine.ts";
import { polynomial } from "./math-exp.ts";

/** π/2 in three numbers of the width. */
const halfPi = {
  32: [1.5707963705062866, -4.371138828673793e-8, -1.7151245100058819e-15],
  64: [1.5707963267948966, 6.123233995736766e-17, -1.4973849048591698e-33],
} as const;

/** Above this, of 32 bits, the reduction by three numbers loses too much. */
const largestSimple = 1e5;

/** 1, -1/3!, 1/5! … or, from 0, 1, -1/2!, 1/4! … */
function alternating(first: 0 | 1, count: number): number[] {
  const terms = [1];
  for (let k = 1; k < count; k++) {
    const n = 2 * k + first;
    terms.push(-(terms[k - 1] ?? 1) / (n * (n - 1)));
  }
  return terms;
}

const seriesLength = { 32: 6, 64: 10 } as const;

interface Turn<V> {
  readonly sin: V;
  readonly cos: V;
  /** Quarter turns, 0 to 3. */
  readonly quarter: V;
}

function turnOf<V, P>(m: FloatMachine<V, P>, x: V): Turn<V> {
  const quarters = m.rint(m.mul(x, m.constant(2 / Math.PI)));
  const minus = m.neg(quarters);
  const r = halfPi[m.bits].reduce((rest: V, part) => m.fma(minus, m.constant(part), rest), x);
  const z = m.mul(r, r);
  const count = seriesLength[m.bits];
  const four = m.constant(4);
  const turns = m.floor(m.mul(quarters, m.constant(0.25)));
  const [, ...sinTail] = alternating(1, count);
  return {
    sin: m.fma(m.mul(r, z), polynomial(m, z, sinTail), r),
    cos: polynomial(m, z, alternating(0, count + 1)),
    quarter: m.fma(m.neg(turns), four, quarters),
  };
}

/** sin(x + quarters π/2) from the turn of x, 0 or 1 quarters. */
function fromTurn<V, P>(m: FloatMachine<V, P>, turn: Turn<V>, quarters: 0 | 1): V {
  const isAt = (value: number) => m.eq(turn.quarter, m.constant((value - quarters + 4) % 4));
  const value = m.select(m.or(isAt(1), isAt(3)), turn.cos, turn.sin);
  return m.select(m.or(isAt(2), isAt(3)), m.neg(value), value);
}

function tanFromTurn<V, P>(m: FloatMachine<V, P>, turn: Turn<V>): V {
  const isOdd = m.or(m.eq(turn.quarter, m.constant(1)), m.eq(turn.quarter, m.constant(3)));
  return m.div(m.select(isOdd, m.neg(turn.cos), turn.sin), m.select(isOdd, turn.sin, turn.cos));
}

type OfTurn = <V, P>(m: FloatMachine<V, P>, turn: Turn<V>) => V;

const ofTurn = {
  sin: (m, turn) => fromTurn(m, turn, 0),
  cos: (m, turn) => fromTurn(m, turn, 1),
  tan: tanFromTurn,
} as const satisfies Record<string, OfTurn>;

/** The largest exponent that a table is asked for: of the width, less 52 and plus 26. */
const largestExponent = { 32: 101, 64: 997 } as const;
const tables = new Map<32 | 64, readonly number[]>();

/** 2^i mod 2π. */
function turnsTable(bits: 32 | 64): readonly number[] {
  const known = tables.get(bits);
  if (known !== undefined) return known;
  const precision = 1200n;
  const twoPi = 2n * scaledPi(precision);
  const table = Array.from({ length: largestExponent[bits] + 1 }, (_, exponent) => {
    const rest = (1n << (BigInt(exponent) + precision)) % twoPi;
    // 80 bits are more than a double takes.
    return Number(rest >> (precision - 80n)) / 2 ** 80;
  });
  tables.set(bits, table);
  return table;
}

/** π 2^bits, by Machin's formula 16 atan(1/5) - 4 atan(1/239). */
function scaledPi(bits: bigint): bigint {
  const guard = 32n;
  const one = 1n << (bits + guard);
  const arctangent = (x: bigint): bigint => {
    let power = one / x;
    let sum = power;
    for (let n = 3n; power !== 0n; n += 2n) {
      power = -power / (x * x);
      sum += power / n;
    }
    return sum;
  };
  return (16n * arctangent(5n) - 4n * arctangent(239n)) >> guard;
}

/** A number from -4π to 4π, or so, at the same angle as x beyond 2^52: x = (h 2^26 + l) 2^e by table. */
function foldedTurns<V, P>(m: FloatMachine<V, P>, x: V, bits: 32 | 64): V {
  const limit = largestExponent[bits];
  const size = m.abs(x);
  const units = m.mul(m.mantissa(size), m.constant(2 ** 52));
  const high = m.floor(m.mul(units, m.constant(2 ** -26)));
  const low = m.fma(m.neg(high), m.constant(2 ** 26), units);
  const exponent = m.sub(m.exponent(size), m.constant(52));
  const bounded = (value: V) => {
    const atLeast = m.select(m.lt(value, m.constant(0)), m.constant(0), value);
    return m.select(m.lt(m.constant(limit), atLeast), m.constant(limit), atLeast);
  };
  const table = turnsTable(bits);
  const part = (value: V, shift: number) =>
    m.mul(value, m.lookup(table, bounded(m.add(exponent, m.constant(shift)))));
  const angle = m.add(part(high, 26), part(low, 0));
  return m.copySign(angle, x);
}

function circular<V, P>(m: FloatMachine<V, P>, x: V, name: keyof typeof ofTurn): V {
  const size = m.abs(x);
  const isBelow = m.lt(size, m.constant(Number.POSITIVE_INFINITY));
  const isAbove = (limit: number) => m.and(m.lt(m.constant(limit), size), isBelow);
  const { bits } = m;
  const simple = ofTurn[name](m, turnOf(m, x));
  if (bits === 64) {
    return m.when(isAbove(2 ** 52), () => ofTurn[name](m, turnOf(m, foldedTurns(m, x, 64))), simple);
  }
  const exact = () =>
    m.inDouble(x, (wide, y) => {
      const isHuge = wide.lt(wide.constant(2 ** 52), wide.abs(y));
      const angle = wide.select(isHuge, foldedTurns(wide, y, 32), y);
      return ofTurn[name](wide, turnOf(wide, angle));
    });
  return m.when(isAbove(largestSimple), exact, simple);
}

export function sin<V, P>(m: FloatMachine<V, P>, x: V): V {
  return circular(m, x, "sin");
}

export function cos<V, P>(m: FloatMachine<V, P>, x: V): V {
  return circular(m, x, "cos");
}

export function tan<V, P>(m: FloatMachine<V, P>, x: V): V {
  return circular(m, x, "tan");
}

/** By tan(π/8) and its inverse into |t| ≤ tan(π/8), then t - t³/3 + t⁵/5 … */
export function atan<V, P>(m: FloatMachine<V, P>, x: V): V {
  const size = m.abs(x);
  const [zero, one] = [m.constant(0), m.constant(1)];
  const isMiddle = m.lt(m.constant(Math.SQRT2 - 1), size);
  const isLarge = m.lt(m.constant(Math.SQRT2 + 1), size);
  const choose = (large: V, middle: V, small: V) =>
    m.select(isLarge, large, m.select(isMiddle, middle, small));
  const t = m.div(choose(m.constant(-1), m.sub(size, one), size), choose(size, m.add(size, one), one));
  const z = m.mul(t, t);
  const terms = Array.from(
    { length: m.bits === 32 ? 9 : 20 },
    (_, k) => (k % 2 === 0 ? -1 : 1) / (2 * k + 3),
  );
  const [high, low] = halfPi[m.bits];
  const baseHigh = choose(m.constant(high), m.constant(high / 2), zero);
  const baseLow = choose(m.constant(low), m.constant(low / 2), zero);
  const tail = m.fma(m.mul(z, t), polynomial(m, z, terms), baseLow);
  return m.copySign(m.add(baseHigh, m.add(t, tail)), x);
}

export function asin<V, P>(m: FloatMachine<V, P>, x: V): V {
  const one = m.constant(1);
  return atan(m, m.div(x, m.sqrt(m.mul(m.sub(one, x), m.add(one, x)))));
}

export function acos<V, P>(m: FloatMachine<V, P>, x: V): V {
  const one = m.constant(1);
  const ratio = m.div(m.sub(one, x), m.add(one, x));
  return m.mul(m.constant(2), atan(m, m.sqrt(ratio)));
}
