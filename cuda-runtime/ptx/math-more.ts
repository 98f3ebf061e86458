/** @file erf, powers and remainders, for either width. */
import type { FloatMachine } from "./machine.ts";
import { expOf, logInTwo, polynomial } from "./math-exp.ts";

/** erf(x)/x in x², 0 ≤ x ≤ 1: minimax, error 1.2e-9. */
const erfNear = [
  1.1283791659137692, -0.3761262713609394, 0.11283600177744327, -0.02685444465538424, 0.005189535461961234,
  -0.0008020842371274432, 0.00007889123173561052,
];

/** log2(erfc(x)), 0.95 ≤ x ≤ 4.05: minimax for the error of erf, 1.3e-9. Beyond, erf is 1 in 32 bits. */
const erfcExponent = [
  -0.00036997753670006125, -1.626532004003843, -0.9198624473340146, -0.14941541183449172, 0.03181429280510654,
  -0.004327418790361161, 0.00027628168482855,
];

/** (1 + 2 x) erfc(x) e^(x²) in (x - 3)/(x + 3), x ≥ 0.53: Chebyshev, error 2.5e-15. */
const scaledErfc = [
  1.2530080582697272, -0.1356211061245979, -0.047562294352710886, 0.12964515870437154, -0.11927366345265077,
  0.06830802730226047, -0.02377051418503627, 0.0025293922437701613, 0.0018886830496504991,
  -0.0007798339697980373, -0.0001051183005658943, 0.00012509825246789945, 0.00000480858446250522,
  -0.00002006859648823795, -4.45093720978038e-7, 0.0000033628917740609195, 2.5285327049106185e-8,
  -4.5302197831574063e-7, 4.949259469133997e-8,
];

export function erf<V, P>(m: FloatMachine<V, P>, x: V): V {
  const size = m.abs(x);
  const z = m.mul(x, x);
  if (m.bits === 64) return erfInDouble(m, x, size, z);
  const near = m.mul(x, polynomial(m, z, erfNear));
  const bounded = m.select(m.lt(m.constant(4.05), size), m.constant(4.05), size);
  const far = m.sub(m.constant(1), m.exp2(polynomial(m, bounded, erfcExponent)));
  return m.select(m.lt(m.constant(1), size), m.copySign(far, x), near);
}

function erfInDouble<V, P>(m: FloatMachine<V, P>, x: V, size: V, z: V): V {
  // 2/√π Σ (-1)^n x^(2n+1) / (n! (2n+1)), x ≤ 0.53.
  let factor = 2 / Math.sqrt(Math.PI);
  const series = Array.from({ length: 14 }, (_, n) => {
    if (n > 0) factor /= -n;
    return factor / (2 * n + 1);
  });
  const near = m.mul(x, polynomial(m, z, series));
  const bounded = m.select(m.lt(m.constant(27), size), m.constant(27), size);
  const three = m.constant(3);
  const u = m.div(m.sub(bounded, three), m.add(bounded, three));
  const square = m.mul(bounded, bounded);
  const lost = m.fma(bounded, bounded, m.neg(square));
  const decay = expOf(m, m.neg(square), m.neg(lost));
  const erfc = m.div(
    m.mul(polynomial(m, u, scaledErfc), decay),
    m.fma(bounded, m.constant(2), m.constant(1)),
  );
  const far = m.copySign(m.sub(m.constant(1), erfc), x);
  return m.select(m.lt(m.constant(0.53), size), far, near);
}

/** Whole results below this are exact: the error of the power is far below ½. */
const exactWhole = { 32: 2 ** 20, 64: 2 ** 44 } as const;

/** As C's pow. */
export function power<V, P>(m: FloatMachine<V, P>, base: V, exponent: V): V {
  const zero = m.constant(0);
  const one = m.constant(1);
  const infinity = m.constant(Number.POSITIVE_INFINITY);
  const size = m.abs(base);
  const isWhole = m.eq(m.trunc(exponent), exponent);
  const magnitude = powerOfSize(m, size, exponent);
  const isExact = m.and(
    m.and(isWhole, m.eq(m.trunc(base), base)),
    m.and(m.lt(magnitude, m.constant(exactWhole[m.bits])), m.le(zero, exponent)),
  );
  const rounded = m.select(isExact, m.rint(magnitude), magnitude);
  const half = m.mul(exponent, m.constant(0.5));
  const isFiniteExponent = m.lt(m.abs(exponent), infinity);
  const isOdd = m.and(m.and(isWhole, isFiniteExponent), m.not(m.eq(m.trunc(half), half)));
  const signed = m.select(isOdd, m.copySign(rounded, base), rounded);
  // A negative finite base needs a whole exponent. An infinite exponent is whole.
  const isNegative = m.and(m.lt(base, zero), m.lt(size, infinity));
  const isNone = m.and(m.and(isNegative, m.not(isWhole)), isFiniteExponent);
  const result = m.select(isNone, m.constant(Number.NaN), signed);
  const unitToInfinity = m.and(m.eq(size, one), m.not(isFiniteExponent));
  const isUnit = m.and(unitToInfinity, m.eq(exponent, exponent));
  const isOne = m.or(m.or(m.eq(base, one), m.eq(exponent, zero)), isUnit);
  return m.select(isOne, one, result);
}

/** size^exponent for size ≥ 0, as e^(exponent log(size)) with the logarithm in two numbers. */
function powerOfSize<V, P>(m: FloatMachine<V, P>, size: V, exponent: V): V {
  const infinity = m.constant(Number.POSITIVE_INFINITY);
  const log = logInTwo(m, size);
  const isPlain = m.and(m.lt(m.constant(0), size), m.lt(size, infinity));
  const minusInfinity = m.constant(Number.NEGATIVE_INFINITY);
  const special = m.select(m.eq(size, m.constant(0)), minusInfinity, size);
  const high = m.select(isPlain, log.high, special);
  const product = m.mul(exponent, high);
  const lost = m.fma(exponent, high, m.neg(product));
  const low = m.fma(exponent, log.low, lost);
  // Where the product overflows, its low part is no number.
  const isBounded = m.and(isPlain, m.lt(m.abs(product), m.constant(m.bits === 32 ? 200 : 1500)));
  return expOf(m, product, m.select(isBounded, low, m.constant(0)));
}

/** Quotient bits that one step of the remainder takes off. */
const stepBits = { 32: 20, 64: 49 } as const;
const exponentSpan = { 32: 278, 64: 2099 } as const;

/** C's fmod: exact, with the sign of the dividend. */
export function remainder<V, P>(m: FloatMachine<V, P>, a: V, b: V): V {
  const [size, divisor] = [m.abs(a), m.abs(b)];
  const infinity = m.constant(Number.POSITIVE_INFINITY);
  const bits = stepBits[m.bits];
  const ratio = m.div(size, divisor);
  const isFar = m.and(
    m.lt(m.constant(2 ** bits), ratio),
    m.and(m.lt(size, infinity), m.lt(m.constant(0), divisor)),
  );
  const near = stepOf(m, size, divisor);
  const rest = m.when(isFar, () => farRemainder(m, size, divisor), near);
  // Also where the divisor is infinite.
  const isSmaller = m.lt(size, divisor);
  return m.select(isSmaller, a, m.copySign(rest, a));
}

/** size mod divisor for a quotient below 2^bits: the quotient may come out one too large, and the rest negative. */
function stepOf<V, P>(m: FloatMachine<V, P>, size: V, divisor: V): V {
  const quotient = m.trunc(m.div(size, divisor));
  const rest = m.fma(m.neg(quotient), divisor, size);
  return m.select(m.lt(rest, m.constant(0)), m.add(rest, divisor), rest);
}

/** From the largest multiple of the divisor by a power of two that is representable down to the divisor itself. */
function farRemainder<V, P>(m: FloatMachine<V, P>, size: V, divisor: V): V {
  const bits = stepBits[m.bits];
  let rest = size;
  for (let shift = Math.ceil(exponentSpan[m.bits] / bits) * bits; shift >= 0; shift -= bits) {
    const scaled = timesPowerOfTwo(m, divisor, shift);
    const isReached = m.le(scaled, rest);
    rest = m.select(isReached, stepOf(m, rest, m.select(isReached, scaled, rest)), rest);
  }
  return rest;
}

/** In steps that are numbers of the width; infinite where it overflows. */
function timesPowerOfTwo<V, P>(m: FloatMachine<V, P>, value: V, exponent: number): V {
  const largest = m.bits === 32 ? 120 : 1000;
  let result = value;
  for (let left = exponent; left > 0; left -= largest) {
    result = m.mul(result, m.constant(2 ** Math.min(left, largest)));
  }
  return result;
}

/** With the sign of the divisor. */
export function floorRemainder<V, P>(m: FloatMachine<V, P>, a: V, b: V): V {
  const rest = remainder(m, a, b);
  const zero = m.constant(0);
  const differs = m.lt(m.mul(m.copySign(m.constant(1), rest), m.copySign(m.constant(1), b)), zero);
  const isZero = m.eq(rest, zero);
  return m.select(m.and(differs, m.not(isZero)), m.add(rest, b), rest);
}
