/** @file Activations of ai.onnx and com.microsoft. */

import type { Expr } from "../ir/expr.ts";
import { add, binary, compare, divide, like, load, multiply, select, unary } from "../ir/expr-build.ts";
import { elementCount, sliced } from "../ir/view.ts";
import type { Lower, LowerContext, LowerTable } from "./context.ts";
import { argument, elementwise, onOne, onTwo, operand, setResult } from "./elementwise-operands.ts";

function parameter(context: LowerContext, name: string, fallback: number): number {
  return context.float(name) ?? fallback;
}

function scaled(x: Expr, factor: number): Expr {
  return multiply(x, like(x, factor));
}

function shifted(x: Expr, distance: number): Expr {
  return add(x, like(x, distance));
}

function isBelow(x: Expr, limit: number): Expr {
  return compare("lt", x, like(x, limit));
}

function clamped(x: Expr, low: number, high: number): Expr {
  return binary("min", binary("max", x, like(x, low)), like(x, high));
}

/** e^x - 1. */
function expMinusOne(x: Expr): Expr {
  return shifted(unary("exp", x), -1);
}

function hardSigmoid(x: Expr, alpha: number, beta: number): Expr {
  return clamped(shifted(scaled(x, alpha), beta), 0, 1);
}

/** max(x, 0) + log(1 + t), t = e^-|x|; the logarithm's lost digits of t are put back. */
function softplus(x: Expr): Expr {
  const t = unary("exp", unary("neg", unary("abs", x)));
  const u = shifted(t, 1);
  const kept = shifted(u, -1);
  const corrected = multiply(unary("log", u), divide(t, kept));
  const tail = select(compare("eq", kept, like(kept, 0)), t, corrected);
  return add(binary("max", x, like(x, 0)), tail);
}

export function swish(x: Expr, alpha: number): Expr {
  return multiply(x, unary("sigmoid", scaled(x, alpha)));
}

/** x tanh(softplus(x)) = x n/(n + 2), n = e^x (e^x + 2). */
function mish(x: Expr): Expr {
  const power = unary("exp", binary("min", x, like(x, 20)));
  const n = multiply(power, shifted(power, 2));
  return multiply(x, divide(n, shifted(n, 2)));
}

export function gelu(x: Expr): Expr {
  const erf = unary("erf", scaled(x, Math.SQRT1_2));
  return multiply(scaled(x, 0.5), shifted(erf, 1));
}

export function geluTanh(x: Expr): Expr {
  const cube = multiply(multiply(x, x), x);
  const inner = scaled(add(x, scaled(cube, 0.044715)), Math.sqrt(2 / Math.PI));
  return multiply(scaled(x, 0.5), shifted(unary("tanh", inner), 1));
}

function celu(x: Expr, alpha: number): Expr {
  const below = scaled(expMinusOne(divide(x, like(x, alpha))), alpha);
  return add(binary("max", x, like(x, 0)), binary("min", below, like(x, 0)));
}

function shrink(x: Expr, bias: number, lambda: number): Expr {
  const above = select(compare("gt", x, like(x, lambda)), shifted(x, -bias), like(x, 0));
  return select(isBelow(x, -lambda), shifted(x, bias), above);
}

const approximateGelu = onOne((x, context) => {
  const approximate = context.string("approximate") ?? "none";
  if (approximate === "tanh") return geluTanh(x);
  return approximate === "none" ? gelu(x) : context.fail(`approximate is "${approximate}"`);
});

/** An optional bias is added first. */
const fastGelu = elementwise((args, context) => {
  const x = argument(args, 0, context);
  const bias = args[1];
  return geluTanh(bias === undefined ? x : add(x, bias));
});

/** X + bias; the first half of the last axis times the gelu of the second. */
const biasSplitGelu: Lower = (context) => {
  const shape = context.outputShape(0);
  const last = shape.length - 1;
  const width = shape[last] ?? 0;
  const half = (index: number, start: number) => {
    const view = context.input(index);
    return load(sliced(view, view.shape.length - 1, start, width));
  };
  if (elementCount(context.inputShape(1)) !== 2 * width) context.fail("has a bias that is not one a column");
  const value = add(half(0, 0), half(1, 0));
  const gate = add(half(0, width), half(1, width));
  setResult(context, multiply(value, gelu(gate)));
};

/** Neither trains: elements are kept. Bias, then residual, are optional inputs. */
const biasDropout: Lower = (context) => {
  const isTrained = context.hasInput(4) && context.knownElements(4)[0] !== 0;
  const ratio = isTrained && context.hasInput(3) ? context.knownElements(3)[0] : undefined;
  if (isTrained && ratio !== 0) context.fail("drops elements at random, as in training");
  if (context.hasOutput(1)) setResult(context, { kind: "constant", type: "bool", value: 1 }, 1);
  const sum = add(operand(context, 0), operand(context, 1));
  setResult(context, context.hasInput(2) ? add(sum, operand(context, 2)) : sum);
};

/** scale x + bias[channel]: of ONNX before 1.5. */
const imageScaler = onOne((x, context) => {
  const shape = context.inputShape(0);
  const bias = context.floats("bias") ?? [];
  const channels = shape[1] ?? 1;
  if (bias.length !== channels) return context.fail(`has ${bias.length} biases for ${channels} channels`);
  const list = context.constant("float32", [channels, ...shape.slice(2).map(() => 1)], bias);
  return add(scaled(x, parameter(context, "scale", 1)), load(list));
});

/** Attributes' defaults are the operators' own. */
export const activationLowerings: LowerTable = {
  Celu: onOne((x, context) => celu(x, parameter(context, "alpha", 1))),
  Elu: onOne((x, context) =>
    select(isBelow(x, 0), scaled(expMinusOne(x), parameter(context, "alpha", 1)), x),
  ),
  Gelu: approximateGelu,
  HardSigmoid: onOne((x, context) =>
    hardSigmoid(x, parameter(context, "alpha", 0.2), parameter(context, "beta", 0.5)),
  ),
  HardSwish: onOne((x) => multiply(x, hardSigmoid(x, 1 / 6, 0.5))),
  LeakyRelu: onOne((x, context) => select(isBelow(x, 0), scaled(x, parameter(context, "alpha", 0.01)), x)),
  Mish: onOne(mish),
  Relu: onOne((x) => binary("max", x, like(x, 0))),
  Selu: onOne((x, context) => {
    const gamma = parameter(context, "gamma", 1.0507010221481323);
    const alpha = parameter(context, "alpha", 1.6732631921768188);
    return select(isBelow(x, 0), scaled(expMinusOne(x), gamma * alpha), scaled(x, gamma));
  }),
  Shrink: onOne((x, context) => shrink(x, parameter(context, "bias", 0), parameter(context, "lambd", 0.5))),
  Sigmoid: onOne((x) => unary("sigmoid", x)),
  Softplus: onOne(softplus),
  Softsign: onOne((x) => divide(x, shifted(unary("abs", x), 1))),
  Swish: onOne((x, context) => swish(x, parameter(context, "alpha", 1))),
  SwiGLU: onTwo((gate, value, context) => multiply(swish(gate, parameter(context, "alpha", 1)), value)),
  Tanh: onOne((x) => unary("tanh", x)),
  ThresholdedRelu: onOne((x, context) => {
    const alpha = parameter(context, "alpha", 1);
    return select(compare("gt", x, like(x, alpha)), x, like(x, 0));
  }),
  ImageScaler: imageScaler,
  "com.microsoft::BiasAdd": elementwise((args, context) =>
    args.slice(1).reduce((sum, arg) => add(sum, arg), argument(args, 0, context)),
  ),
  "com.microsoft::BiasGelu": onTwo((x, bias) => gelu(add(x, bias))),
  "com.microsoft::BiasDropout": biasDropout,
  "com.microsoft::FastGelu": fastGelu,
  "com.microsoft::Gelu": onOne((x) => gelu(x)),
  "com.microsoft::QuickGelu": onOne((x, context) => swish(x, parameter(context, "alpha", 1.702))),
};

/** Not element by element of whole inputs: they read parts of them. */
export const splitActivationLowerings: LowerTable = {
  "com.microsoft::BiasSplitGelu": biasSplitGelu,
};
