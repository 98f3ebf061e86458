/** @file Convolutions of codes, with offsets, and with a state: ConvInteger, QLinearConv, DeformConv, CausalConvWithState. */

import { plainEpilogue } from "../ir/epilogue.ts";
import type { Expr } from "../ir/expr.ts";
import { add, binary, convert, divide, like, load, multiply, narrow, unary } from "../ir/expr-build.ts";
import { scalarOf } from "../ir/scalar.ts";
import { isFloatStorage, type StorageType } from "../ir/storage.ts";
import { channelsLastOrder, channelsSecond, elementCount, sliced, type View } from "../ir/view.ts";
import { emitConv } from "../kernels/conv/conv.ts";
import { maxSpatialRank } from "../kernels/conv/spatial.ts";
import { emitDeformConv, emitIntegerConv } from "../kernels/directconv/directconv.ts";
import { type CodeConvolution, emitCodeConvolution, emitScales } from "./code-products.ts";
import type { Lower, LowerContext, LowerTable } from "./context.ts";
import { slidingWindow } from "./conv-window.ts";
import { rawView } from "./elementwise-operands.ts";

interface CodeInputs {
  readonly x: number;
  readonly w: number;
  readonly xZero: number;
  readonly wZero: number;
}

/** The sums as int32, of the output's shape. */
function sumOfCodes(context: LowerContext, inputs: CodeInputs, channelsLast: boolean): View {
  const turned = (view: View) => (channelsLast ? channelsSecond(view) : view);
  const x = turned(context.input(inputs.x));
  const w = context.input(inputs.w);
  for (const { type } of [x, w]) {
    if (type !== "int8" && type !== "uint8")
      context.fail(`has an operand of ${type}; int8 and uint8 are supported`);
  }
  if (x.shape.length - 2 > maxSpatialRank) context.fail(`has more than ${maxSpatialRank} spatial axes`);
  const to = context.temporary("int32", context.outputShape(0));
  const { strides, dilations, padsBegin } = slidingWindow(context, w.shape.slice(2), x.shape.slice(2));
  for (const name of ["group", "offset_group"]) {
    const [groups, channels] = [context.int(name) ?? 1, x.shape[1] ?? 1];
    if (groups < 1 || channels % groups !== 0)
      context.fail(`has ${groups} in ${name} for ${channels} channels`);
  }
  const optional = (index: number) => (context.hasInput(index) ? context.input(index) : undefined);
  emitIntegerConv(context, {
    x,
    w,
    xZero: optional(inputs.xZero),
    wZero: optional(inputs.wZero),
    to: turned(to),
    strides,
    dilations,
    pads: padsBegin,
    groups: context.int("group") ?? 1,
  });
  return to;
}

/** On Tensor Cores, where they take it: what is launched, else undefined. */
function onTensorCores(
  context: LowerContext,
  inputs: CodeInputs,
  channelsLast: boolean,
  rest: Pick<CodeConvolution, "addend" | "epilogue">,
): View | undefined {
  const turned = (view: View) => (channelsLast ? channelsSecond(view) : view);
  const zeroOf = (index: number) => {
    const isZero = context.elements(index)?.every((element) => element === 0);
    return context.hasInput(index) && isZero !== true ? context.input(index) : undefined;
  };
  const [x, w] = [turned(context.input(inputs.x)), context.input(inputs.w)];
  const { strides, dilations, padsBegin } = slidingWindow(context, w.shape.slice(2), x.shape.slice(2));
  const shape = context.outputShape(0);
  const order = channelsLast ? undefined : channelsLastOrder(shape.length);
  const [zero, ...more] = context.hasInput(inputs.xZero) ? (context.elements(inputs.xZero) ?? []) : [0];
  let to: View | undefined;
  const isTaken = emitCodeConvolution(context, {
    ...{ x, w, strides, dilations, pads: padsBegin, groups: context.int("group") ?? 1, ...rest },
    ...{ zeroA: zeroOf(inputs.xZero), zeroB: zeroOf(inputs.wZero) },
    known: zero === undefined || more.length > 0 ? undefined : { zero },
    output: () => {
      to = context.temporary(context.outputType(0), shape, order);
      return turned(to);
    },
  });
  return isTaken ? to : undefined;
}

const convInteger: Lower = (context) => {
  const inputs = { x: 0, w: 1, xZero: 2, wZero: 3 };
  context.setOutput(
    0,
    onTensorCores(context, inputs, false, { epilogue: {} }) ?? sumOfCodes(context, inputs, false),
  );
};

const codeRanges: Readonly<Partial<Record<StorageType, readonly [number, number]>>> = {
  int8: [-128, 127],
  uint8: [0, 255],
};

/** One element, or one a channel: as it broadcasts over the output. */
function perChannel(context: LowerContext, index: number, axis: number, rank: number): Expr {
  const view = rawView(context, index);
  const count = elementCount(view.shape);
  const at = (values: (axis: number) => number) => Array.from({ length: rank }, (_, each) => values(each));
  return load({
    ...view,
    shape: at((each) => (each === axis ? count : 1)),
    strides: at((each) => (each === axis && count > 1 ? (view.strides.at(-1) ?? 1) : 0)),
  });
}

function requantized(context: LowerContext): Pick<CodeConvolution, "addend" | "epilogue"> {
  return {
    addend: context.hasInput(8) ? context.packed(context.input(8)) : undefined,
    epilogue: {
      scale: emitScales(context, rawView(context, 1), rawView(context, 4), rawView(context, 6)),
      zeroOut: context.hasInput(7) ? context.input(7) : undefined,
    },
  };
}

/** x, its scale and zero point; w, likewise; scale and zero point of y; a bias in units of both scales. */
function qLinearConv(isLast: (context: LowerContext) => boolean): Lower {
  return (context) => {
    const type = context.outputType(0);
    const range = codeRanges[type] ?? context.fail(`quantizes to ${type}; int8 and uint8 are supported`);
    const channelsLast = isLast(context);
    const rank = context.outputShape(0).length;
    const axis = channelsLast ? rank - 1 : 1;
    const inputs = { x: 0, w: 3, xZero: 2, wZero: 5 };
    const isScaled = elementCount(context.inputShape(1)) === 1 && elementCount(context.inputShape(6)) === 1;
    const done = isScaled ? onTensorCores(context, inputs, channelsLast, requantized(context)) : undefined;
    if (done !== undefined) return context.setOutput(0, done);
    const sum = load(sumOfCodes(context, inputs, channelsLast));
    const biased = context.hasInput(8) ? add(sum, convert("i32", perChannel(context, 8, axis, rank))) : sum;
    const scaleOf = (index: number) => convert("f32", perChannel(context, index, axis, rank));
    const scale = divide(multiply(scaleOf(1), scaleOf(4)), scaleOf(6));
    const code = unary("round", multiply(convert("f32", biased), scale));
    const moved = context.hasInput(7) ? add(code, convert("f32", perChannel(context, 7, axis, rank))) : code;
    const bounded = binary("min", binary("max", moved, like(moved, range[0])), like(moved, range[1]));
    const whole = convert(scalarOf(type), convert("i32", bounded));
    context.setExpr(0, narrow(type === "int8" ? "int8" : "uint8", whole));
  };
}

/** X, W, offsets, a bias, a mask. */
const deformConv: Lower = (context) => {
  const x = context.input(0);
  const w = context.input(1);
  if (x.shape.length !== 4) context.fail(`has an input of rank ${x.shape.length}; 4 is supported`);
  if (!isFloatStorage(x.type)) context.fail(`has an input of ${x.type}; floats are supported`);
  for (const index of [1, 2, 4]) {
    if (context.hasInput(index) && context.inputShape(index).length !== 4)
      context.fail(`has input ${index} of rank ${context.inputShape(index).length}, expected 4`);
  }
  const { strides, dilations, padsBegin } = slidingWindow(context, w.shape.slice(2), x.shape.slice(2));
  if (![...strides, ...dilations, ...padsBegin].every(Number.isInteger))
    context.fail(`has pads ${padsBegin.join(",")}, which are no whole numbers`);
  const optional = (index: number) => (context.hasInput(index) ? rawView(context, index) : undefined);
  emitDeformConv(context, {
    x,
    w,
    offsets: context.input(2),
    bias: optional(3),
    mask: optional(4),
    to: context.output(0),
    strides,
    dilations,
    pads: padsBegin,
    groups: context.int("group") ?? 1,
    sets: context.int("offset_group") ?? 1,
  });
};

/** What came before and the input in one piece of memory: the output is a convolution of it, the state its end. */
const causalConvWithState: Lower = (context) => {
  const x = context.input(0);
  const w = context.input(1);
  for (const name of ["channels_last", "state_window"]) {
    if ((context.int(name) ?? 0) !== 0) context.fail(`has ${name}; the plain form is supported`);
  }
  const [batch = 1, channels = 1, length = 1] = x.shape;
  if (x.shape.length !== 3) context.fail(`has an input of rank ${x.shape.length}; 3 is supported`);
  const dilation = context.int("dilation") ?? 1;
  const before = ((w.shape[2] ?? 1) - 1) * dilation;
  const joined = context.temporary(x.type, [batch, channels, before + length], [0, 2, 1]);
  if (before > 0 && !context.hasInput(3)) context.clear(joined);
  if (before > 0 && context.hasInput(3)) context.copy(context.input(3), sliced(joined, 2, 0, before));
  context.copy(x, sliced(joined, 2, before, length));
  const sums = context.temporary(x.type === "float32" ? x.type : "float32", x.shape, [0, 2, 1]);
  emitConv(context, {
    x: joined,
    w,
    to: sums,
    strides: [1],
    dilations: [dilation],
    pads: [0],
    groups: channels,
    epilogue: plainEpilogue,
  });
  const biased = context.hasInput(2)
    ? add(load(sums), convert("f32", perChannel(context, 2, 1, 3)))
    : load(sums);
  context.setExpr(0, activated(context, biased));
  if (context.hasOutput(1)) context.setOutput(1, sliced(joined, 2, length, before));
};

function activated(context: LowerContext, x: Expr): Expr {
  const name = context.string("activation") ?? "none";
  if (name === "none" || name === "") return x;
  if (name !== "silu" && name !== "swish") context.fail(`has the activation ${name}; silu is supported`);
  return multiply(x, unary("sigmoid", x));
}

export const directConvLowerings: LowerTable = {
  ConvInteger: convInteger,
  QLinearConv: qLinearConv(() => false),
  "com.microsoft::QLinearConv": qLinearConv((context) => (context.int("channels_last") ?? 0) !== 0),
  "com.ms.internal.nhwc::QLinearConv": qLinearConv(() => true),
  DeformConv: deformConv,
  CausalConvWithState: causalConvWithState,
  "com.microsoft::CausalConvWithState": causalConvWithState,
};
