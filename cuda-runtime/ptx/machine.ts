/**
 * @file What functions of one float are written in (math.ts): by the emitter as PTX, by tests as JavaScript numbers.
 * All operations round once, to nearest; comparisons are false for NaN.
 */
export interface FloatMachine<V, P> {
  readonly bits: 32 | 64;
  constant(value: number): V;
  add(a: V, b: V): V;
  sub(a: V, b: V): V;
  mul(a: V, b: V): V;
  div(a: V, b: V): V;
  /** a b + c, rounded once. */
  fma(a: V, b: V, c: V): V;
  neg(a: V): V;
  abs(a: V): V;
  sqrt(a: V): V;
  floor(a: V): V;
  trunc(a: V): V;
  /** To the nearest whole number, ties to even. */
  rint(a: V): V;
  eq(a: V, b: V): P;
  lt(a: V, b: V): P;
  le(a: V, b: V): P;
  and(a: P, b: P): P;
  or(a: P, b: P): P;
  not(a: P): P;
  select(condition: P, whenTrue: V, whenFalse: V): V;
  copySign(size: V, sign: V): V;
  /** 2^x. Machines of 64 bits: |x| ≤ 0.51. Machines of 32: any x, results below the normal numbers are 0. */
  exp2(x: V): V;
  /** 2^n for whole n of normal exponents. */
  powerOfTwo(n: V): V;
  /** e and m of x = m 2^e, 1 ≤ m < 2, for positive normal x; finite for anything else. */
  exponent(x: V): V;
  mantissa(x: V): V;
  /** `then` runs only where the condition holds: for what is rare and slow. */
  when(condition: P, then: () => V, otherwise: V): V;
  /** In double precision. A machine of 64 bits runs it as it is. */
  inDouble(x: V, f: (machine: FloatMachine<V, P>, x: V) => V): V;
  /** The entry at a whole index in range. Machines of 64 bits only. */
  lookup(table: readonly number[], index: V): V;
}
