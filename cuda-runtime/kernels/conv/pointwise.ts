/** @file Convolutions of one tap as products of matrices. */
import type { Emitter } from "../../ir/emitter.ts";
import type { Epilogue } from "../../ir/epilogue.ts";
import { permuted, type View } from "../../ir/view.ts";
import { emitGemm, type GemmRequest } from "../gemm/gemm.ts";
import { type Parts, storageOf } from "./operands.ts";
import { positionStride, type Spatial, spatialOf } from "./spatial.ts";

/**
 * One tap without padding or strides is a product of matrices, of each image or of all at once. False where it is not,
 * or where the product's kernels would compute in another type.
 */
export function emitPointwise(emitter: Emitter, { request, math, y, window }: Parts): boolean {
  const isPlain =
    request.groups === 1 &&
    window.kernel.every((taps) => taps === 1) &&
    window.stride.every((stride) => stride === 1) &&
    window.pad.every((pad) => pad === 0);
  const x = spatialOf(request.x);
  const isSame = x.size.every((size, axis) => size === y.size[axis]);
  if (!isPlain || !isSame || storageOf[math] !== request.x.type) return false;
  if (math === "tf32" && !emitter.tf32) return false;
  const { w } = request;
  const [filters = 1, channels = 1] = w.shape;
  const weights = { ...w, shape: [filters, channels], strides: w.strides.slice(0, 2) };
  const product = pointwiseProduct({ x, y, epilogue: request.epilogue }, () =>
    emitter.packed(weights, { type: request.x.type }),
  );
  if (product !== undefined) emitGemm(emitter, product);
  return product !== undefined;
}

/**
 * Of as many positions of x as of y, of all images or of each; `weights`, asked for once it is sure, are [filters, channels]. Undefined where no stride leads
 * through an image.
 */
export function pointwiseProduct(
  { x, y, epilogue }: { readonly x: Spatial; readonly y: Spatial; readonly epilogue: Epilogue },
  weights: () => View,
): GemmRequest | undefined {
  const views = [x, y, ...(epilogue.residual ? [spatialOf(epilogue.residual)] : [])];
  const isWhole = views.every((view) => positionStride(view) !== 0);
  const matrices = views.map((view) => (isWhole ? matrixOf(view) : matricesOf(view)));
  const [a, to, residual] = matrices;
  if (a === undefined || to === undefined || matrices.includes(undefined)) return undefined;
  const b = permuted(weights(), [1, 0]);
  const ofEach = { ...b, shape: [1, ...b.shape], strides: [0, ...b.strides] };
  return { a, b: isWhole ? b : ofEach, to, epilogue: { ...epilogue, residual } };
}

/** [positions of all images, channels] */
function matrixOf(spatial: Spatial): View {
  const { view, batch, channels, size, channelStride } = spatial;
  const positions = batch * size[0] * size[1] * size[2];
  return { ...view, shape: [positions, channels], strides: [positionStride(spatial), channelStride] };
}

/** [batch, positions of an image, channels]; undefined where one stride does not lead through an image. */
function matricesOf(spatial: Spatial): View | undefined {
  const { view, batch, channels, size, channelStride, batchStride } = spatial;
  const step = positionStride({ ...spatial, batch: 1 });
  if (step === 0) return undefined;
  return {
    ...view,
    shape: [batch, size[0] * size[1] * size[2], channels],
    strides: [batchStride, step, channelStride],
  };
}
