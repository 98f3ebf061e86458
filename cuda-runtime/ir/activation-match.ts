/** @file Which activation an expression of one number is, by its values: exporters write each of them in many ways. */
import { activations, type Activation as Curve, numberAlgebra } from "../../src/ir/activations.ts";

import { type Activation, type ActivationKind, noActivation } from "./epilogue.ts";
import type { Expr } from "./expr.ts";
import { evaluateExpr } from "./expr-evaluate.ts";
import { erfValue, narrowValue } from "./expr-value.ts";

const numbers = numberAlgebra(erfValue);

/** As kernels/common/activation.cuh computes them. */
const formulas: Readonly<Record<ActivationKind, Curve | undefined>> = {
  none: undefined,
  relu: activations.Relu,
  clip: activations.Clip,
  leakyRelu: activations.LeakyRelu,
  sigmoid: activations.Sigmoid,
  tanh: activations.Tanh,
  silu: activations.Swish,
  gelu: activations.Gelu,
  geluTanh: activations.GeluTanh,
  hardSigmoid: activations.HardSigmoid,
  hardSwish: activations.HardSwish,
  elu: activations.Elu,
  softplus: activations.Softplus,
  affine: activations.Affine,
};

function valueAt(kind: ActivationKind, x: number, a: number, b: number): number {
  const curve = formulas[kind];
  return curve === undefined ? x : curve.formula(numbers, x, a, b);
}

/** Odd numbers on purpose: no formula changes its branch at one of them. */
const samples = [
  -61.3, -17.9, -6.71, -4.37, -3.19, -2.41, -1.57, -0.93, -0.41, -0.113, -0.0071, 0.0053, 0.127, 0.37, 0.89,
  1.43, 2.29, 3.41, 4.93, 6.31, 11.7, 43.1,
];

/** Values of a and b that the formula must have, if it is that formula at all. */
const guesses: Readonly<
  Record<ActivationKind, (f: (x: number) => number) => readonly (readonly [number, number])[]>
> = {
  none: () => [[0, 0]],
  relu: () => [[0, 0]],
  clip: (f) => [[f(-1e30), f(1e30)]],
  leakyRelu: (f) => [[-f(-1), 0]],
  sigmoid: () => [[0, 0]],
  tanh: () => [[0, 0]],
  silu: (f) => [
    [1, 0],
    [1.702, 0],
    [Math.log(f(1) / (1 - f(1))), 0],
  ],
  gelu: () => [[0, 0]],
  geluTanh: () => [[0, 0]],
  hardSigmoid: (f) => [[f(0.5) - f(0) === 0 ? Number.NaN : (f(0.5) - f(0)) * 2, f(0)]],
  hardSwish: (f) => {
    const b = f(1e-4) * 1e4;
    const a = (f(0.5) * 2 - f(0.25) * 4) * 4;
    return [
      [1 / 6, 0.5],
      [a, b],
    ];
  },
  elu: (f) => [[f(-1) / Math.expm1(-1), 0]],
  softplus: () => [[0, 0]],
  affine: (f) => [[f(1) - f(0), f(0)]],
};

const preference: readonly ActivationKind[] = [
  "none",
  "relu",
  "clip",
  "affine",
  "leakyRelu",
  "sigmoid",
  "tanh",
  "silu",
  "gelu",
  "geluTanh",
  "hardSigmoid",
  "hardSwish",
  "elu",
  "softplus",
];

/** The activation that `expr` is as a function of `leaf`, every other leaf being a constant; undefined for none of them. */
export function matchActivation(expr: Expr, leaf: Expr): Activation | undefined {
  if (expr === leaf) return noActivation;
  const f = (x: number) =>
    evaluateExpr(expr, (at) => {
      if (at === leaf) return x;
      if (at.kind === "constant") return meantBy(at);
      return Number.NaN;
    });
  const values = samples.map(f);
  if (values.some((value) => Number.isNaN(value))) return undefined;
  for (const kind of preference) {
    for (const [a, b] of guesses[kind](f)) {
      if (Number.isNaN(a) || Number.isNaN(b)) continue;
      if (samples.every((x, index) => isClose(values[index] ?? Number.NaN, valueAt(kind, x, a, b), x))) {
        return { kind, a, b };
      }
    }
  }
  return undefined;
}

/** Numbers of formulas that no half is: a model in half precision holds what they round to. */
const unrounded = [Math.SQRT2, Math.SQRT1_2, Math.sqrt(2 / Math.PI), 0.044715];

function meantBy({ value, storedAs }: Expr & { readonly kind: "constant" }): number {
  const isRounded = (exact: number) => storedAs !== undefined && narrowValue(storedAs, exact) === value;
  return unrounded.find(isRounded) ?? value;
}

/** Constants and arithmetic of a model are FP32: 1 + erf(x) is only as exact as 1 is. */
function isClose(a: number, b: number, x: number): boolean {
  return Math.abs(a - b) <= 2e-6 * Math.max(Math.abs(a), Math.abs(b)) + 3e-7 * Math.max(1, Math.abs(x));
}
