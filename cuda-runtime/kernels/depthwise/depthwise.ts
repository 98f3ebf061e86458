/** @file Convolutions whose filters see one channel each. */

import { bytesMoved } from "../../cost/predict.ts";
import type { Emitter } from "../../ir/emitter.ts";
import { writeParams } from "../../ir/param-table.ts";
import { type FloatStorage, isFloatStorage } from "../../ir/storage.ts";
import { channelsLastOrder, permuted, type View } from "../../ir/view.ts";
import type { ConvRequest } from "../conv/operands.ts";
import { activationFields, type Window } from "../conv/params.ts";
import {
  channelAlignment,
  divisorFields,
  isChannelsLast,
  placementFields,
  type Spatial,
  spatialOf,
  vectorWidth,
} from "../conv/spatial.ts";
import {
  chooseDepthwise,
  type DepthwiseChoice,
  type DepthwiseProblem,
  maxThreads,
  type TileRow,
  tileCount,
} from "./choose.ts";
import { depthwiseStruct } from "./params.table.ts";

const names: Readonly<Record<FloatStorage, string>> = { float16: "f16", bfloat16: "bf16", float32: "f32" };

export function emitDepthwise(
  emitter: Emitter,
  request: ConvRequest,
  window: Window,
  accepts?: (row: TileRow) => boolean,
): void {
  const order = channelsLastOrder(request.x.shape.length);
  const type = isFloatStorage(request.x.type) ? request.x.type : "float32";
  const given = spatialOf(request.x);
  const x = isChannelsLast(given) ? given : spatialOf(emitter.packed(request.x, { order }));
  const y = spatialOf(request.to);
  const filters = y.channels;
  const w = packedWeights(emitter, request.w);
  const residual = request.epilogue.residual && spatialOf(request.epilogue.residual);
  const reads = [x.view, w, request.epilogue.scale, request.epilogue.bias, residual?.view].filter(
    (view) => view !== undefined,
  );
  const problem: DepthwiseProblem = {
    ...{ type, channels: x.channels, filters, batch: y.batch, size: y.size },
    ...{ kernel: window.kernel, stride: window.stride, dilation: window.dilation },
    ...{ alignment: channelAlignment(x), width: vectorWidth(y, 8), bytes: bytesMoved([...reads, y.view]) },
  };
  const { launch: choice, microseconds } = chooseDepthwise(problem, emitter.target, accepts);
  const positions = y.batch * y.size[0] * y.size[1] * y.size[2];
  const taps = window.kernel[0] * window.kernel[1] * window.kernel[2];
  const { count, grid, block } = launchShape(choice, problem);
  emitter.launch({
    kernel: { kind: "built", family: "depthwise", entry: `depthwise_${names[type]}_${choice.suffix}` },
    ...{ grid, block, sharedBytes: choice.sharedBytes },
    params: depthwiseParams({ request, window, x, y, residual, w, choice, count }),
    reads,
    writes: [y.view],
    flops: 2 * positions * filters * taps,
    predictedMicroseconds: microseconds,
    detail: `depthwise ${window.kernel.join("x")}, ${choice.wide}x${choice.high} positions of ${choice.vector} channels`,
  });
}

function launchShape(choice: DepthwiseChoice, problem: DepthwiseProblem) {
  const { block, vector } = choice;
  const tiles = tileCount(choice, problem);
  const pieces = problem.filters / vector;
  if (block === undefined) {
    const count = tiles * pieces;
    return {
      count,
      grid: [Math.ceil(count / maxThreads), 1, 1],
      block: [maxThreads, 1, 1],
    } as const;
  }
  const [lanes, perBlock] = block;
  const grid = [Math.ceil(tiles / perBlock), Math.ceil(pieces / lanes), 1] as const;
  return { count: tiles, grid, block: [lanes, perBlock, 1] as const };
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
  readonly choice: DepthwiseChoice;
  readonly count: number;
}

function depthwiseParams({ request, window, x, y, residual, w, choice, count }: Fields) {
  const { epilogue } = request;
  return writeParams(depthwiseStruct, {
    x: x.view,
    w,
    y: y.view,
    residual: residual?.view,
    scale: epilogue.scale,
    bias: epilogue.bias,
    threads: count,
    filters: y.channels,
    outputWidth: y.size[2],
    outputHeight: y.size[1],
    kernel: window.kernel,
    input: x.size,
    stride: window.stride,
    dilation: window.dilation,
    pad: window.pad,
    xBatch: x.batchStride,
    xAxes: x.strides,
    xChannel: x.channelStride,
    pieces: divisorFields(y.channels / choice.vector),
    strips: divisorFields(Math.ceil(y.size[2] / choice.wide)),
    height: divisorFields(Math.ceil(y.size[1] / choice.high)),
    depth: divisorFields(y.size[0]),
    filtersPerChannel: divisorFields(y.channels / x.channels),
    to: placementFields(y, 8),
    from: placementFields(residual, 8),
    activation: activationFields(epilogue.activation),
    last: activationFields(epilogue.last),
  });
}
