/** @file Conv, ConvTranspose, and their forms in com.microsoft. */
import { own } from "../../src/ir/own.ts";
import type { Epilogue, PendingProduct } from "../ir/epilogue.ts";
import type { Expr } from "../ir/expr.ts";
import { add, binary, compare, constant, load, multiply, select, unary } from "../ir/expr-build.ts";
import { isFloatStorage } from "../ir/storage.ts";
import { channelsLastOrder, permuted, type View } from "../ir/view.ts";
import { emitConv } from "../kernels/conv/conv.ts";
import { maxSpatialRank } from "../kernels/conv/spatial.ts";
import { emitConvTranspose } from "../kernels/conv/transposed.ts";
import type { Lower, LowerContext, LowerTable } from "./context.ts";
import { slidingWindow, transposedPads } from "./conv-window.ts";

/** Where an operator keeps its channels. */
interface Layout {
  /** Of X, Y and Z. */
  readonly channelsLast?: boolean;
  /** Of W: [M, …taps, C / group]. */
  readonly weightsLast?: boolean;
  readonly transposed?: boolean;
  /** Whether it takes Z, of the output's shape, that is added before the activation. */
  readonly takesResidual?: boolean;
}

/** [N, …spatial, C] as [N, C, …spatial]. */
function channelsSecond(view: View, isLast: boolean): View {
  const rank = view.shape.length;
  const axes = Array.from({ length: rank - 2 }, (_, axis) => axis + 1);
  return isLast ? permuted(view, [0, rank - 1, ...axes]) : view;
}

function conv(layout: Layout): Lower {
  return (context) => {
    const { channelsLast = false, weightsLast = false } = layout;
    const x = channelsSecond(asStored(context, 0), channelsLast);
    const w = channelsSecond(context.input(1), weightsLast);
    checkOperands(context, x, w);
    checkResidual(context, layout);
    const shape = context.outputShape(0);
    const rank = shape.length;
    const product: PendingProduct = {
      shape,
      type: context.outputType(0),
      channelAxis: channelsLast ? rank - 1 : 1,
      order: channelsLast ? shape.map((_, axis) => axis) : channelsLastOrder(rank),
      acceptsOutput: (view) => isFloatStorage(view.type) && !isRepeated(view),
      acceptsResidual: (view) => isFloatStorage(view.type),
      emit: emitterOf(context, layout, x, w),
    };
    const bias = biasOf(context, channelsLast ? rank - 1 : 1, rank);
    context.setProduct(0, product, (leaf) => fused(context, bias === undefined ? leaf : add(leaf, bias)));
  };
}

/** An input of the model or a weight as it lies there, where `input` would round it first. */
function asStored(context: LowerContext, index: number): View {
  const expr = context.expr(index);
  if (expr.kind !== "load" || !isFloatStorage(expr.view.type)) return context.input(index);
  const shape = context.inputShape(index);
  const isWhole = shape.every((size, axis) => size === expr.view.shape[axis]);
  return isWhole && shape.length === expr.view.shape.length ? expr.view : context.input(index);
}

function checkOperands(context: LowerContext, x: View, w: View): void {
  const spatialRank = x.shape.length - 2;
  if (spatialRank > maxSpatialRank) {
    context.fail(`has ${spatialRank} spatial axes; convolutions of up to ${maxSpatialRank} are supported`);
  }
  for (const { type } of [x, w]) {
    if (!isFloatStorage(type)) {
      context.fail(`has operands of ${type}; convolutions of float32, float16 and bfloat16 are supported`);
    }
  }
}

function checkResidual(context: LowerContext, { takesResidual = false }: Layout): void {
  if (!context.hasInput(3)) return;
  if (!takesResidual) context.fail("has 4 inputs, expected up to 3");
  const [found, expected] = [context.inputShape(3), context.outputShape(0)];
  if (found.join() !== expected.join())
    context.fail(`has Z of [${found.join(",")}], expected the output's [${expected.join(",")}]`);
}

/** Whether several elements are one place in memory. */
function isRepeated({ shape, strides }: View): boolean {
  return shape.some((size, axis) => size > 1 && strides[axis] === 0);
}

function emitterOf(
  context: LowerContext,
  { channelsLast = false, transposed = false }: Layout,
  x: View,
  w: View,
) {
  const kernel = w.shape.slice(2);
  const input = x.shape.slice(2);
  const output = channelsSecond({ ...x, shape: context.outputShape(0) }, channelsLast).shape.slice(2);
  const window = slidingWindow(context, kernel, input);
  const pads = transposed ? transposedPads(context, kernel, input, output) : window.padsBegin;
  const groups = context.int("group") ?? 1;
  const { strides, dilations } = window;
  const type = context.inputType(0);
  const operands = isFloatStorage(type) ? type : undefined;
  return (epilogue: Epilogue, to: View): void => {
    const { residual } = epilogue;
    const request = {
      x,
      w,
      to: channelsSecond(to, channelsLast),
      strides,
      dilations,
      pads,
      groups,
      operands,
      epilogue: { ...epilogue, residual: residual && channelsSecond(residual, channelsLast) },
    };
    if (transposed) emitConvTranspose(context, request);
    else emitConv(context, request);
  };
}

/** [M] along the channels of the output. */
function biasOf(context: LowerContext, channelAxis: number, rank: number): Expr | undefined {
  if (!context.hasInput(2)) return undefined;
  const expr = context.expr(2);
  if (expr.kind === "constant") return expr;
  const view = asStored(context, 2);
  const shape = Array.from({ length: rank }, (_, axis) => (axis === channelAxis ? (view.shape[0] ?? 1) : 1));
  const strides = shape.map((_, axis) => (axis === channelAxis ? (view.strides[0] ?? 0) : 0));
  return load({ ...view, shape, strides }, "f32");
}

/** activation(x + Z), where the operator has these. */
function fused(context: LowerContext, x: Expr): Expr {
  const sum = context.hasInput(3) ? add(x, load(context.input(3), "f32")) : x;
  const name = context.string("activation") ?? "";
  if (name === "") return sum;
  const parameters = context.floats("activation_params") ?? [];
  const activate = own(activations, name);
  if (activate === undefined) {
    return context.fail(`has the activation ${name}; ${Object.keys(activations).join(", ")} are supported`);
  }
  return activate(sum, parameters);
}

const number = (value: number) => constant("f32", value);
const clamped = (x: Expr, low: number, high: number) =>
  binary("min", binary("max", x, number(low)), number(high));

const activations: Readonly<Record<string, (x: Expr, parameters: readonly number[]) => Expr>> = {
  Relu: (x) => binary("max", x, number(0)),
  Tanh: (x) => unary("tanh", x),
  Sigmoid: (x) => unary("sigmoid", x),
  LeakyRelu: (x, [alpha = 0.01]) => select(compare("lt", x, number(0)), multiply(x, number(alpha)), x),
  Clip: (x, [low = -3.4028234663852886e38, high = 3.4028234663852886e38]) => clamped(x, low, high),
  HardSigmoid: (x, [alpha = 0.2, beta = 0.5]) => clamped(add(multiply(x, number(alpha)), number(beta)), 0, 1),
};

export const convLowerings: LowerTable = {
  Conv: conv({}),
  ConvTranspose: conv({ transposed: true }),
  "com.microsoft::FusedConv": conv({ takesResidual: true }),
  "com.microsoft::NhwcConv": conv({ channelsLast: true, weightsLast: true }),
  "com.microsoft::NhwcFusedConv": conv({ channelsLast: true, takesResidual: true }),
  "com.ms.internal.nhwc::Conv": conv({ channelsLast: true }),
  "com.ms.internal.nhwc::ConvTranspose": conv({ channelsLast: true, transposed: true }),
};
