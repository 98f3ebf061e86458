/** @file Convolutions whose taps are read from patches of the image (conv-halo.cu): which, and what they are launched with. */
import type { ActivationKind } from "../../ir/epilogue.ts";
import { writeParams } from "../../ir/param-table.ts";
import type { ParamBlock } from "../../ir/params.ts";
import { convHaloStruct } from "../conv-halo/params.table.ts";
import { gemmFields } from "../gemm/params.ts";
import { type Halo, haloSharedBytes, patchBytesOf, patchSide } from "./halo-table.ts";
import { type Parts, storageOf, tapsOf } from "./operands.ts";
import type { ConvFields, Window } from "./params.ts";
import {
  isChannelsLast,
  isWalkable,
  planeStrides,
  positionStride,
  type Spatial,
  spatialOf,
  vectorWidth,
} from "./spatial.ts";
import { productOf } from "./walk.ts";

/** The outputs by 8 by 8. */
export interface HaloWork {
  readonly patches: number;
  /** Of the input, a patch and its halo. */
  readonly positions: number;
  /** What is done to sums, before a residual is added. */
  readonly formula: ActivationKind;
}

/** Of a box of TMA, along an axis. */
const mostOfBox = 256;
/** What halo-end.cuh does behind the sums: alone, and in front of a residual. */
const formulas: ReadonlySet<ActivationKind> = new Set([
  "none",
  "relu",
  "clip",
  "gelu",
  "geluTanh",
  "silu",
  "tanh",
]);
const formulasBeforeResidual: ReadonlySet<ActivationKind> = new Set(["none", "relu", "clip", "silu"]);
const limits: ReadonlySet<ActivationKind> = new Set(["none", "relu", "clip"]);

/** Undefined where no kernel of patches takes it: several taps along two axes of stride 1, and an end that they know. */
export function haloOf(parts: Parts): HaloWork | undefined {
  const { window, y, request } = parts;
  const x = spatialOf(request.x);
  const [, down, across] = patchSizeOf(window);
  const isPlane = window.kernel[0] === 1 && x.size[0] === 1 && y.size[0] === 1;
  if (!isPlane || window.stride[1] !== 1 || window.stride[2] !== 1 || tapsOf(parts) === 1) return undefined;
  if (request.groups > 1 || down > mostOfBox || across > mostOfBox || !isEndKnown(parts)) return undefined;
  if (!isWalkable(x)) return undefined;
  const formula = request.epilogue.activation?.kind ?? "none";
  return { patches: patchesOf(y), positions: down * across, formula };
}

function isEndKnown({ request, math, y, filters }: Parts): boolean {
  const { scale, residual, activation, last } = request.epilogue;
  const from = residual && spatialOf(residual);
  const isAtHand = (of: Spatial) =>
    of.view.type === storageOf[math] && positionStride(of) !== 0 && isChannelsLast(of);
  if (scale !== undefined || ![y, ...(from === undefined ? [] : [from])].every(isAtHand)) return false;
  // A residual is read by pairs.
  if (from !== undefined && Math.min(vectorWidth(from, filters), vectorWidth(y, filters)) === 1) return false;
  const first = activation?.kind ?? "none";
  if (from === undefined) return formulas.has(first) && (last?.kind ?? "none") === "none";
  return formulasBeforeResidual.has(first) && limits.has(last?.kind ?? "none");
}

/** Positions of the input that the windows of 8 by 8 outputs reach, by axis. */
function patchSizeOf({ kernel, dilation }: Window): readonly [number, number, number] {
  const reach = (axis: 0 | 1 | 2) => patchSide + (kernel[axis] - 1) * dilation[axis];
  return [reach(0), reach(1), reach(2)];
}

/** Shared memory of a launch's block. */
export function haloBytesOf(window: Window, halo: Halo): number {
  const [, down, across] = patchSizeOf(window);
  return haloSharedBytes(halo, down * across);
}

function sidesOf({ size }: Spatial): { readonly across: number; readonly down: number } {
  return { across: Math.ceil(size[2] / patchSide), down: Math.ceil(size[1] / patchSide) };
}

/** Of 8 by 8 outputs, of all images. */
export function patchesOf(y: Spatial): number {
  const { across, down } = sidesOf(y);
  return y.batch * across * down;
}

/** Of the launch. `fields.x` has its channels at multiples of 16 bytes. */
export function haloParams(fields: ConvFields, { patches, channels, filters }: Halo): ParamBlock {
  const { x, w, y, window } = fields;
  const [, down, across] = patchSizeOf(window);
  const taps = window.kernel[1] * window.kernel[2];
  const boxes = Math.ceil(fields.channels / channels);
  const pitch = w.shape[1] ?? 1;
  const { across: patchesX, down: patchesY } = sidesOf(y);
  return writeParams(convHaloStruct, {
    x: {
      ...{ view: x.view, strides: planeStrides(x), box: [channels, across, down, 1] },
      sizes: [fields.channels, x.size[2], x.size[1], x.batch],
    },
    w: {
      view: w,
      sizes: [fields.channels, taps, fields.filters],
      strides: [pitch / taps, pitch],
      box: [channels, 1, filters],
    },
    p: gemmFields({
      problem: { ...productOf(fields, taps * boxes * channels), m: patchesOf(y) },
      tilesM: Math.ceil(patchesOf(y) / patches),
      tilesN: fields.tilesOfFilters,
      ...{ splits: 1, kPerSplit: taps * boxes * channels, splitStride: 0, aGrain: 16, bGrain: 16 },
      ahead: fields.isWeight ? "b" : undefined,
    }),
    ...{ boxes, taps, kernelX: window.kernel[2], width: y.size[2], height: y.size[1], patchesX, patchesY },
    ...{ dilationX: window.dilation[2], dilationY: window.dilation[1] },
    ...{ padX: window.pad[2], padY: window.pad[1], patchWidth: across },
    filledBytes: across * down * channels * 2,
    patchBytes: patchBytesOf(across * down, channels),
  });
}
