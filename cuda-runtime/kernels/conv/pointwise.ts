/** @file Convolutions of one tap as products of matrices. */
import type { Emitter } from "../../ir/emitter.ts";
import { permuted, type View } from "../../ir/view.ts";
import { emitGemm } from "../gemm/gemm.ts";
import { type Parts, storageOf } from "./operands.ts";
import { positionStride, type Spatial, spatialOf } from "./spatial.ts";

/**
 * One tap without padding or strides is a product of matrices, of each image or of all at once. False where it is not,
 * or where the product's kernels would compute in another type.
 */
export function emitPointwise(emitter: Emitter, { request, math, y, window }: Parts): boolean {
  const { groups, epilogue } = request;
  const isPlain =
    groups === 1 &&
    window.kernel.every((taps) => taps === 1) &&
    window.stride.every((stride) => stride === 1) &&
    window.pad.every((pad) => pad === 0);
  const x = spatialOf(request.x);
  const isSame = x.size.every((size, axis) => size === y.size[axis]);
  if (!isPlain || !isSame || storageOf[math] !== request.x.type) return false;
  if (math === "tf32" && !emitter.tf32) return false;
  const views = [x, y, ...(epilogue.residual ? [spatialOf(epilogue.residual)] : [])];
  const isWhole = views.every((view) => positionStride(view) !== 0);
  const matrices = views.map((view) => (isWhole ? matrixOf(view) : matricesOf(view)));
  const [a, to, residual] = matrices;
  if (a === undefined || to === undefined || matrices.includes(undefined)) return false;
  const [filters = 1, channels = 1] = request.w.shape;
  const w = emitter.packed(
    { ...request.w, shape: [filters, channels], strides: request.w.strides.slice(0, 2) },
    { type: a.type },
  );
  const b = permuted(w, [1, 0]);
  emitGemm(emitter, {
    a,
    b: isWhole ? b : { ...b, shape: [1, ...b.shape], strides: [0, ...b.strides] },
    to,
    epilogue: { ...epilogue, residual },
  });
  return true;
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
