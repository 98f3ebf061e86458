/** @file Convolutions whose filters see one channel each. */

import { counted } from "../../../src/ir/format.ts";
import type { Candidate } from "../../cost/candidate.ts";
import { bytesMoved } from "../../cost/predict.ts";
import type { Emitter } from "../../ir/emitter.ts";
import { writeParams } from "../../ir/param-table.ts";
import { questionKey } from "../../ir/question.ts";
import { type FloatStorage, isFloatStorage } from "../../ir/storage.ts";
import { channelsLastOrder, permuted, type View } from "../../ir/view.ts";
import type { ConvRequest } from "../conv/operands.ts";
import { activationFields, type Window } from "../conv/params.ts";
import {
  channelAlignment,
  divisorFields,
  isChannelsLast,
  isWalkable,
  placementFields,
  planeStrides,
  type Spatial,
  spatialOf,
  vectorWidth,
} from "../conv/spatial.ts";
import { depthwiseRingStruct } from "../depthwise-hopper/params.table.ts";
import { depthwiseCandidates, maxThreads } from "./choose.ts";
import { diagonalBlock } from "./diagonal.ts";
import { depthwiseStruct } from "./params.table.ts";
import { type DepthwiseChoice, type DepthwiseProblem, type Ring, tileCount } from "./problem.ts";

const names: Readonly<Record<FloatStorage, string>> = { float16: "f16", bfloat16: "bf16", float32: "f32" };

export function emitDepthwise(
  emitter: Emitter,
  request: ConvRequest,
  window: Window,
  accepts?: (choice: DepthwiseChoice) => boolean,
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
    isPlain: isPlain(request, window),
    isWalkable: [x, y].every(isWalkable),
    activation: request.epilogue.activation.kind,
  };
  const { target } = emitter;
  const about = { request, window };
  emitter.choose({
    key: () => questionKey("depthwise", { ...about, x: x.view, constant: emitter.isConstant(request.w) }),
    candidates: () =>
      depthwiseCandidates(problem, target, accepts).map((launch) => ({
        launch,
        microseconds: launch.microseconds,
      })),
    variantOf: ({ launch }) => variantOf(launch),
    nameOf: ({ launch }) => detailOf(window, launch),
    emit: (to, candidate) =>
      launchTiles(to, candidate, { ...about, problem, type, x, y, residual, w, reads }),
  });
}

/** As diagonal kernels take it. */
function isPlain({ x, w, to, operands, epilogue }: ConvRequest, { pad }: Window): boolean {
  const isOfOneType = [w.type, to.type, operands ?? x.type].every((type) => type === x.type);
  const { residual, last } = epilogue;
  return isOfOneType && residual === undefined && last.kind === "none" && pad[0] === 0;
}

/** Of one convolution, which of its forms it is. */
export function variantOf({ suffix, diagonal, wide, high, vector }: DepthwiseChoice): string {
  if (diagonal === undefined) return suffix;
  const stages = diagonal.ring === undefined ? "" : ` ${diagonal.ring.stages}`;
  return `${suffix} ${wide}x${high}x${vector} ${diagonal.blocks}${stages}`;
}

interface Emitted extends Omit<Fields, "choice" | "count"> {
  readonly problem: DepthwiseProblem;
  readonly type: FloatStorage;
  readonly reads: readonly View[];
}

function detailOf({ kernel }: Window, { wide, high, vector, diagonal }: DepthwiseChoice): string {
  const each = `${wide}x${high} positions of ${vector} channels`;
  const { blocks, ring } = diagonal ?? {};
  const ofBlocks = blocks === undefined ? "" : ` a block, ${counted(blocks, "block")}`;
  const stages = ring === undefined ? "" : ` of ${counted(ring.stages, "stage")}`;
  return `depthwise ${kernel.join("x")}, ${each}${ofBlocks}${stages}`;
}

function launchTiles(
  emitter: Emitter,
  { launch: choice, microseconds }: Candidate<DepthwiseChoice>,
  { problem, type, reads, ...fields }: Emitted,
): void {
  const { window, y } = fields;
  const positions = y.batch * y.size[0] * y.size[1] * y.size[2];
  const taps = window.kernel[0] * window.kernel[1] * window.kernel[2];
  const { count, grid, block } = launchShape(choice, problem);
  const ring = choice.diagonal?.ring;
  const family = ring === undefined ? "depthwise" : "depthwise-hopper";
  const common = depthwiseFields({ ...fields, choice, count });
  const { scale, bias } = fields.request.epilogue;
  const isWeight = [fields.request.w, scale, bias].every(
    (view) => view === undefined || emitter.isConstant(view),
  );
  emitter.launch({
    kernel: { kind: "built", family, entry: `depthwise_${names[type]}_${choice.suffix}` },
    ...{ grid, block, sharedBytes: choice.sharedBytes },
    params:
      ring === undefined
        ? writeParams(depthwiseStruct, common)
        : ringParams(ring, common, { ...fields, choice }, isWeight),
    reads,
    writes: [y.view],
    flops: 2 * positions * problem.filters * taps,
    predictedMicroseconds: microseconds,
    detail: detailOf(window, choice),
  });
}

function launchShape(choice: DepthwiseChoice, problem: DepthwiseProblem) {
  const { block, vector, diagonal } = choice;
  const tiles = tileCount(choice, problem);
  const pieces = Math.ceil(problem.filters / vector);
  if (diagonal !== undefined) {
    const grid = [diagonal.blocks, 1, 1] as const;
    return { count: tiles * pieces, grid, block: diagonalBlock(choice) } as const;
  }
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

function depthwiseFields({ request, window, x, y, residual, w, choice, count }: Fields) {
  const { epilogue } = request;
  return {
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
    pieces: divisorFields(Math.ceil(y.channels / choice.vector)),
    strips: divisorFields(Math.ceil(y.size[2] / choice.wide)),
    height: divisorFields(Math.ceil(y.size[1] / choice.high)),
    depth: divisorFields(y.size[0]),
    filtersPerChannel: divisorFields(y.channels / x.channels),
    to: placementFields(y, 8),
    from: placementFields(residual, 8),
    ...{ high: choice.high, wide: choice.wide },
    ...{ pitch: choice.diagonal?.pitch ?? 0, stage: choice.diagonal?.stage ?? 0 },
    activation: activationFields(epilogue.activation),
    last: activationFields(epilogue.last),
  };
}

function ringParams(
  { stages, across, down, rowBytes, oddBytes, shift, mask }: Ring,
  p: ReturnType<typeof depthwiseFields>,
  { x, y, window, choice }: Pick<Fields, "x" | "y" | "window" | "choice">,
  isWeight: boolean,
) {
  const stride = window.stride[2];
  return writeParams(depthwiseRingStruct, {
    x: { ...imagesOf(x), box: [choice.vector, across * stride, down, 1], steps: [1, stride, 1, 1] },
    y: { ...imagesOf(y), box: [choice.vector, choice.wide, 1, 1] },
    p,
    ...{
      isWeight: isWeight ? 1 : 0,
      stages,
      row: rowBytes,
      odd: oddBytes,
      swizzleShift: shift,
      swizzleMask: mask,
    },
    filledBytes: down * rowBytes * stride,
  });
}

/** Of a descriptor: channels, width, height, batch. */
function imagesOf(images: Spatial) {
  const { view, channels, size, batch } = images;
  return { view, sizes: [channels, size[2], size[1], batch], strides: planeStrides(images) };
}
