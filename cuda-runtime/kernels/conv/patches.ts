/**
 * @file Convolutions whose windows lie side by side (patch embeddings): each pixel belongs to one of them, so that a copy in which a
 * window's pixels are one row is no larger than the image, and all that is left is a product.
 */
import type { Emitter } from "../../ir/emitter.ts";
import { bytesOfType, type FloatStorage, isHalfStorage } from "../../ir/storage.ts";
import { imaginedView, permuted, stridesOf, type View } from "../../ir/view.ts";
import { chooseGemm } from "../gemm/choose.ts";
import { emitGemm, type GemmRequest } from "../gemm/gemm.ts";
import { packedPitch } from "../gemm/pack.ts";
import { problemOf } from "../gemm/problem.ts";
import { copyMicroseconds } from "../transpose/transpose.ts";
import { type Parts, storageOf } from "./operands.ts";
import { pointwiseProduct } from "./pointwise.ts";
import { spatialOf, wholeView } from "./spatial.ts";

/** The windows of an image: [batch, depth, height, width, …axes of a window], those of a window as they lie in the image. */
export interface Patches {
  readonly type: FloatStorage;
  readonly image: View;
  /** Of the weights: filters, channels and the taps' axes, as the windows have them. */
  readonly order: readonly number[];
  readonly elements: number;
}

const positionAxes = 4;

/** Predicted, of the copy and the product; undefined where no stride leads through an image of the result. */
export function patchesMicroseconds(emitter: Emitter, parts: Parts, patches: Patches): number | undefined {
  const { target, tf32 } = emitter;
  const { type, image, elements } = patches;
  const rows = imaginedView(type, rowsShape(patches));
  const weights = imaginedView(type, [parts.filters, elements]);
  const product = productOfRows(parts, patches, rows, () => weights);
  if (product === undefined) return undefined;
  const isConstant = ({ view }: { readonly view: View }) => view.buffer === weights.buffer;
  const best = chooseGemm(problemOf(product), { type, tf32, target, isConstant });
  return copyMicroseconds(image, windowsIn(patches, rows), target) + best.microseconds;
}

/** Of what `patchesMicroseconds` has a time of. */
export function emitPatches(emitter: Emitter, parts: Parts, patches: Patches): void {
  const rows = emitter.temporary(patches.type, rowsShape(patches));
  const product = productOfRows(parts, patches, rows, () => weightsOf(emitter, parts.request.w, patches));
  if (product === undefined) throw new Error("tc-lint bug: no stride leads through the result's images");
  emitter.copy(patches.image, windowsIn(patches, rows));
  emitGemm(emitter, product);
}

/** Undefined where windows overlap, leave pixels between them, hang over the image, or are a pixel each. */
export function patchesOf({ request, math, window, y, channels }: Parts): Patches | undefined {
  const type = storageOf[math];
  const { kernel, stride, dilation, pad } = window;
  const isSideBySide = [0, 1, 2].every(
    (axis) =>
      kernel[axis] === stride[axis] && (dilation[axis] === 1 || kernel[axis] === 1) && pad[axis] === 0,
  );
  const x = spatialOf(request.x);
  const isInside = x.size.every((size, axis) => (y.size[axis] ?? 0) * (kernel[axis] ?? 0) <= size);
  const taps = kernel[0] * kernel[1] * kernel[2];
  if (!isHalfStorage(type) || request.groups > 1 || taps === 1 || !isSideBySide || !isInside)
    return undefined;
  const within = [
    { axis: 1, size: channels, stride: x.channelStride },
    ...kernel.map((size, axis) => ({ axis: 2 + axis, size, stride: x.strides[axis] ?? 0 })),
  ].sort((a, b) => b.stride - a.stride);
  const steps = x.strides.map((each, axis) => each * (kernel[axis] ?? 1));
  const image: View = {
    ...x.view,
    shape: [x.batch, ...y.size, ...within.map(({ size }) => size)],
    strides: [x.batchStride, ...steps, ...within.map(({ stride: each }) => each)],
  };
  return { type, image, order: [0, ...within.map(({ axis }) => axis)], elements: channels * taps };
}

/** Rows begin where copies of a product's operands do. */
function rowsShape({ image, type, elements }: Patches): readonly number[] {
  return [...image.shape.slice(0, positionAxes), packedPitch(elements, bytesOfType(type))];
}

/** The memory of rows, of the windows' shape. */
function windowsIn({ image }: Patches, rows: View): View {
  const within = stridesOf(image.shape.slice(positionAxes));
  return { ...rows, shape: image.shape, strides: [...rows.strides.slice(0, positionAxes), ...within] };
}

function productOfRows(
  { request, y }: Parts,
  { elements }: Patches,
  rows: View,
  weights: () => View,
): GemmRequest | undefined {
  const [batch = 1, depth = 1, height = 1, width = 1] = rows.shape;
  const [ofBatch = 0, ofDepth = 0, ofHeight = 0, ofWidth = 0, ofElement = 0] = rows.strides;
  const x = spatialOf({
    ...rows,
    shape: [batch, elements, depth, height, width],
    strides: [ofBatch, ofElement, ofDepth, ofHeight, ofWidth],
  });
  return pointwiseProduct({ x, y, epilogue: request.epilogue }, weights);
}

/** [filters, elements of a window]. */
function weightsOf(emitter: Emitter, w: View, { type, order, elements }: Patches): View {
  const packed = emitter.packed(permuted(wholeView(spatialOf(w)), order), { type });
  return { ...packed, shape: [w.shape[0] ?? 1, elements], strides: [elements, 1] };
}
