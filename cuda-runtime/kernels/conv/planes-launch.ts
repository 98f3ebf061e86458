/** @file Launches of a convolution over planes: weights arranged, the image packed, the product. */
import type { Emitter } from "../../ir/emitter.ts";
import type { Activation } from "../../ir/epilogue.ts";
import { type ValuesOf, writeParams } from "../../ir/param-table.ts";
import type { ParamBlock } from "../../ir/params.ts";
import { type StorageType, storageTypes } from "../../ir/storage.ts";
import { elementCount, type View } from "../../ir/view.ts";
import {
  type packedCodesStruct,
  packPlanesStruct,
  type planeCodesStruct,
  planesStruct,
  planeWeightsStruct,
  type planeWindowStruct,
  slotsOfPixel,
} from "../conv-planes/params.table.ts";
import type { CodeNumbers } from "../gemm-int8/codes.ts";
import { quotientFields } from "../gemm-int8/tail.ts";
import { type Parts, storageOf, tapsOf } from "./operands.ts";
import { activationFields, type Window } from "./params.ts";
import { describePlanes, type PlaneChoice } from "./planes.ts";
import { type PlaneStage, type Planes, planeSharedBytes, planeThreads } from "./planes-table.ts";
import { divisorFields, type Spatial, spatialOf, vectorWidth } from "./spatial.ts";

const pixelBytes = 2 * slotsOfPixel;

/** Of a convolution of codes. */
export interface PlaneCodes {
  /** x's zero point, and what floats of x are quantized by. */
  readonly zero: number;
  readonly quantizer: CodeNumbers | undefined;
  /** Sums times this are codes' distances from their zero point: one, or one a filter. */
  readonly scale: View;
  /** int32, one a filter. */
  readonly addend: View | undefined;
  /** One code of y; undefined: 0. */
  readonly zeroOut: View | undefined;
  readonly low: number;
  readonly high: number;
}

/** @param codes Where x holds codes, or floats that are quantized to some, and y codes. */
export function emitPlanes(emitter: Emitter, parts: Parts, choice: PlaneChoice, codes?: PlaneCodes): void {
  const weights = emitWeights(emitter, parts, choice);
  const planes = emitPacking(emitter, parts, choice, codes);
  emitProduct(emitter, parts, choice, { planes, w: weights, codes });
}

/** Pixels of a plane, with those behind the images that the last tile reaches. */
function pitchOf({ planes, tile, stage, tilesM }: PlaneChoice): number {
  const ends = stage.runs.map(({ from, pixels }) => from + pixels);
  const reach = ends.reduce((most, end) => Math.max(most, end), tile.rows) - tile.rows;
  return Math.max(planes.positions, tilesM * tile.rows + reach);
}

const sourceNames: Readonly<Partial<Record<StorageType, string>>> = {
  ...{ float32: "f32", float16: "f16", bfloat16: "bf16", uint8: "u8", int8: "s8" },
};

function emitPacking(
  emitter: Emitter,
  { request, math, window }: Parts,
  choice: PlaneChoice,
  codes: PlaneCodes | undefined,
): View {
  const { planes } = choice;
  const x = spatialOf(request.x);
  const pitch = pitchOf(choice);
  const to = emitter.temporary(storageOf[math], [planes.count, pitch, slotsOfPixel]);
  const source = sourceNames[request.x.type];
  if (source === undefined) throw new Error(`tc-lint bug: planes of ${request.x.type}`);
  emitter.launch({
    kernel: {
      kind: "built",
      family: "conv-planes",
      entry: `conv_planes_pack_${codes === undefined ? "" : "codes_"}${source}`,
    },
    grid: [Math.ceil(pitch / (2 * packThreads)), planes.count, 1],
    block: [packThreads, 1, 1],
    sharedBytes: 0,
    params: packingParams({ x, to, window, planes, pitch, codes }),
    reads: [x.view],
    writes: [to],
    predictedMicroseconds: choice.packMicroseconds,
    detail: `${planes.count} planes of ${planes.rows}x${planes.columns}, ${planes.slots} slots`,
  });
  return to;
}

interface Packing {
  readonly x: Spatial;
  readonly to: View;
  readonly window: Window;
  readonly planes: Planes;
  readonly pitch: number;
  readonly codes: PlaneCodes | undefined;
}

function packingParams({ x, to, window, planes, pitch, codes }: Packing): ParamBlock {
  const slots = Array.from({ length: planes.slots }, (_, slot) => ({
    column: Math.floor(slot / x.channels),
    channel: slot % x.channels,
  }));
  return writeParams(packPlanesStruct, {
    x: x.view,
    to,
    toType: storageTypes[to.type].code,
    pixels: planes.positions,
    pitch,
    slots: planes.slots,
    slotAt: slots.map(({ column, channel }) => column * x.strides[2] + channel * x.channelStride),
    slotColumn: slots.map(({ column }) => column),
    columns: divisorFields(planes.columns),
    rows: divisorFields(planes.rows),
    stride: window.stride.slice(1),
    pad: window.pad.slice(1),
    size: x.size.slice(1),
    xBatch: x.batchStride,
    xAxes: x.strides.slice(1),
    codes: packedFields(codes),
  });
}

function packedFields(codes: PlaneCodes | undefined): ValuesOf<typeof packedCodesStruct> {
  return { zero: codes?.zero ?? 0, to: quotientFields(codes?.quantizer) };
}

const packThreads = 128;

function emitWeights(emitter: Emitter, parts: Parts, { planes, tile, stage, tilesN }: PlaneChoice): View {
  const { w, math, filters, channels } = parts;
  const eights = stage.places.length;
  const order = orderOf(stage);
  const taps = order.flatMap((index) => {
    const tap = planes.taps[index];
    return tap === undefined ? [-1, 0] : [tap.kernelRow, tap.kernelColumn];
  });
  const to = emitter.temporary(storageOf[math], [tilesN, eights, tile.filters, slotsOfPixel]);
  const count = tilesN * eights * tile.filters * slotsOfPixel;
  const table = emitter.constant("int32", [eights, 2], taps);
  emitter.launch({
    kernel: { kind: "built", family: "conv-planes", entry: "conv_planes_weights" },
    grid: [Math.ceil(count / 256), 1, 1],
    block: [256, 1, 1],
    sharedBytes: 0,
    params: writeParams(planeWeightsStruct, {
      w: w.view,
      to,
      taps: table,
      type: storageTypes[w.view.type].code,
      toType: storageTypes[to.type].code,
      count,
      eights,
      tileFilters: tile.filters,
      filters,
      channels,
      slots: planes.slots,
      kernelWidth: w.size[2],
      wFilter: w.batchStride,
      wChannel: w.channelStride,
      wAxes: w.strides.slice(1),
    }),
    reads: [w.view, table],
    writes: [to],
    detail: "weights by steps",
  });
  return to;
}

/** Taps by their places: of a step, the second eight are further than the first. */
function orderOf({ places }: PlaneStage): number[] {
  return [...places.keys()].sort((a, b) => (places[a] ?? 0) - (places[b] ?? 0));
}

/** Of each step, the descriptor's low word: where its first eight begin in the stage, and how far the others are. */
function stepWords(stage: PlaneStage): number[] {
  const places = orderOf(stage).map((index) => stage.places[index] ?? 0);
  return Array.from({ length: places.length / 2 }, (_, step) => {
    const [first = 0, second = 0] = places.slice(2 * step);
    return first + (second - first) * 2 ** 16;
  });
}

interface Operands {
  readonly planes: View;
  readonly w: View;
  readonly codes: PlaneCodes | undefined;
}

function emitProduct(emitter: Emitter, parts: Parts, choice: PlaneChoice, operands: Operands): void {
  const { y, request, filters, channels } = parts;
  const { tile, stage, stages, tilesM, tilesN, blocks } = choice;
  const { epilogue } = request;
  const { planes, w, codes } = operands;
  const ends =
    codes === undefined ? [epilogue.scale, epilogue.bias] : [codes.scale, codes.addend, codes.zeroOut];
  const resident = Math.max(1, Math.floor((emitter.target.multiprocessors * blocks) / tilesN));
  const positions = y.batch * y.size[1] * y.size[2];
  emitter.launch({
    kernel: { kind: "built", family: "conv-planes", entry: tile.entry },
    grid: [Math.min(tilesM, resident), tilesN, 1],
    block: [planeThreads, 1, 1],
    sharedBytes: planeSharedBytes(tile, stage, stages),
    params: productParams(parts, choice, operands),
    reads: [planes, w, ...ends].filter((view) => view !== undefined),
    writes: [y.view],
    flops: 2 * positions * filters * channels * tapsOf(parts),
    predictedMicroseconds: choice.productMicroseconds,
    detail: `${describePlanes(choice)}; ${positions} x ${filters} x ${channels * tapsOf(parts)}`,
  });
}

function productParams(parts: Parts, choice: PlaneChoice, { planes, w, codes }: Operands): ParamBlock {
  const { y, request, filters } = parts;
  const { stage, stages, tilesM } = choice;
  const { epilogue } = request;
  const pitch = pitchOf(choice);
  const { first, low, high } = limitsOf(epilogue.activation);
  return writeParams(planesStruct, {
    planes,
    w,
    scale: codes?.scale ?? epilogue.scale,
    bias: epilogue.bias,
    y: y.view,
    positions: choice.planes.positions,
    tiles: tilesM,
    filters,
    storeWidth: vectorWidth(y, filters),
    steps: stage.places.length / 2,
    stages,
    stageBytes: stage.pixels * pixelBytes,
    copiedBytes: stage.copiedPixels * pixelBytes,
    copies: stage.runs.length,
    copyTo: stage.runs.map(({ to }) => to * pixelBytes),
    copyFrom: stage.runs.map(({ plane, from }) => plane * pitch + from),
    copyBytes: stage.runs.map(({ pixels }) => pixels * pixelBytes),
    step: stepWords(stage),
    window: windowFields(parts, choice),
    columns: divisorFields(choice.planes.columns),
    rows: divisorFields(choice.planes.rows),
    size: y.size.slice(1),
    yBatch: y.batchStride,
    yAxes: y.strides.slice(1),
    activation: activationFields(first),
    low,
    high,
    codes: codeFields(codes, y.view),
  });
}

function codeFields(codes: PlaneCodes | undefined, y: View): ValuesOf<typeof planeCodesStruct> {
  const { addend, zeroOut, scale, low = 0, high = 0 } = codes ?? {};
  const scaleStep = scale === undefined || elementCount(scale.shape) === 1 ? 0 : 1;
  return { addend, zeroOut, isSigned: y.type === "int8", scaleStep, low, high };
}

function windowFields({ window, channels }: Parts, choice: PlaneChoice): ValuesOf<typeof planeWindowStruct> {
  const { planes } = choice;
  const { columnsOfPixel } = planes;
  return {
    isUneven: window.kernel[2] % columnsOfPixel !== 0,
    planes: planes.count,
    pitch: pitchOf(choice),
    kernel: window.kernel.slice(1),
    stride: window.stride[1],
    columnsOfPixel,
    pixelStep: Math.floor(columnsOfPixel / window.stride[2]),
    channels,
  };
}

/** What is a clip goes without the formulas. */
function limitsOf(activation: Activation): { first: Activation; low: number; high: number } {
  const none: Activation = { kind: "none", a: 0, b: 0 };
  const { kind, a, b } = activation;
  if (kind === "relu") return { first: none, low: 0, high: Number.POSITIVE_INFINITY };
  if (kind === "clip") return { first: none, low: a, high: b };
  return { first: activation, low: Number.NEGATIVE_INFINITY, high: Number.POSITIVE_INFINITY };
}
