/** @file Exponentials, logarithms and what is made of them, for either width. */
import type { FloatMachine } from "./machine.ts";

/** Constants as two numbers of the width whose sum is more exact than one. */
const ln2 = {
  32: { high: Math.fround(Math.LN2), low: Math.LN2 - Math.fround(Math.LN2) },
  64: { high: Math.LN2, low: 2.3190468138462996e-17 },
} as const;

/** Beyond these exp is 0 or infinite, and its exponent still is the product of two normal powers. */
const expRange = { 32: [-110, 95], 64: [-750, 715] } as const;

/** c0 + c1 x + c2 x² + … */
export function polynomial<V, P>(m: FloatMachine<V, P>, x: V, coefficients: readonly number[]): V {
  const [last = 0, ...rest] = [...coefficients].reverse();
  return rest.reduce((sum, coefficient) => m.fma(sum, x, m.constant(coefficient)), m.constant(last));
}

/** Into a range; NaN stays. */
function clamp<V, P>(m: FloatMachine<V, P>, x: V, low: number, high: number): V {
  const atLeast = m.select(m.lt(x, m.constant(low)), m.constant(low), x);
  return m.select(m.lt(m.constant(high), atLeast), m.constant(high), atLeast);
}

/** 1/0!, 1/1!, 1/2! … */
function factorials(count: number): number[] {
  const terms = [1];
  for (let n = 1; n < count; n++) terms.push((terms[n - 1] ?? 1) / n);
  return terms;
}

/** 2^x for |x| ≤ 0.51 as a series: the 64-bit machine has no instruction for it. */
export function exp2Series<V, P>(m: FloatMachine<V, P>, x: V): V {
  return polynomial(m, m.mul(x, m.constant(Math.LN2)), factorials(15));
}

/** x = n ln 2 + r, |r| ≤ ln(2)/2. */
function reduceExp<V, P>(m: FloatMachine<V, P>, x: V): { n: V; rest: V } {
  const n = m.rint(m.mul(x, m.constant(Math.LOG2E)));
  const { high, low } = ln2[m.bits];
  const minusN = m.neg(n);
  return { n, rest: m.fma(minusN, m.constant(low), m.fma(minusN, m.constant(high), x)) };
}

/** e^(x + low) / 2^halvings. */
export function expOf<V, P>(m: FloatMachine<V, P>, x: V, low?: V, halvings = 0): V {
  const [lowest, highest] = expRange[m.bits];
  const { n, rest } = reduceExp(m, clamp(m, x, lowest, highest));
  const power = m.exp2(m.mul(low === undefined ? rest : m.add(rest, low), m.constant(Math.LOG2E)));
  const exponent = halvings === 0 ? n : m.sub(n, m.constant(halvings));
  // Two factors, as the exponent of the result may lie beyond the normal ones.
  const half = m.floor(m.mul(exponent, m.constant(0.5)));
  return m.mul(m.mul(power, m.powerOfTwo(half)), m.powerOfTwo(m.sub(exponent, half)));
}

/** e^x - 1 for 0 ≤ x up to 80, exact near 0. */
function expMinusOne<V, P>(m: FloatMachine<V, P>, x: V): V {
  const { n, rest } = reduceExp(m, x);
  const tail = polynomial(m, rest, factorials(m.bits === 32 ? 9 : 16).slice(2));
  const small = m.fma(m.mul(rest, rest), tail, rest);
  const scale = m.powerOfTwo(n);
  return m.fma(scale, small, m.sub(scale, m.constant(1)));
}

export function sigmoid<V, P>(m: FloatMachine<V, P>, x: V): V {
  return m.div(m.constant(1), m.add(m.constant(1), expOf(m, m.neg(x))));
}

export function tanh<V, P>(m: FloatMachine<V, P>, x: V): V {
  const twice = m.mul(clamp(m, m.abs(x), 0, 20), m.constant(2));
  const t = expMinusOne(m, twice);
  return m.copySign(m.div(t, m.add(t, m.constant(2))), x);
}

export function sinh<V, P>(m: FloatMachine<V, P>, x: V): V {
  const size = m.abs(x);
  const t = expMinusOne(m, clamp(m, size, 0, 40));
  const small = m.mul(m.constant(0.5), m.add(t, m.div(t, m.add(t, m.constant(1)))));
  const isSmall = m.lt(size, m.constant(30));
  return m.copySign(m.select(isSmall, small, expOf(m, size, undefined, 1)), x);
}

export function cosh<V, P>(m: FloatMachine<V, P>, x: V): V {
  const half = expOf(m, m.abs(x), undefined, 1);
  return m.add(half, m.div(m.constant(0.25), half));
}

const leastNormal = { 32: 2 ** -126, 64: 2 ** -1022 } as const;

/** x = m 2^e with √½ < m ≤ √2, for x > 0. */
function splitNumber<V, P>(m: FloatMachine<V, P>, x: V): { mantissa: V; exponent: V } {
  const lift = m.bits === 32 ? 32 : 64;
  const isTiny = m.lt(x, m.constant(leastNormal[m.bits]));
  const normal = m.select(isTiny, m.mul(x, m.constant(2 ** lift)), x);
  const mantissa = m.mantissa(normal);
  const exponent = m.sub(m.exponent(normal), m.select(isTiny, m.constant(lift), m.constant(0)));
  const isLarge = m.lt(m.constant(Math.SQRT2), mantissa);
  return {
    mantissa: m.select(isLarge, m.mul(mantissa, m.constant(0.5)), mantissa),
    exponent: m.select(isLarge, m.add(exponent, m.constant(1)), exponent),
  };
}

/** 2/3, 2/5, 2/7 …: log((1 + s) / (1 - s)) = 2 s + s (2/3 s² + 2/5 s⁴ + …), s² ≤ 0.0295. */
function logTerms(bits: 32 | 64): number[] {
  return Array.from({ length: bits === 32 ? 5 : 11 }, (_, k) => 2 / (2 * k + 3));
}

/** Right for what is not positive and finite, too. */
function logSpecial<V, P>(m: FloatMachine<V, P>, x: V, result: V): V {
  const infinity = m.constant(Number.POSITIVE_INFINITY);
  const finite = m.select(m.lt(x, infinity), result, x);
  const positive = m.select(m.eq(x, m.constant(0)), m.constant(Number.NEGATIVE_INFINITY), finite);
  return m.select(m.lt(x, m.constant(0)), m.constant(Number.NaN), positive);
}

export function log<V, P>(m: FloatMachine<V, P>, x: V): V {
  const { mantissa, exponent } = splitNumber(m, x);
  const f = m.sub(mantissa, m.constant(1));
  const s = m.div(f, m.add(f, m.constant(2)));
  const z = m.mul(s, s);
  const r = m.mul(z, polynomial(m, z, logTerms(m.bits)));
  // 2 s = f - s f, so that what is rounded is small beside f.
  const logMantissa = m.sub(f, m.mul(s, m.sub(f, r)));
  const { high, low } = ln2[m.bits];
  const lowSum = m.fma(exponent, m.constant(low), logMantissa);
  return logSpecial(m, x, m.fma(exponent, m.constant(high), lowSum));
}

/** log(x) as a sum of two numbers, for x > 0 and finite. */
export function logInTwo<V, P>(m: FloatMachine<V, P>, x: V): { high: V; low: V } {
  const { mantissa, exponent } = splitNumber(m, x);
  const one = m.constant(1);
  const f = m.sub(mantissa, one);
  const d = m.add(mantissa, one);
  const lostOfD = m.sub(mantissa, m.sub(d, one));
  const s = m.div(f, d);
  const missing = m.fma(m.neg(s), lostOfD, m.fma(m.neg(s), d, f));
  const lowOfS = m.div(missing, d);
  const z = m.mul(s, s);
  const series = m.mul(m.mul(z, s), polynomial(m, z, logTerms(m.bits)));
  const { high, low } = ln2[m.bits];
  const whole = m.mul(exponent, m.constant(high));
  const lostOfWhole = m.fma(exponent, m.constant(high), m.neg(whole));
  const twice = m.mul(s, m.constant(2));
  const sum = addInTwo(m, whole, twice);
  const rest = m.fma(exponent, m.constant(low), m.add(lostOfWhole, m.fma(lowOfS, m.constant(2), series)));
  const lowSum = m.add(sum.low, rest);
  const total = m.add(sum.high, lowSum);
  return { high: total, low: m.sub(lowSum, m.sub(total, sum.high)) };
}

/** a + b exactly, in any order of size. */
function addInTwo<V, P>(m: FloatMachine<V, P>, a: V, b: V): { high: V; low: V } {
  const high = m.add(a, b);
  const partOfB = m.sub(high, a);
  const low = m.add(m.sub(a, m.sub(high, partOfB)), m.sub(b, partOfB));
  return { high, low };
}

/** log(1 + x) for x > -1. */
function logOnePlus<V, P>(m: FloatMachine<V, P>, x: V): V {
  const one = m.constant(1);
  const u = m.add(one, x);
  const lost = m.div(m.sub(x, m.sub(u, one)), u);
  const isBelow = m.lt(x, m.constant(Number.POSITIVE_INFINITY));
  return m.select(isBelow, m.add(log(m, u), lost), x);
}

const beyondSquares = { 32: 2 ** 13, 64: 2 ** 28 } as const;

export function asinh<V, P>(m: FloatMachine<V, P>, x: V): V {
  const [size, one] = [m.abs(x), m.constant(1)];
  const isLarge = m.lt(m.constant(beyondSquares[m.bits]), size);
  const square = m.mul(size, size);
  const t = m.add(size, m.div(square, m.add(one, m.sqrt(m.add(one, square)))));
  const large = m.add(log(m, size), m.constant(Math.LN2));
  return m.copySign(m.select(isLarge, large, logOnePlus(m, t)), x);
}

export function acosh<V, P>(m: FloatMachine<V, P>, x: V): V {
  const one = m.constant(1);
  const isLarge = m.lt(m.constant(beyondSquares[m.bits]), x);
  const t = m.sub(x, one);
  const small = logOnePlus(m, m.add(t, m.sqrt(m.fma(t, t, m.mul(t, m.constant(2))))));
  const result = m.select(isLarge, m.add(log(m, x), m.constant(Math.LN2)), small);
  return m.select(m.lt(x, one), m.constant(Number.NaN), result);
}

export function atanh<V, P>(m: FloatMachine<V, P>, x: V): V {
  const size = m.abs(x);
  const ratio = m.div(m.mul(size, m.constant(2)), m.sub(m.constant(1), size));
  const result = m.mul(m.constant(0.5), logOnePlus(m, ratio));
  return m.copySign(m.select(m.lt(m.constant(1), size), m.constant(Number.NaN), result), x);
}
