/** @file Functions of one element as numbers: what a padded lane holds behind an activation. */
import type { OpContext } from "../op.ts";
import { roundHalfEven } from "./number.ts";

export interface Curve {
  /** Undefined where the value is not worth computing: it is then only known to be finite. */
  readonly at: (x: number, context: OpContext) => number | undefined;
  /** Whether some finite number is taken to NaN or infinity, or into it by overflow. */
  readonly leavesFinite?: true;
  /** Whether infinities of both signs are taken to numbers. */
  readonly isBounded?: true;
}

function of(at: Curve["at"]): Curve {
  return { at };
}

function partial(at: Curve["at"]): Curve {
  return { at, leavesFinite: true };
}

function saturating(at: Curve["at"]): Curve {
  return { at, isBounded: true };
}

function parameter(context: OpContext, name: string, fallback: number): number {
  return context.float(name) ?? fallback;
}

function sigmoid(x: number): number {
  return 1 / (1 + Math.exp(-x));
}

/** Straight above 0, a saturating exponential below. */
function exponentialBelow(alpha: number, scale: number, slope = 1) {
  return (x: number) => (x > 0 ? slope * x : alpha * Math.expm1(x / scale));
}

function hardSigmoid(x: number, alpha: number, beta: number): number {
  return Math.max(0, Math.min(1, alpha * x + beta));
}

/** 0 at 0; elsewhere finite. */
const zeroAt = (x: number) => (x === 0 ? 0 : undefined);
const zeroAtZero = of(zeroAt);

/** Defaults are the operators' own. */
export const curves = {
  Abs: of(Math.abs),
  Acos: partial(Math.acos),
  Acosh: partial(Math.acosh),
  Asin: partial(Math.asin),
  Asinh: of(Math.asinh),
  Atan: saturating(Math.atan),
  Atanh: partial(Math.atanh),
  Ceil: of(Math.ceil),
  // A negative alpha makes an exponential of it that grows.
  Celu: partial((x, context) => {
    const alpha = parameter(context, "alpha", 1);
    return exponentialBelow(alpha, alpha)(x);
  }),
  Cos: of(Math.cos),
  Cosh: partial(Math.cosh),
  Elu: of((x, context) => exponentialBelow(parameter(context, "alpha", 1), 1)(x)),
  Erf: saturating(zeroAt),
  Exp: partial(Math.exp),
  Floor: of(Math.floor),
  Gelu: zeroAtZero,
  HardSigmoid: saturating((x, context) =>
    hardSigmoid(x, parameter(context, "alpha", 0.2), parameter(context, "beta", 0.5)),
  ),
  HardSwish: of((x) => x * hardSigmoid(x, 1 / 6, 0.5)),
  IsInf: saturating(() => 0),
  IsNaN: saturating(() => 0),
  LeakyRelu: of((x, context) => (x < 0 ? parameter(context, "alpha", 0.01) * x : x)),
  Log: partial(Math.log),
  Mish: zeroAtZero,
  Neg: of((x) => -x),
  Not: saturating((x) => (x === 0 ? 1 : 0)),
  Reciprocal: partial((x) => 1 / x),
  Relu: of((x) => Math.max(x, 0)),
  Round: of(roundHalfEven),
  Selu: of((x, context) => {
    const gamma = parameter(context, "gamma", 1.0507010221481323);
    return exponentialBelow(gamma * parameter(context, "alpha", 1.6732631921768188), 1, gamma)(x);
  }),
  Shrink: of((x, context) => {
    const [bias, lambda] = [parameter(context, "bias", 0), parameter(context, "lambd", 0.5)];
    if (x < -lambda) return x + bias;
    return x > lambda ? x - bias : 0;
  }),
  Sigmoid: saturating(sigmoid),
  Sign: saturating(Math.sign),
  Sin: of(Math.sin),
  Sinh: partial(Math.sinh),
  Softplus: of((x) => Math.log1p(Math.exp(x))),
  Softsign: saturating((x) => x / (1 + Math.abs(x))),
  Sqrt: partial(Math.sqrt),
  Swish: of((x, context) => x * sigmoid(parameter(context, "alpha", 1) * x)),
  Tan: partial(Math.tan),
  Tanh: saturating(Math.tanh),
  ThresholdedRelu: of((x, context) => (x > parameter(context, "alpha", 1) ? x : 0)),
  BitwiseNot: of((x) => -1 - x),
} as const satisfies Record<string, Curve>;

export type UnaryType = keyof typeof curves;

/** Keys of a table, as its own type has them. */
export function keysOf<K extends string>(table: Readonly<Record<K, unknown>>): K[] {
  const keys: K[] = [];
  for (const key in table) keys.push(key);
  return keys;
}
