/**
 * @file Activations, each as one formula over whatever can be computed with: numbers, where padding asks what a lane holds
 * and an epilogue is recognised by its values; expressions of a kernel, where one is written. Defaults of parameters are
 * those of the operators of these names.
 */

/** What a formula is computed with. `Value` is a number, or an expression of one. */
export interface Algebra<Value> {
  /** A constant beside `like`, of its type. */
  constant(like: Value, value: number): Value;
  add(a: Value, b: Value): Value;
  multiply(a: Value, b: Value): Value;
  divide(a: Value, b: Value): Value;
  min(a: Value, b: Value): Value;
  max(a: Value, b: Value): Value;
  abs(x: Value): Value;
  neg(x: Value): Value;
  exp(x: Value): Value;
  log(x: Value): Value;
  tanh(x: Value): Value;
  sigmoid(x: Value): Value;
  erf(x: Value): Value;
  /** `then` where x is below (above) the limit. */
  below(x: Value, limit: number, then: Value, otherwise: Value): Value;
  above(x: Value, limit: number, then: Value, otherwise: Value): Value;
  /** `then` where x is 0. */
  ifZero(x: Value, then: Value, otherwise: Value): Value;
}

/** The parameters a and b of a formula: alpha and beta, or what an operator has instead. */
type Formula = <Value>(m: Algebra<Value>, x: Value, a: number, b: number) => Value;

export interface Activation {
  readonly formula: Formula;
  /** One for each parameter there is: what it is where the operator's attributes leave it out. */
  readonly defaults: readonly number[];
  /** Whether 0 stays 0, whatever the parameters are. */
  readonly keepsZero: boolean;
  /** Whether infinities of both signs are taken to numbers. */
  readonly isBounded: boolean;
}

function scaled<Value>(m: Algebra<Value>, x: Value, factor: number): Value {
  return m.multiply(x, m.constant(x, factor));
}

function shifted<Value>(m: Algebra<Value>, x: Value, distance: number): Value {
  return m.add(x, m.constant(x, distance));
}

function clamped<Value>(m: Algebra<Value>, x: Value, low: number, high: number): Value {
  return m.min(m.max(x, m.constant(x, low)), m.constant(x, high));
}

/** e^x − 1. */
function expMinusOne<Value>(m: Algebra<Value>, x: Value): Value {
  return shifted(m, m.exp(x), -1);
}

const elu: Formula = (m, x, a) => m.below(x, 0, scaled(m, expMinusOne(m, x), a), x);

const celu: Formula = (m, x, a) => {
  const below = scaled(m, expMinusOne(m, m.divide(x, m.constant(x, a))), a);
  return m.add(m.max(x, m.constant(x, 0)), m.min(below, m.constant(x, 0)));
};

/** a: alpha, b: gamma. */
const selu: Formula = (m, x, a, b) => m.below(x, 0, scaled(m, expMinusOne(m, x), b * a), scaled(m, x, b));

const gelu: Formula = (m, x) =>
  m.multiply(scaled(m, x, 0.5), shifted(m, m.erf(scaled(m, x, Math.SQRT1_2)), 1));

/** x/2 (1 + tanh(√(2/π) (x + 0.044715 x³))) */
const geluTanh: Formula = (m, x) => {
  const cube = m.multiply(m.multiply(x, x), x);
  const inner = scaled(m, m.add(x, scaled(m, cube, 0.044715)), Math.sqrt(2 / Math.PI));
  return m.multiply(scaled(m, x, 0.5), shifted(m, m.tanh(inner), 1));
};

const hardSigmoid: Formula = (m, x, a, b) => clamped(m, shifted(m, scaled(m, x, a), b), 0, 1);

/** x tanh(softplus(x)) = x n/(n + 2), n = e^x (e^x + 2). */
const mish: Formula = (m, x) => {
  const power = m.exp(m.min(x, m.constant(x, 20)));
  const n = m.multiply(power, shifted(m, power, 2));
  return m.multiply(x, m.divide(n, shifted(m, n, 2)));
};

/** a: bias, b: lambd. */
const shrink: Formula = (m, x, a, b) =>
  m.below(x, -b, shifted(m, x, a), m.above(x, b, shifted(m, x, -a), m.constant(x, 0)));

/** max(x, 0) + log(1 + t), t = e^−|x|; the logarithm's lost digits of t are put back. */
const softplus: Formula = (m, x) => {
  const t = m.exp(m.neg(m.abs(x)));
  const u = shifted(m, t, 1);
  const kept = shifted(m, u, -1);
  const corrected = m.multiply(m.log(u), m.divide(t, kept));
  return m.add(m.max(x, m.constant(x, 0)), m.ifZero(kept, t, corrected));
};

const swish: Formula = (m, x, a) => m.multiply(x, m.sigmoid(scaled(m, x, a)));

function activation(
  formula: Formula,
  { defaults = [], keepsZero = true, isBounded = false }: Partial<Omit<Activation, "formula">> = {},
): Activation {
  return { formula, defaults, keepsZero, isBounded };
}

/** By the names of operators; those that are none of ai.onnx by the names that recurrent and fused operators use. */
export const activations = {
  Affine: activation((m, x, a, b) => shifted(m, scaled(m, x, a), b), { defaults: [1, 0], keepsZero: false }),
  Celu: activation(celu, { defaults: [1] }),
  /** a: min, b: max. */
  Clip: activation((m, x, a, b) => clamped(m, x, a, b), {
    defaults: [Number.NEGATIVE_INFINITY, Number.POSITIVE_INFINITY],
    keepsZero: false,
    isBounded: true,
  }),
  Elu: activation(elu, { defaults: [1] }),
  Gelu: activation(gelu),
  GeluTanh: activation(geluTanh),
  HardSigmoid: activation(hardSigmoid, { defaults: [0.2, 0.5], keepsZero: false, isBounded: true }),
  HardSwish: activation((m, x, a, b) => m.multiply(x, hardSigmoid(m, x, a, b)), { defaults: [1 / 6, 0.5] }),
  LeakyRelu: activation((m, x, a) => m.below(x, 0, scaled(m, x, a), x), { defaults: [0.01] }),
  Mish: activation(mish),
  Relu: activation((m, x) => m.max(x, m.constant(x, 0))),
  ScaledTanh: activation((m, x, a, b) => scaled(m, m.tanh(scaled(m, x, b)), a), {
    defaults: [1, 1],
    isBounded: true,
  }),
  Selu: activation(selu, { defaults: [1.6732631921768188, 1.0507010221481323] }),
  Shrink: activation(shrink, { defaults: [0, 0.5] }),
  Sigmoid: activation((m, x) => m.sigmoid(x), { keepsZero: false, isBounded: true }),
  Softplus: activation(softplus, { keepsZero: false }),
  Softsign: activation((m, x) => m.divide(x, shifted(m, m.abs(x), 1)), { isBounded: true }),
  Swish: activation(swish, { defaults: [1] }),
  Tanh: activation((m, x) => m.tanh(x), { isBounded: true }),
  ThresholdedRelu: activation((m, x, a) => m.above(x, a, x, m.constant(x, 0)), { defaults: [1] }),
} as const satisfies Readonly<Record<string, Activation>>;

export type ActivationName = keyof typeof activations;

export function isActivation(name: string): name is ActivationName {
  return Object.hasOwn(activations, name);
}

/** Computes in doubles. An erf that is 0 at 0 and else not computed will do where only that is asked. */
export function numberAlgebra(erf: (x: number) => number): Algebra<number> {
  return {
    constant: (_, value) => value,
    add: (a, b) => a + b,
    multiply: (a, b) => a * b,
    divide: (a, b) => a / b,
    min: Math.min,
    max: Math.max,
    abs: Math.abs,
    neg: (x) => -x,
    exp: Math.exp,
    log: Math.log,
    tanh: Math.tanh,
    sigmoid: (x) => 1 / (1 + Math.exp(-x)),
    erf,
    below: (x, limit, then, otherwise) => (x < limit ? then : otherwise),
    above: (x, limit, then, otherwise) => (x > limit ? then : otherwise),
    ifZero: (x, then, otherwise) => (x === 0 ? then : otherwise),
  };
}
