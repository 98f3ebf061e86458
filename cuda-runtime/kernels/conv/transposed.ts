/**
 * @file Transposed convolution as plain ones: output positions that are a stride apart read the same taps.
 *
 * Along one axis, position `a + stride · q` (a: phase) gets x[q + (a + pad − tap · dilation) / stride] · w[tap] for the
 * taps for which that is a whole number. They are an arithmetic sequence; backwards, it is a convolution over x.
 */

import type { Emitter } from "../../ir/emitter.ts";
import { permuted, reshaped, sliced, type View } from "../../ir/view.ts";
import { type ConvRequest, emitConv } from "./conv.ts";

/** Of a transposed convolution: w is [C, K / groups, …taps], and `pads` are what is cut off in front. */
export type ConvTransposeRequest = ConvRequest;

/** One axis of one phase. */
export interface Phase {
  readonly start: number;
  readonly count: number;
  /** Taps from the last to the first, `tapStep` apart: w[lastTap − tapStep · i]. */
  readonly lastTap: number;
  readonly tapStep: number;
  readonly taps: number;
  readonly dilation: number;
  readonly pad: number;
}

export function phasesOf(
  output: number,
  taps: number,
  stride: number,
  dilation: number,
  pad: number,
): Phase[] {
  const common = greatestCommonDivisor(stride, dilation);
  const tapStep = stride / common;
  const phases: Phase[] = [];
  for (let start = 0; start < Math.min(stride, output); start++) {
    const count = Math.ceil((output - start) / stride);
    const first = firstTap(start + pad, stride, dilation, Math.min(tapStep, taps));
    const used = first === undefined ? 0 : Math.ceil((taps - first) / tapStep);
    const lastTap = (first ?? 0) + Math.max(0, used - 1) * tapStep;
    phases.push({
      start,
      count,
      lastTap,
      tapStep,
      taps: used,
      dilation: dilation / common,
      pad: used === 0 ? 0 : -(start + pad - lastTap * dilation) / stride,
    });
  }
  return phases;
}

function firstTap(at: number, stride: number, dilation: number, among: number): number | undefined {
  for (let tap = 0; tap < among; tap++) if ((at - tap * dilation) % stride === 0) return tap;
  return undefined;
}

function greatestCommonDivisor(a: number, b: number): number {
  return b === 0 ? a : greatestCommonDivisor(b, a % b);
}

export function emitConvTranspose(emitter: Emitter, request: ConvTransposeRequest): void {
  const { to, w, strides, dilations, pads } = request;
  const weights = filtersFirst(emitter, w, request.groups);
  const byAxis = to.shape
    .slice(2)
    .map((size, axis) =>
      phasesOf(size, w.shape[axis + 2] ?? 1, strides[axis] ?? 1, dilations[axis] ?? 1, pads[axis] ?? 0),
    );
  for (const phases of combinations(byAxis)) emitPhase(emitter, request, weights, phases);
}

/** [C, K / groups, …] as [K, C / groups, …]; groups of channels and of filters belong together. */
function filtersFirst(emitter: Emitter, w: View, groups: number): View {
  const [channels = 1, perGroup = 1, ...taps] = w.shape;
  const split = reshaped(w, [groups, channels / groups, perGroup, ...taps]);
  const turned = split && permuted(split, [0, 2, 1, ...taps.map((_, axis) => axis + 3)]);
  if (turned === undefined) throw new Error("tc-lint bug: an axis cannot be split");
  const shape = [groups * perGroup, channels / groups, ...taps];
  const joined = reshaped(turned, shape) ?? reshaped(emitter.packed(turned), shape);
  if (joined === undefined) throw new Error("tc-lint bug: a packed view cannot be reshaped");
  return joined;
}

function combinations<T>(lists: readonly (readonly T[])[]): T[][] {
  let all: T[][] = [[]];
  for (const list of lists) all = all.flatMap((head) => list.map((item) => [...head, item]));
  return all;
}

function emitPhase(
  emitter: Emitter,
  request: ConvTransposeRequest,
  weights: View,
  phases: readonly Phase[],
): void {
  const ofPhase = (view: View) =>
    phases.reduce(
      (part, { start, count }, axis) => sliced(part, axis + 2, start, count, request.strides[axis] ?? 1),
      view,
    );
  const w = phases.reduce(
    (part, { lastTap, taps, tapStep }, axis) => sliced(part, axis + 2, lastTap, taps, -tapStep),
    weights,
  );
  const { residual } = request.epilogue;
  emitConv(emitter, {
    x: request.x,
    w,
    to: ofPhase(request.to),
    strides: phases.map(() => 1),
    dilations: phases.map(({ dilation }) => dilation),
    pads: phases.map(({ pad }) => pad),
    groups: request.groups,
    operands: request.operands,
    epilogue: { ...request.epilogue, residual: residual && ofPhase(residual) },
  });
}
