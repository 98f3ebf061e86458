/** @file Functions of one element as numbers: what a padded lane holds behind an activation. */

import { type Activation, activations, numberAlgebra } from "../../ir/activations.ts";
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

const numbers = numberAlgebra((x) => (x === 0 ? 0 : Number.NaN));

/** An activation's curve, with the attributes that are its parameters. */
function activation({ formula, defaults, isBounded }: Activation, ...attributes: readonly string[]): Curve {
  const at: Curve["at"] = (x, context) => {
    const [a, b] = defaults.map((value, index) => context.float(attributes[index] ?? "") ?? value);
    return formula(numbers, x, a ?? 0, b ?? 0);
  };
  return isBounded ? saturating(at) : of(at);
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
  Celu: { ...activation(activations.Celu, "alpha"), leavesFinite: true },
  Cos: of(Math.cos),
  Cosh: partial(Math.cosh),
  Elu: activation(activations.Elu, "alpha"),
  Erf: saturating(zeroAt),
  Exp: partial(Math.exp),
  Floor: of(Math.floor),
  Gelu: zeroAtZero,
  HardSigmoid: activation(activations.HardSigmoid, "alpha", "beta"),
  HardSwish: activation(activations.HardSwish),
  IsInf: saturating(() => 0),
  IsNaN: saturating(() => 0),
  LeakyRelu: activation(activations.LeakyRelu, "alpha"),
  Log: partial(Math.log),
  Mish: zeroAtZero,
  Neg: of((x) => -x),
  Not: saturating((x) => (x === 0 ? 1 : 0)),
  Reciprocal: partial((x) => 1 / x),
  Relu: activation(activations.Relu),
  Round: of(roundHalfEven),
  Selu: activation(activations.Selu, "alpha", "gamma"),
  Shrink: activation(activations.Shrink, "bias", "lambd"),
  Sigmoid: activation(activations.Sigmoid),
  Sign: saturating(Math.sign),
  Sin: of(Math.sin),
  Sinh: partial(Math.sinh),
  Softplus: activation(activations.Softplus),
  Softsign: activation(activations.Softsign),
  Sqrt: partial(Math.sqrt),
  Swish: activation(activations.Swish, "alpha"),
  Tan: partial(Math.tan),
  Tanh: activation(activations.Tanh),
  ThresholdedRelu: activation(activations.ThresholdedRelu, "alpha"),
  BitwiseNot: of((x) => -1 - x),
} as const satisfies Record<string, Curve>;

export type UnaryType = keyof typeof curves;

/** Keys of a table, as its own type has them. */
export function keysOf<K extends string>(table: Readonly<Record<K, unknown>>): K[] {
  const keys: K[] = [];
  for (const key in table) keys.push(key);
  return keys;
}
