/** @file Products and convolutions of codes of a byte, where integer Tensor Cores take them; what they do not take is told by false. */
import type { Emitter } from "../ir/emitter.ts";
import { divide, load, multiply } from "../ir/expr-build.ts";
import { isCodeStorage } from "../ir/storage.ts";
import { channelsLastOrder, elementCount, isPacked, reshaped, sliced, type View } from "../ir/view.ts";
import { fillsRows, windowOfRows } from "../kernels/code-rows/code-rows.ts";
import { emitCodePlanes } from "../kernels/conv/code-planes.ts";
import type { PlaneCodes } from "../kernels/conv/planes-launch.ts";
import {
  type CodeEpilogue,
  type CodeWindow,
  emitCodeConv,
  emitCodeProduct,
  multipliesCodes,
  withResidual,
} from "../kernels/gemm-int8/code-product.ts";
import { type CodeNumbers, codeRange, isCodeType } from "../kernels/gemm-int8/codes.ts";
import { tailQuantizes } from "../kernels/gemm-int8/tail.ts";

interface CodeOperands {
  /** One element; undefined: 0. */
  readonly zeroA: View | undefined;
  /** One element, or one a column; undefined: 0. */
  readonly zeroB: View | undefined;
  /** int32, one a column. */
  readonly addend?: View | undefined;
  readonly epilogue: CodeEpilogue;
}

export interface CodeMatMul extends CodeOperands {
  /** [..., m, k] and [..., k, n] as MatMul takes them. */
  readonly a: View;
  readonly b: View;
  /** Row-major. */
  readonly to: View;
}

/** Whether it was launched. */
export function emitCodeMatMul(emitter: Emitter, { a, b, to, ...rest }: CodeMatMul): boolean {
  const [k = 0, n = 1] = b.shape.slice(-2);
  const isPlain = a.shape.length >= 2 && b.shape.length >= 2 && k > 0 && isPacked(to);
  const columns = (view: View | undefined) => view === undefined || isOneOr(view, n);
  if (!isPlain || !multipliesCodes(a.type, b.type, emitter.target)) return false;
  if ((rest.zeroA !== undefined && elementCount(rest.zeroA.shape) !== 1) || !columns(rest.zeroB))
    return false;
  if (isCodeStorage(a.type) && (rest.zeroA ?? rest.zeroB ?? rest.addend) !== undefined) return false;
  const batch = elementCount(b.shape.slice(0, -2));
  const rows = batch === 1 ? [] : [batch];
  const isShared = batch === 1;
  // A product for each matrix of a batch: zero points would be terms of each.
  const isAlike = a.shape.slice(0, -2).join() === b.shape.slice(0, -2).join() && rest.zeroA === undefined;
  if (!isShared && !isAlike) return false;
  const m = elementCount(a.shape.slice(0, -1)) / batch;
  emitCodeProduct(emitter, {
    ...rest,
    epilogue: withResidual(rest.epilogue, (view) => flat(emitter, inRows(emitter, view), [...rows, m, n])),
    a: flat(emitter, a, [...rows, m, k]),
    b: flat(emitter, b, [...rows, k, n]),
    to: flat(emitter, to, [...rows, m, n]),
  });
  return true;
}

function isOneOr(view: View, count: number): boolean {
  const elements = elementCount(view.shape);
  return elements === 1 || elements === count;
}

/** Columns beside each other, as a tail reads them. */
function inRows(emitter: Emitter, view: View): View {
  return (view.strides.at(-1) ?? 1) === 1 ? view : emitter.packed(view);
}

function flat(emitter: Emitter, view: View, shape: readonly number[]): View {
  return reshaped(view, shape) ?? reshaped(emitter.packed(view), shape) ?? view;
}

export interface CodeConvolution extends CodeOperands {
  /** [N, C, …] and [K, C, …], one or two spatial axes. */
  readonly x: View;
  readonly w: View;
  readonly strides: readonly number[];
  readonly dilations: readonly number[];
  readonly pads: readonly number[];
  readonly groups: number;
  /** [N, K, …], made where the convolution is launched: channels innermost. */
  readonly output: () => View;
  /** x's zero point where it is known while planning, and what floats of x are quantized by first. */
  readonly known?: { readonly zero: number; readonly quantizer?: CodeNumbers | undefined } | undefined;
}

/** Whether windows along rows of x are laid out side by side, which quantizes floats on the way. */
export function takesRows(x: readonly number[], w: readonly number[], dilations: readonly number[]): boolean {
  const [channels = 1, taps = 1, dilation = 1] = [x[1], w.at(-1), dilations.at(-1)];
  return x.length > 2 && fillsRows({ channels, taps, dilation });
}

/** Channels that a kernel copies at once. */
const channelUnit = 16;

/** Whether it was launched. */
export function emitCodeConvolution(emitter: Emitter, conv: CodeConvolution): boolean {
  const { x, w, groups, zeroB } = conv;
  const [rank, channels = 1, filters = 1] = [x.shape.length, x.shape[1], w.shape[0]];
  const isWhole = channels % channelUnit === 0;
  const type = conv.known?.quantizer?.type ?? x.type;
  const isTaken =
    groups === 1 &&
    (rank === 3 || rank === 4) &&
    multipliesCodes(type, w.type, emitter.target) &&
    !isCodeStorage(type);
  const zerosFit = zeroB === undefined || (isWhole && isOneOr(zeroB, filters));
  if (!isTaken || !zerosFit || (conv.zeroA !== undefined && elementCount(conv.zeroA.shape) !== 1))
    return false;
  const to = withHeight(conv.output());
  const given = {
    ...{ x: withHeight(x), w: withHeight(w), to },
    strides: pairOf(conv.strides, 1),
    dilations: pairOf(conv.dilations, 1),
    pads: pairOf(conv.pads, 0),
  };
  const { known, epilogue: ends } = conv;
  const isSimple =
    isCodeType(type) && emitter.isConstant(w) && (zeroB ?? ends.bias ?? ends.tail) === undefined;
  const codes = isSimple ? planeCodes(conv, to) : undefined;
  if (codes !== undefined && emitCodePlanes(emitter, given, codes)) return true;
  const isRows = known !== undefined && isCodeType(type) && takesRows(x.shape, w.shape, conv.dilations);
  const window: CodeWindow = isRows
    ? windowOfRows(emitter, given, type, known.zero, known.quantizer)
    : { ...given, x: channelsInnermost(emitter, given.x, isWhole) };
  const { zeroA, addend } = conv;
  const order = channelsLastOrder(4);
  const epilogue = withResidual(conv.epilogue, (view) => emitter.packed(withHeight(view), { order }));
  if (isPointwise(window, to)) return emitPointwise(emitter, { ...conv, epilogue }, window, to);
  emitCodeConv(emitter, window, { zeroA, zeroB, addend, epilogue });
  return true;
}

function planeCodes({ known, addend, epilogue }: CodeConvolution, { type }: View): PlaneCodes | undefined {
  const [least, most] = codeRange(type);
  const { scale, zeroOut, low = least, high = most } = epilogue;
  if (known === undefined || scale === undefined) return undefined;
  const { zero, quantizer } = known;
  if (quantizer !== undefined && !tailQuantizes(quantizer)) return undefined;
  return { zero, quantizer, scale, addend, zeroOut, low: Math.max(low, least), high: Math.min(high, most) };
}

function isPointwise({ x, w, strides }: Omit<CodeWindow, "to">, to: View): boolean {
  const isOfOne = w.shape.slice(2).every((taps) => taps === 1);
  return (
    isOfOne && strides.every((step) => step === 1) && to.shape.slice(2).join() === x.shape.slice(2).join()
  );
}

/** Positions by channels times channels by filters. */
function emitPointwise(
  emitter: Emitter,
  conv: CodeConvolution,
  { x, w }: Pick<CodeWindow, "x" | "w">,
  to: View,
): boolean {
  const { zeroA, zeroB, addend } = conv;
  const [images = 1, channels = 1, height = 1, width = 1] = x.shape;
  const [filters = 1, own = 1] = w.shape;
  const m = images * height * width;
  const a: View = { ...x, shape: [m, own], strides: [x.strides[3] ?? channels, 1] };
  const b: View = { ...w, shape: [own, filters], strides: [w.strides[1] ?? 1, w.strides[0] ?? 1] };
  const rows = (view: View): View => ({
    ...view,
    shape: [m, filters],
    strides: [view.strides[3] ?? filters, 1],
  });
  const [d, epilogue] = [rows(to), withResidual(conv.epilogue, rows)];
  emitCodeProduct(emitter, { a, b, to: d, zeroA, zeroB, addend, epilogue });
  return true;
}

function pairOf(values: readonly number[], fill: number): readonly [number, number] {
  return [values.at(-2) ?? fill, values.at(-1) ?? fill];
}

/** [N, C, W] as [N, C, 1, W]. */
function withHeight(view: View): View {
  if (view.shape.length === 4) return view;
  return { ...view, shape: view.shape.toSpliced(2, 0, 1), strides: view.strides.toSpliced(2, 0, 0) };
}

/** Codes of channels that weights of zero are for are whatever they are. */
function channelsInnermost(emitter: Emitter, x: View, isWhole: boolean): View {
  const order = channelsLastOrder(4);
  if (isWhole && isPacked(x, order) && x.offset % channelUnit === 0) return x;
  const channels = x.shape[1] ?? 1;
  const wide = Math.ceil(channels / channelUnit) * channelUnit;
  const packed = emitter.temporary(x.type, x.shape.with(1, wide), order);
  emitter.copy(x, sliced(packed, 1, 0, channels));
  return packed;
}

/** xs ws / ys, or xs ws, rounded as ONNX Runtime rounds it: one element, or one a column. */
export function emitScales(emitter: Emitter, xs: View, ws: View, ys: View | undefined): View {
  const [first, second] = [asColumns(xs), asColumns(ws)];
  const both = multiply(load(first, "f32"), load(second, "f32"));
  const scale = ys === undefined ? both : divide(both, load(asColumns(ys), "f32"));
  return emitter.evaluate(scale, [Math.max(elementCount(xs.shape), elementCount(ws.shape))], "float32");
}

/** A list, or one number, of whatever rank it is written with. */
export function asColumns(view: View): View {
  const axis = view.shape.findIndex((size) => size !== 1);
  return { ...view, shape: [elementCount(view.shape)], strides: [axis < 0 ? 1 : (view.strides[axis] ?? 1)] };
}
