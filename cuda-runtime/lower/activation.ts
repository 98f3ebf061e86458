/** @file Activations of ai.onnx and com.microsoft. */

import { type Activation, type ActivationName, activations } from "../../src/ir/activations.ts";
import { keysOf } from "../../src/ops/elementwise/curves.ts";
import type { Expr } from "../ir/expr.ts";
import { expressions } from "../ir/expr-algebra.ts";
import { add, like, load, multiply } from "../ir/expr-build.ts";
import { elementCount, sliced } from "../ir/view.ts";
import type { Lower, LowerTable } from "./context.ts";
import { argument, elementwise, onOne, onTwo, operand, setResult } from "./elementwise-operands.ts";

/** The activation as an expression, its parameters given or the operator's own. */
export function activated({ formula, defaults }: Activation, x: Expr, a?: number, b?: number): Expr {
  return formula(expressions, x, a ?? defaults[0] ?? 0, b ?? defaults[1] ?? 0);
}

/** By operators of the same name: the attributes that are the formula's parameters. */
const attributes = {
  Celu: ["alpha"],
  Elu: ["alpha"],
  HardSigmoid: ["alpha", "beta"],
  HardSwish: [],
  LeakyRelu: ["alpha"],
  Mish: [],
  Relu: [],
  Selu: ["alpha", "gamma"],
  Shrink: ["bias", "lambd"],
  Sigmoid: [],
  Softplus: [],
  Softsign: [],
  Swish: ["alpha"],
  Tanh: [],
  ThresholdedRelu: ["alpha"],
} as const satisfies Readonly<Partial<Record<ActivationName, readonly string[]>>>;

const plainActivations: LowerTable = Object.fromEntries(
  keysOf(attributes).map((name) => {
    const [a = "", b = ""]: readonly string[] = attributes[name];
    return [name, onOne((x, context) => activated(activations[name], x, context.float(a), context.float(b)))];
  }),
);

const approximateGelu = onOne((x, context) => {
  const approximate = context.string("approximate") ?? "none";
  if (approximate === "tanh") return activated(activations.GeluTanh, x);
  return approximate === "none"
    ? activated(activations.Gelu, x)
    : context.fail(`approximate is "${approximate}", expected "none" or "tanh"`);
});

/** An optional bias is added first. */
const fastGelu = elementwise((args, context) => {
  const x = argument(args, 0, context);
  const bias = args[1];
  return activated(activations.GeluTanh, bias === undefined ? x : add(x, bias));
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
  const biases = elementCount(context.inputShape(1));
  if (biases !== 2 * width) context.fail(`has a bias of ${biases} elements, expected ${2 * width}`);
  const value = add(half(0, 0), half(1, 0));
  const gate = add(half(0, width), half(1, width));
  setResult(context, multiply(value, activated(activations.Gelu, gate)));
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
  if (bias.length !== channels)
    return context.fail(`has ${bias.length} biases, expected one for each of ${channels} channels`);
  const list = context.constant("float32", [channels, ...shape.slice(2).map(() => 1)], bias);
  return add(multiply(x, like(x, context.float("scale") ?? 1)), load(list));
});

/** Attributes' defaults are the operators' own. */
export const activationLowerings: LowerTable = {
  ...plainActivations,
  Gelu: approximateGelu,
  SwiGLU: onTwo((gate, value, context) =>
    multiply(activated(activations.Swish, gate, context.float("alpha")), value),
  ),
  ImageScaler: imageScaler,
  "com.microsoft::BiasAdd": elementwise((args, context) =>
    args.slice(1).reduce((sum, arg) => add(sum, arg), argument(args, 0, context)),
  ),
  "com.microsoft::BiasGelu": onTwo((x, bias) => activated(activations.Gelu, add(x, bias))),
  "com.microsoft::BiasDropout": biasDropout,
  "com.microsoft::FastGelu": fastGelu,
  "com.microsoft::Gelu": onOne((x) => activated(activations.Gelu, x)),
  "com.microsoft::QuickGelu": onOne((x, context) =>
    activated(activations.Swish, x, context.float("alpha") ?? 1.702),
  ),
};

/** Not element by element of whole inputs: they read parts of them. */
export const splitActivationLowerings: LowerTable = {
  "com.microsoft::BiasSplitGelu": biasSplitGelu,
};
