/**
 * @file Convolutions whose windows lie side by side (patch embeddings): each pixel belongs to one of them, so that a copy in which a
 * window's pixels are one row is no larger than the image, and all that is left is a product.
 */
import type { Emitter } from "../../ir/emitter.ts";
import type { PlanTarget } from "../../ir/step.ts";
import { bytesOfType, type FloatStorage, isHalfStorage } from "../../ir/storage.ts";
import { permuted, stridesOf, type View } from "../../ir/view.ts";
import { chooseGemm } from "../gemm/choose.ts";
import { emitGemm, type GemmRequest } from "../gemm/gemm.ts";
import { packedPitch } from "../gemm/pack.ts";
import { problemOf } from "../gemm/problem.ts";
import { copyMicroseconds } from "../transpose/transpose.ts";
import { type Parts, storageOf } from "./operands.ts";
import { productOf } from "./pointwise.ts";
import { spatialOf } from "./spatial.ts";

/** The windows of an image: [batch, depth, height, width, …axes of a window], those of a window as they lie in the image. */
interface Patches {
  readonly type: FloatStorage;
  readonly image: View;
  /** Of the weights: filters, channels and the taps' axes, as the windows have them. */
  readonly order: readonly number[];
  readonly elements: number;
}

const positionAxes = 4;

/** Predicted, of the copy and the product; undefined where it does not apply. */
export function patchesMicroseconds(emitter: Emitter, parts: Parts): number | undefined {
  const { target, tf32 } = emitter;
  const patches = emitter.isConstant(parts.request.w) ? patchesOf(parts) : undefined;
  if (patches === undefined) return undefined;
  const imagined = (name: string, shape: readonly number[]): View => {
    const buffer = { id: -1, kind: "temporary", bytes: 0, name } as const;
    return { buffer, type: patches.type, shape, strides: stridesOf(shape), offset: 0 };
  };
  const rows = imagined("patches", rowsShape(patches));
  const weights = imagined("weights", [parts.filters, patches.elements]);
  const product = productOfRows(parts, patches, rows, () => weights);
  if (product === undefined) return undefined;
  const problem = problemOf(product);
  const isConstant = ({ view }: { readonly view: View }) => view.buffer === weights.buffer;
  const best = chooseGemm(problem, { type: patches.type, tf32, target, isConstant });
  return rowsMicroseconds(patches, rows, target) + best.microseconds;
}

/** False where it does not apply. */
export function emitPatches(emitter: Emitter, parts: Parts): boolean {
  const patches = patchesOf(parts);
  if (patches === undefined) return false;
  const rows = emitter.temporary(patches.type, rowsShape(patches));
  const product = productOfRows(parts, patches, rows, () => weightsOf(emitter, parts.request.w, patches));
  if (product === undefined) return false;
  emitter.copy(patches.image, windowsIn(patches, rows));
  emitGemm(emitter, product);
  return true;
}

/** Undefined where windows overlap, leave pixels between them, hang over the image, or are a pixel each. */
function patchesOf({ request, math, window, y, channels }: Parts): Patches | undefined {
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

function rowsMicroseconds(patches: Patches, rows: View, target: PlanTarget): number {
  return copyMicroseconds(patches.image, windowsIn(patches, rows), target);
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
  return productOf({ x, y, epilogue: request.epilogue }, weights);
}

/** [filters, elements of a window]. */
function weightsOf(emitter: Emitter, w: View, { type, order, elements }: Patches): View {
  const { view, batch, channels, size, batchStride, channelStride, strides } = spatialOf(w);
  const whole = {
    ...view,
    shape: [batch, channels, ...size],
    strides: [batchStride, channelStride, ...strides],
  };
  const packed = emitter.packed(permuted(whole, order), { type });
  return { ...packed, shape: [batch, elements], strides: [elements, 1] };
}
