/** @file Convolutions whose filters see one channel each. */
import type { Emitter } from "../../plan/lowering.ts";
import { ParamWriter } from "../../plan/params.ts";
import { bytesMoved, passMicroseconds } from "../../plan/predict.ts";
import type { PlanTarget } from "../../plan/step.ts";
import { bytesOfType, type FloatStorage, isFloatStorage } from "../../plan/storage.ts";
import { channelsLastOrder, permuted, type View } from "../../plan/view.ts";
import type { ConvRequest } from "../conv/conv.ts";
import { type Window, writeActivations } from "../conv/params.ts";
import {
  channelAlignment,
  isChannelsLast,
  type Spatial,
  spatialOf,
  vectorWidth,
  writeDivisor,
  writePlacement,
} from "../conv/spatial.ts";

const names: Readonly<Record<FloatStorage, string>> = { float16: "f16", bfloat16: "bf16", float32: "f32" };

export interface DepthwiseVariant {
  readonly suffix: string;
  /** Channels of one thread, and its positions along the width. */
  readonly vector: number;
  readonly strip: number;
}

/** Taps and stride along the width that have a kernel of their own, with strips and with single positions. */
const rows: readonly { readonly taps: number; readonly stride: number; readonly few: boolean }[] = [
  { taps: 3, stride: 1, few: true },
  { taps: 3, stride: 2, few: false },
  { taps: 5, stride: 1, few: true },
  { taps: 5, stride: 2, few: false },
  { taps: 7, stride: 1, few: true },
];

const threads = 128;

/** What the choice depends on: of the output, but for `alignment`, the bytes that runs of channels are aligned to in x. */
export interface DepthwiseProblem {
  readonly type: FloatStorage;
  readonly channels: number;
  readonly filters: number;
  readonly positions: number;
  readonly taps: number;
  readonly stride: number;
  readonly dilation: number;
  readonly alignment: number;
  /** Channels that can be written at once. */
  readonly width: number;
}

/** Strips save reads, single positions fill more of the GPU. */
export function depthwiseVariant(problem: DepthwiseProblem, target: PlanTarget): DepthwiseVariant {
  const { type, channels, filters, positions, taps, stride, dilation, alignment, width } = problem;
  const vector = 16 / bytesOfType(type);
  if (channels !== filters || channels % vector !== 0 || alignment < 16 || width < vector) {
    return { suffix: "single", vector: 1, strip: 4 };
  }
  // A stride of single positions does not matter.
  const isFew = (positions * filters) / vector < 4 * 512 * target.multiprocessors;
  const few = rows.find((row) => row.few && row.taps === taps && dilation === 1);
  if (isFew && few !== undefined) return { suffix: `k${taps}s1_few`, vector, strip: 1 };
  const row = rows.find((each) => each.taps === taps && each.stride === stride && dilation === 1);
  return row === undefined
    ? { suffix: "any", vector, strip: 2 }
    : { suffix: `k${taps}s${stride}`, vector, strip: 4 };
}

/** Of one multiply-add: what an H200 takes (bench/results/gpu-conv.json), waiting for loads included. */
function instructionsOf({ strip }: DepthwiseVariant): number {
  return strip === 1 ? 16 : 8;
}

export function emitDepthwise(emitter: Emitter, request: ConvRequest, window: Window): void {
  const order = channelsLastOrder(request.x.shape.length);
  const type = isFloatStorage(request.x.type) ? request.x.type : "float32";
  const given = spatialOf(request.x);
  const x = isChannelsLast(given) ? given : spatialOf(emitter.packed(request.x, { order }));
  const y = spatialOf(request.to);
  const filters = y.channels;
  const positions = y.batch * y.size[0] * y.size[1] * y.size[2];
  const variant = depthwiseVariant(
    {
      type,
      channels: x.channels,
      filters,
      positions,
      taps: window.kernel[2],
      stride: window.stride[2],
      dilation: window.dilation[2],
      alignment: channelAlignment(x),
      width: vectorWidth(y, 8),
    },
    emitter.target,
  );
  const w = packedWeights(emitter, request.w);
  const strips = Math.ceil(y.size[2] / variant.strip);
  const count = (filters / variant.vector) * strips * y.size[1] * y.size[0] * y.batch;
  const residual = request.epilogue.residual && spatialOf(request.epilogue.residual);
  const taps = window.kernel[0] * window.kernel[1] * window.kernel[2];
  const reads = [x.view, w, request.epilogue.scale, request.epilogue.bias, residual?.view].filter(
    (view) => view !== undefined,
  );
  const work = {
    bytes: bytesMoved([...reads, y.view]),
    instructions: positions * filters * taps * instructionsOf(variant),
  };
  emitter.launch({
    kernel: { kind: "built", family: "depthwise", entry: `depthwise_${names[type]}_${variant.suffix}` },
    grid: [Math.ceil(count / threads), 1, 1],
    block: [threads, 1, 1],
    sharedBytes: 0,
    params: depthwiseParams({ request, window, x, y, residual, w, variant, strips, count }),
    reads,
    writes: [y.view],
    flops: 2 * positions * filters * taps,
    predictedMicroseconds: passMicroseconds(work, emitter.target),
    detail: `depthwise ${window.kernel.join("x")}, ${variant.strip} positions of ${variant.vector} channels`,
  });
}

/** [tap, filter], float32. */
function packedWeights(emitter: Emitter, w: View): View {
  const axes = w.shape.map((_, axis) => axis);
  return emitter.packed(permuted(w, [...axes.slice(2), 1, 0]), { type: "float32" });
}

interface Fields {
  readonly request: ConvRequest;
  readonly window: Window;
  readonly x: Spatial;
  readonly y: Spatial;
  readonly residual: Spatial | undefined;
  readonly w: View;
  readonly variant: DepthwiseVariant;
  readonly strips: number;
  readonly count: number;
}

/** `DepthwiseParams` of depthwise.cu. */
function depthwiseParams({ request, window, x, y, residual, w, variant, strips, count }: Fields) {
  const { epilogue } = request;
  const params = new ParamWriter()
    .pointer(x.view)
    .pointer(w)
    .pointer(y.view)
    .pointer(residual?.view)
    .pointer(epilogue.scale)
    .pointer(epilogue.bias)
    .i32(count, y.channels, y.size[2])
    .i32(...window.kernel, ...x.size, ...window.stride, ...window.dilation, ...window.pad)
    .i32(x.batchStride, ...x.strides, x.channelStride);
  writeDivisor(params, y.channels / variant.vector);
  writeDivisor(params, strips);
  writeDivisor(params, y.size[1]);
  writeDivisor(params, y.size[0]);
  writeDivisor(params, y.channels / x.channels);
  writePlacement(params, y, 8);
  writePlacement(params, residual, 8);
  return writeActivations(params, epilogue).done();
}
