/** @file Convolutions on the GPU against loops in double precision. */

import type { Emitter } from "../../../cuda-runtime/ir/emitter.ts";
import {
  type Activation,
  type ActivationKind,
  type Epilogue,
  noActivation,
} from "../../../cuda-runtime/ir/epilogue.ts";
import type { PlanTarget } from "../../../cuda-runtime/ir/step.ts";
import { type FloatStorage, isHalfStorage } from "../../../cuda-runtime/ir/storage.ts";
import {
  channelsLastOrder,
  elementCount,
  sliced,
  stridesOf,
  type View,
} from "../../../cuda-runtime/ir/view.ts";
import { type ConvChoice, runsOn } from "../../../cuda-runtime/kernels/conv/choose.ts";
import {
  type ConvRequest,
  emitConv,
  emitConvPatches,
  emitConvPlanes,
  emitConvWidened,
} from "../../../cuda-runtime/kernels/conv/conv.ts";
import { type Halo, haloSharedBytes } from "../../../cuda-runtime/kernels/conv/halo-table.ts";
import type { PlaneTile } from "../../../cuda-runtime/kernels/conv/planes-table.ts";
import { triple } from "../../../cuda-runtime/kernels/conv/spatial.ts";
import {
  type ConvMath,
  type ConvTile,
  convTiles,
  sumsInTeam,
} from "../../../cuda-runtime/kernels/conv/table.ts";
import { emitConvTranspose } from "../../../cuda-runtime/kernels/conv/transposed.ts";
import { tileRows } from "../../../cuda-runtime/kernels/depthwise/choose.ts";
import { emitDepthwise } from "../../../cuda-runtime/kernels/depthwise/depthwise.ts";
import { diagonalRows } from "../../../cuda-runtime/kernels/depthwise/diagonal.ts";
import type {
  DepthwiseChoice,
  DiagonalRow,
  RingRow,
  TileRow,
} from "../../../cuda-runtime/kernels/depthwise/problem.ts";
import { ringRows } from "../../../cuda-runtime/kernels/depthwise/ring.ts";
import type { Harness, KernelCase, Tolerance } from "../../../cuda-runtime/session/harness.ts";
import { extentOf } from "../../../cuda-runtime/session/view-bytes.ts";
import {
  convolved,
  finished,
  outputShapeOf,
  type ReferenceEpilogue,
  type Tensor,
  transposedConvolved,
  type WindowSpec,
} from "../conv-reference.ts";
import { withWeights } from "../with-weights.ts";

/**
 * How a tensor lies in memory: packed, or with channels that are part of more (`wide`) from the fourth on; of channels_last, one image and one column
 * for all (`repeated`, as Expand gives), or each axis of positions from its end (`mirrored`, as a reversed Slice gives).
 */
type Layout = "nhwc" | "nchw" | "wide" | "repeated" | "mirrored";

export interface Spec {
  readonly name: string;
  readonly math: ConvMath;
  readonly x: readonly number[];
  /** [K, C / groups, …taps]; [C, K / groups, …taps] of a transposed one. */
  readonly w: readonly number[];
  readonly groups?: number;
  readonly strides?: readonly number[];
  readonly dilations?: readonly number[];
  /** In front of all axes, then behind. */
  readonly pads?: readonly number[];
  /** Of a transposed one: the spatial sizes of its output. */
  readonly transposedTo?: readonly number[];
  readonly layout?: Layout;
  readonly outputLayout?: Layout;
  readonly source?: FloatStorage;
  readonly output?: FloatStorage;
  readonly affine?: "bias" | "both";
  readonly activation?: Activation;
  readonly residual?: { readonly type: FloatStorage; readonly layout: Layout };
  readonly last?: Activation;
  readonly accepts?: (choice: ConvChoice) => boolean;
  /** The depthwise kernel that it is for. */
  readonly tile?: TileRow | DiagonalRow | RingRow;
  /** Of its blocks, where it may have several: those that it is for. */
  readonly cut?: (choice: DepthwiseChoice) => boolean;
  /** As if the GPU had so many. */
  readonly multiprocessors?: number;
  /** With taps of a row as channels, or windows as rows of a product. */
  readonly way?: "wide rows" | "patches";
  /** Elements of x that are no usual numbers. */
  readonly odd?: readonly (readonly [index: number, value: number])[];
  /** Over planes, by such a kernel. */
  readonly planes?: (tile: PlaneTile) => boolean;
  /** Skipped where it does not hold. */
  readonly needs?: (target: PlanTarget) => boolean;
}

/** Whether there are products of the type. */
const has =
  (math: "f16" | "bf16") =>
  ({ features }: PlanTarget): boolean =>
    math === "bf16" ? features.bf16 : features.half;
export const hasWgmma = ({ features }: PlanTarget): boolean => features.wgmma;

const storage: Readonly<Record<ConvMath, FloatStorage>> = {
  f16: "float16",
  bf16: "bfloat16",
  tf32: "float32",
  f32: "float32",
};

export function activation(kind: ActivationKind, a = 0, b = 0): Activation {
  return { kind, a, b };
}

/** For sums of `depth` products of numbers up to 1. */
function toleranceOf(
  { math, output = storage[math], source = storage[math] }: Spec,
  depth: number,
): Tolerance {
  const relative = { float16: 1e-3, bfloat16: 8e-3, float32: 3e-6 }[output];
  const isRounded = source !== storage[math];
  const rounding = math === "bf16" ? 5e-3 : 6e-4;
  const operand = math === "tf32" || isRounded ? rounding : 3e-7;
  return { relative, absolute: operand * Math.sqrt(depth) * 2 + 2e-6 };
}

const wideBy = 8;

function stridesIn(shape: readonly number[], layout: Layout): { strides: number[]; offset: number } {
  if (layout === "nchw") return { strides: stridesOf(shape), offset: 0 };
  const order = channelsLastOrder(shape.length);
  const packed = stridesOf(shape, order);
  if (layout === "nhwc") return { strides: packed, offset: 0 };
  if (layout === "repeated") return { strides: packed.with(0, 0).with(-1, 0), offset: 0 };
  if (layout === "mirrored") {
    const strides = packed.map((stride, axis) => (axis < 2 ? stride : -stride));
    return { strides, offset: -extentOf(shape, strides).low };
  }
  return { strides: stridesOf(shape.with(1, (shape[1] ?? 1) + wideBy), order), offset: wideBy / 2 };
}

function input(
  harness: Harness,
  type: FloatStorage,
  shape: readonly number[],
  layout: Layout,
  seed: number,
): View {
  return harness.tensor(type, [...shape], { ...stridesIn(shape, layout), seed });
}

function withOdd(harness: Harness, x: View, odd: Spec["odd"]): View {
  if (odd === undefined) return x;
  const values = harness.values(x);
  for (const [index, value] of odd) values[index] = value;
  return harness.tensor(x.type, x.shape, { strides: x.strides, offset: x.offset, values });
}

function output(harness: Harness, type: FloatStorage, shape: readonly number[], layout: Layout): View {
  if (layout === "nchw") return harness.output(type, [...shape]);
  const order = channelsLastOrder(shape.length);
  if (layout === "nhwc") return harness.output(type, [...shape], order);
  const channels = shape[1] ?? 1;
  return sliced(harness.output(type, shape.with(1, channels + wideBy), order), 1, wideBy / 2, channels);
}

function windowOf({ w, strides, dilations, pads }: Spec): WindowSpec {
  const rank = w.length - 2;
  const fill = (values: readonly number[] | undefined, value: number) =>
    Array.from({ length: rank }, (_, axis) => values?.[axis] ?? value);
  return {
    strides: fill(strides, 1),
    dilations: fill(dilations, 1),
    padsBegin: fill(pads, 0),
    padsEnd: fill(pads?.slice(rank), 0),
  };
}

/** With weights that come before the launch waits, and with weights that do not. */
export function check(spec: Spec): (harness: Harness) => void {
  return (harness) => {
    const { target } = harness.emitter;
    if (spec.needs?.(target) === false) {
      console.log(`skipped: ${spec.name}: a kernel that does not run on ${target.architecture}`);
      return;
    }
    const given = givenOf(harness, spec);
    const expected = expectedOf(harness, spec, given);
    for (const weights of [[], [given.w]]) {
      const to = output(harness, spec.output ?? storage[spec.math], given.shape, spec.outputLayout ?? "nhwc");
      emitSpec(emitterOf(harness, spec, weights), spec, given, to);
      harness.execute();
      harness.expectClose(to, expected, toleranceOf(spec, given.depth), spec.name);
    }
  };
}

/** What a case is computed from. */
interface Given {
  readonly x: View;
  readonly w: View;
  readonly window: WindowSpec;
  /** Of the result. */
  readonly shape: readonly number[];
  /** Products that an element of it is the sum of. */
  readonly depth: number;
  readonly epilogue: Epilogue;
  readonly reference: ReferenceEpilogue;
}

function givenOf(harness: Harness, spec: Spec): Given {
  const { math, groups = 1, layout = "nhwc", transposedTo } = spec;
  const window = windowOf(spec);
  const x = withOdd(harness, input(harness, spec.source ?? storage[math], spec.x, layout, 1), spec.odd);
  const w = harness.tensor(storage[math], [...spec.w], { seed: 2 });
  const [first = 1, second = 1, ...taps] = spec.w;
  const shape =
    transposedTo === undefined
      ? outputShapeOf(spec.x, spec.w, window)
      : [spec.x[0] ?? 1, second * groups, ...transposedTo];
  const depth = (transposedTo === undefined ? second : first / groups) * elementCount(taps);
  return { x, w, window, shape, depth, ...epilogueOf(harness, spec, shape) };
}

/** Computed once. */
function expectedOf(harness: Harness, spec: Spec, { x, w, window, reference }: Given): () => Float64Array {
  const { groups = 1, transposedTo } = spec;
  let values: Float64Array | undefined;
  const compute = () => {
    const from: Tensor = { shape: spec.x, values: harness.values(x) };
    const weights: Tensor = { shape: spec.w, values: harness.values(w) };
    const sums =
      transposedTo === undefined
        ? convolved(from, weights, groups, window)
        : transposedConvolved(from, weights, groups, window, transposedTo);
    return finished(sums, reference);
  };
  return () => {
    values ??= compute();
    return values;
  };
}

function emitterOf({ emitter }: Harness, { math, multiprocessors }: Spec, weights: readonly View[]): Emitter {
  const target = { ...emitter.target, multiprocessors: multiprocessors ?? emitter.target.multiprocessors };
  return withWeights({ ...emitter, target, tf32: math === "tf32" }, weights);
}

function emitSpec(emitter: Emitter, spec: Spec, { x, w, window, epilogue }: Given, to: View): void {
  const { groups = 1, math } = spec;
  const common = { x, w, to, groups, operands: storage[math], epilogue };
  const request = { ...common, ...window, pads: window.padsBegin };
  if (spec.tile !== undefined) emitTile(emitter, request, spec.tile, spec.cut);
  else if (spec.way === "wide rows") emitConvWidened(emitter, request);
  else if (spec.way === "patches") emitByPatches(emitter, request);
  else if (spec.planes !== undefined) emitOverPlanes(emitter, request, spec.planes);
  else if (spec.transposedTo === undefined) emitConv(emitter, request, spec.accepts);
  else emitConvTranspose(emitter, request);
}

function emitByPatches(emitter: Emitter, request: ConvRequest): void {
  if (!emitConvPatches(emitter, request)) throw new Error("windows do not lie side by side");
}

function emitOverPlanes(emitter: Emitter, request: ConvRequest, accepts: (tile: PlaneTile) => boolean): void {
  if (!emitConvPlanes(emitter, request, accepts)) throw new Error("no kernel over planes takes it");
}

function emitTile(
  emitter: Emitter,
  request: ConvRequest,
  tile: TileRow | DiagonalRow | RingRow,
  cut: (choice: DepthwiseChoice) => boolean = () => true,
): void {
  const window = {
    kernel: triple(request.w.shape.slice(2), 1),
    stride: triple(request.strides, 1),
    dilation: triple(request.dilations, 1),
    pad: triple(request.pads, 0),
  };
  let isTaken = false;
  emitDepthwise(emitter, request, window, (choice) => {
    const isIt = choice.row === tile && cut(choice);
    if (isIt) isTaken = true;
    return isIt;
  });
  if (!isTaken) throw new Error("the tile was not asked for");
}

function epilogueOf(
  harness: Harness,
  spec: Spec,
  shape: readonly number[],
): { epilogue: Epilogue; reference: ReferenceEpilogue } {
  const channels = shape[1] ?? 1;
  const vector = (seed: number) => harness.tensor("float32", [channels], { seed });
  const bias = spec.affine === undefined ? undefined : vector(3);
  const scale = spec.affine === "both" ? vector(4) : undefined;
  const residual = spec.residual && input(harness, spec.residual.type, shape, spec.residual.layout, 5);
  const common = { activation: spec.activation ?? noActivation, last: spec.last ?? noActivation };
  return {
    epilogue: { ...common, bias, scale, residual },
    reference: {
      ...common,
      bias: bias && harness.values(bias),
      scale: scale && harness.values(scale),
      residual: residual && harness.values(residual),
    },
  };
}

/** Every kernel of the table, on sizes that fill no tile, with and without splits. */
function tileSpecs(tile: ConvTile): Spec[] {
  const { math, grain, source } = tile;
  const channels = { 16: isHalfStorage(storage[math]) ? 24 : 12, 8: 20, 4: 18, 0: 5 }[grain];
  const spec: Omit<Spec, "name"> = {
    math,
    source,
    x: [2, channels, 13, 11],
    w: [tile.filters + 12, channels, 3, 3],
    pads: [1, 1, 1, 1],
    affine: "bias",
    activation: activation("relu"),
    needs: (target) => runsOn(tile, target),
  };
  const accepts =
    (splits: number) =>
    (choice: ConvChoice): boolean =>
      choice.tile === tile && choice.splits === splits && !choice.copies;
  if (tile.halo !== undefined) return haloSpecs(tile, tile.halo);
  if (sumsInTeam(tile)) return teamSpecs(tile, { ...spec, w: [tile.filters + 16, channels, 3, 3] });
  const specs = [1, 2].map((splits) => ({
    ...spec,
    name: `${tile.entry}, ${splits} splits`,
    accepts: accepts(splits),
  }));
  const copied = tile.walk === undefined ? [] : endSpecs(tile, { ...spec, accepts: accepts(1) });
  if (grain !== 0) return [...specs, ...copied];
  return [
    ...specs,
    ...copied,
    { ...spec, name: `${tile.entry}, planar`, layout: "nchw", accepts: accepts(1) },
  ];
}

/** Of each number of blocks: parts of k that are not even, images whose positions fill no tile, and all that an end may have. */
function teamSpecs(tile: ConvTile, spec: Omit<Spec, "name">): Spec[] {
  const { math, entry, filters } = tile;
  const residual = { type: storage[math], layout: "nhwc" } as const;
  const pads = [1, 1, 1, 1];
  // A tile is of one group.
  const ofGroup = Math.max(64, filters);
  const shapes: readonly [name: string, spec: Partial<Spec>][] = [
    ["13x11", { ...spec, x: [2, 152, 13, 11], w: [filters + 16, 152, 3, 3] }],
    ["7x7", { x: [1, 136, 7, 7], w: [filters + 8, 136, 3, 3], pads, residual, last: activation("relu") }],
    ["14x14 of stride 2", { x: [2, 72, 27, 28], w: [40, 72, 3, 3], pads, strides: [2, 2] }],
    [
      "silu",
      { x: [1, 88, 9, 10], w: [filters, 88, 3, 3], pads, activation: activation("silu", 1), residual },
    ],
    ["odd filters", { x: [1, 160, 6, 7], w: [filters + 3, 160, 3, 3], affine: "both", residual }],
    ["3 groups", { x: [1, 3 * 64, 8, 9], w: [3 * ofGroup, 64, 3, 3], groups: 3, pads, residual }],
    ["float32 out", { x: [1, 104, 8, 8], w: [filters, 104, 3, 3], pads, output: "float32" }],
    ["a volume", { x: [1, 32, 6, 9, 10], w: [filters - 4, 32, 3, 3, 3], pads: [1, 1, 1, 1, 1, 1] }],
  ];
  return [2, 4, 8].flatMap((splits) =>
    shapes.map(([name, changes]) => ({
      ...{ math, affine: "bias" as const, x: [], w: [] },
      needs: (target) => runsOn(tile, target),
      ...changes,
      name: `${entry}, a cluster of ${splits}, ${name}`,
      accepts: (choice) => choice.tile === tile && choice.splits === splits && !choice.copies,
    })),
  );
}

/** What taps of a patch have to know, and all that the end may have; blocks that stay for several tiles, as on few multiprocessors. */
function haloSpecs(tile: ConvTile, halo: Halo): Spec[] {
  const { math, entry, filters } = tile;
  const pads = [1, 1, 1, 1];
  const residual = { type: storage[math], layout: "nhwc" } as const;
  const shapes: readonly (readonly [name: string, positions: number, spec: Partial<Spec>])[] = [
    ["13x11", 100, { x: [2, 24, 13, 11], w: [filters + 8, 24, 3, 3], pads, activation: activation("relu") }],
    ["136 channels", 100, { x: [3, 136, 8, 16], w: [filters - 8, 136, 3, 3], pads }],
    [
      "blocks that stay",
      100,
      { x: [5, 72, 20, 23], w: [2 * filters + 16, 72, 3, 3], pads, multiprocessors: 3, residual },
    ],
    ["7x7", 100, { x: [9, 64, 7, 7], w: [filters, 64, 3, 3], pads, activation: activation("geluTanh") }],
    [
      "silu and a residual",
      100,
      { x: [2, 88, 9, 10], w: [filters, 88, 3, 3], pads, activation: activation("silu", 1), residual },
    ],
    [
      "limits behind a residual",
      100,
      {
        ...{ x: [2, 40, 9, 30], w: [filters + 24, 40, 3, 3], pads, residual },
        last: activation("clip", -0.5, 0.75),
      },
    ],
    ["tanh", 100, { x: [1, 48, 9, 9], w: [filters, 48, 3, 3], pads, activation: activation("tanh") }],
    ["gelu", 100, { x: [1, 32, 9, 9], w: [filters, 32, 3, 3], pads, activation: activation("gelu") }],
    ["no padding", 100, { x: [1, 64, 18, 21], w: [filters, 64, 3, 3], activation: activation("silu", 1) }],
    ["padding that is cut off", 100, { x: [1, 56, 16, 19], w: [32, 56, 3, 3], pads: [-1, 2, 3, -2] }],
    ["dilations", 144, { x: [1, 72, 23, 19], w: [filters, 72, 3, 3], dilations: [2, 2], pads: [2, 2, 2, 2] }],
    ["4x2", 99, { x: [2, 40, 14, 17], w: [filters, 40, 4, 2], pads: [2, 0, 1, 1] }],
    ["1x5", 96, { x: [2, 64, 9, 33], w: [40, 64, 1, 5], pads: [0, 2, 0, 2], affine: "bias" }],
    ["one axis", 112, { x: [3, 24, 301], w: [96, 24, 7], pads: [6, 0] }],
    [
      "pairs of filters, a residual",
      100,
      { x: [2, 40, 11, 19], w: [filters - 2, 40, 3, 3], pads, activation: activation("relu"), residual },
    ],
    ["odd filters", 100, { x: [2, 32, 10, 17], w: [filters + 3, 32, 3, 3], pads, multiprocessors: 3 }],
    ["one filter", 100, { x: [2, 64, 10, 17], w: [1, 64, 3, 3], pads, activation: activation("relu") }],
    ["copied", 100, { x: [2, 27, 11, 12], w: [filters, 27, 3, 3], pads, layout: "nchw" }],
  ];
  return shapes.map(([name, positions, changes]) => ({
    ...{ math, affine: "bias" as const, x: [], w: [] },
    ...changes,
    name: `${entry}, ${name}`,
    needs: (target) => runsOn(tile, target) && haloSharedBytes(halo, positions) <= target.sharedBytesPerBlock,
    accepts: (choice) => choice.tile === tile && choice.copies === (changes.layout === "nchw"),
  }));
}

/** Groups of eight filters go out by TMA, and the residual comes by it. */
function endSpecs({ entry, filters, math }: ConvTile, spec: Omit<Spec, "name">): Spec[] {
  return (["relu", "silu"] as const).map((kind) => ({
    ...spec,
    name: `${entry}, ends copied, ${kind}`,
    w: [filters + 8, spec.x[1] ?? 1, 3, 3],
    activation: activation(kind, 1),
    residual: { type: storage[math], layout: "nhwc" },
  }));
}

/** What TMA's walk through an image has to know, in boxes of each number of channels. */
function walkSpecs(math: "f16" | "bf16"): Spec[] {
  return ([1, 2, 4] as const).flatMap((panels) => {
    const of = (name: string, spec: Omit<Spec, "name" | "math">): Spec => ({
      name: `walk, boxes of ${64 / panels}, ${name}, ${math}`,
      math,
      affine: "bias",
      needs: hasWgmma,
      accepts: ({ tile: { walk }, copies }) => walk?.panels === panels && !copies,
      ...spec,
    });
    return [
      of("strides and dilations", {
        ...{ x: [3, 40, 23, 29], w: [72, 40, 3, 3], strides: [2, 1], dilations: [1, 3], pads: [0, 2, 1, 3] },
        residual: { type: storage[math], layout: "wide" },
        outputLayout: "wide",
      }),
      of("stride 3", { x: [2, 56, 19, 17], w: [40, 56, 4, 2], strides: [3, 3] }),
      of("padding in front alone", { x: [1, 80, 9, 9], w: [32, 80, 5, 5], pads: [4, 4, 0, 0] }),
      of("one axis", { x: [3, 24, 301], w: [96, 24, 7], pads: [6, 0], dilations: [1] }),
      of("a volume", {
        x: [2, 24, 5, 9, 7],
        w: [40, 24, 2, 3, 3],
        pads: [1, 1, 1, 0, 1, 1],
        strides: [1, 2, 1],
      }),
      of("splits", {
        ...{ x: [2, 72, 9, 9], w: [44, 72, 3, 3], pads: [1, 1, 1, 1] },
        accepts: ({ tile, copies, splits }) =>
          tile.walk?.panels === panels && !copies && splits > 1 && !sumsInTeam(tile),
      }),
      of("7 splits or more", {
        ...{ x: [1, 200, 9, 9], w: [44, 200, 3, 3], pads: [1, 1, 1, 1] },
        accepts: ({ tile, copies, splits }) =>
          tile.walk?.panels === panels && !copies && splits > 6 && !sumsInTeam(tile),
      }),
      of("12 splits or more", {
        ...{ x: [1, 256, 9, 9], w: [48, 256, 3, 3], pads: [1, 1, 1, 1], activation: activation("silu", 1) },
        residual: { type: storage[math], layout: "nhwc" },
        accepts: ({ tile, copies, splits }) =>
          tile.walk?.panels === panels && !copies && splits > 11 && !sumsInTeam(tile),
      }),
      of("3 groups", { x: [2, 3 * 64, 11, 9], w: [3 * 64, 64, 3, 3], groups: 3, pads: [1, 1, 1, 1] }),
      of("13 groups of 8, not evenly together", {
        ...{ x: [2, 13 * 8, 11, 9], w: [13 * 8, 8, 3, 3], groups: 13, pads: [1, 1, 1, 1] },
        accepts: ({ tile: { walk }, merge }) => walk?.panels === panels && merge === 8,
      }),
    ];
  });
}

/** Few channels, taps of a row as channels. */
function widenedSpecs(math: "f16" | "bf16"): Spec[] {
  const of = (name: string, spec: Omit<Spec, "name" | "math">): Spec => ({
    name: `widened, ${name}, ${math}`,
    math,
    affine: "bias",
    way: "wide rows",
    needs: has(math),
    ...spec,
  });
  return [
    of("stem", { x: [2, 3, 37, 41], w: [24, 3, 7, 7], strides: [2, 2], pads: [3, 3, 3, 3] }),
    of("stem, planar", {
      x: [2, 3, 37, 41],
      w: [24, 3, 7, 7],
      strides: [2, 2],
      pads: [3, 3, 3, 3],
      layout: "nchw",
    }),
    of("stem of float32", {
      x: [2, 3, 30, 30],
      w: [40, 3, 3, 3],
      strides: [2, 2],
      source: "float32",
      layout: "nchw",
    }),
    of("patches", { x: [2, 3, 48, 48], w: [72, 3, 16, 16], strides: [16, 16], layout: "nchw" }),
    of("patches that leave a rest", { x: [2, 3, 30, 31], w: [72, 3, 14, 14], strides: [14, 14] }),
    of("stride 1", { x: [1, 3, 20, 21], w: [16, 3, 3, 3], pads: [1, 1, 1, 1] }),
    of("one channel of one axis", { x: [2, 1, 400], w: [48, 1, 64], strides: [8], pads: [20, 20] }),
    of("a volume", {
      x: [1, 3, 6, 20, 20],
      w: [16, 3, 3, 5, 5],
      strides: [1, 2, 2],
      pads: [1, 2, 2, 1, 2, 2],
    }),
    of("padding that is cut off", {
      x: [1, 4, 16, 19],
      w: [16, 4, 3, 3],
      strides: [2, 2],
      pads: [-1, -2, 1, 0],
    }),
  ];
}

/** Windows that lie side by side. */
function patchSpecs(math: "f16" | "bf16"): Spec[] {
  const of = (name: string, spec: Omit<Spec, "name" | "math">): Spec => ({
    name: `patches, ${name}, ${math}`,
    math,
    affine: "bias",
    way: "patches",
    strides: spec.w.slice(2),
    needs: has(math),
    ...spec,
  });
  return [
    of("planar", { x: [2, 3, 48, 48], w: [72, 3, 16, 16], layout: "nchw" }),
    of("of float32, rows off 16 bytes", {
      ...{ x: [3, 3, 42, 56], w: [72, 3, 14, 14], source: "float32", layout: "nchw" },
      activation: activation("gelu"),
    }),
    of("that leave a rest, with a residual", {
      ...{ x: [2, 3, 30, 31], w: [72, 3, 14, 14] },
      residual: { type: storage[math], layout: "nhwc" },
    }),
    of("of many channels", { x: [2, 96, 12, 14], w: [192, 96, 2, 2] }),
    of("of one axis, into channels second", { x: [2, 1, 400], w: [48, 1, 16], outputLayout: "nchw" }),
    of("of a volume", { x: [1, 3, 4, 16, 24], w: [64, 3, 2, 8, 8], layout: "nchw" }),
  ];
}

const maths: readonly ConvMath[] = ["f16", "bf16", "tf32", "f32"];

/** Whatever kernel is chosen. */
function shapeSpecs(math: ConvMath): Spec[] {
  const of = (name: string, spec: Omit<Spec, "name" | "math">): Spec => ({
    name: `${name}, ${math}`,
    math,
    ...spec,
  });
  return [
    of("1x1", { x: [2, 40, 7, 9], w: [24, 40, 1, 1], affine: "bias" }),
    of("1x1 of stride 2", { x: [2, 40, 7, 9], w: [24, 40, 1, 1], strides: [2, 2], affine: "bias" }),
    of("1x1, planar", { x: [2, 16, 7, 9], w: [24, 16, 1, 1], layout: "nchw", outputLayout: "nchw" }),
    of("1x1 of a slice into a slice", {
      x: [2, 16, 7, 9],
      w: [8, 16, 1, 1],
      layout: "wide",
      outputLayout: "wide",
    }),
    of("7x7 stem of a planar image", {
      x: [2, 3, 31, 30],
      w: [40, 3, 7, 7],
      strides: [2, 2],
      pads: [3, 3, 3, 3],
      layout: "nchw",
      affine: "both",
      activation: activation("silu", 1),
    }),
    of("7x7 stem of 3 channels last", {
      x: [1, 3, 96, 94],
      w: [64, 3, 7, 7],
      strides: [2, 2],
      pads: [3, 3, 3, 3],
      affine: "bias",
    }),
    of("4x4 patches of 3 channels last", {
      x: [2, 3, 64, 68],
      w: [96, 3, 4, 4],
      strides: [4, 4],
      affine: "bias",
    }),
    of("stem of 1 channel", { x: [1, 1, 20, 21], w: [33, 1, 5, 5], pads: [2, 2, 2, 2] }),
    of("stem of 4 channels", { x: [1, 4, 20, 21], w: [16, 4, 4, 4], strides: [4, 4] }),
    of("uneven padding, stride and dilation", {
      x: [2, 16, 14, 17],
      w: [20, 16, 3, 2],
      strides: [2, 1],
      dilations: [2, 3],
      pads: [0, 2, 3, 1],
      affine: "bias",
    }),
    of("odd channels", { x: [2, 17, 9, 10], w: [21, 17, 3, 3], pads: [1, 1, 1, 1], affine: "bias" }),
    of("even channels", { x: [2, 18, 9, 10], w: [22, 18, 3, 3], pads: [1, 1, 1, 1], affine: "bias" }),
    of("4 groups of 6 to 10", {
      x: [2, 24, 9, 10],
      w: [40, 6, 3, 3],
      groups: 4,
      pads: [1, 1, 1, 1],
      affine: "bias",
    }),
    of("16 groups of 4", {
      x: [1, 64, 12, 12],
      w: [64, 4, 3, 3],
      groups: 16,
      pads: [1, 1, 1, 1],
      affine: "both",
    }),
    of("2 odd groups", { x: [1, 14, 12, 12], w: [10, 7, 3, 3], groups: 2, pads: [1, 1, 1, 1] }),
    of("along one axis", { x: [2, 24, 70], w: [40, 24, 3], dilations: [4], pads: [8, 0], affine: "bias" }),
    of("three axes", {
      x: [1, 10, 6, 7, 8],
      w: [12, 10, 3, 3, 3],
      strides: [1, 2, 1],
      pads: [1, 1, 1, 1, 0, 1],
      affine: "bias",
    }),
    of("a window as large as the input", { x: [3, 64, 6, 6], w: [130, 64, 6, 6], affine: "bias" }),
    of("one output channel, planar", {
      x: [1, 32, 16, 17],
      w: [1, 32, 3, 3],
      pads: [1, 1, 1, 1],
      outputLayout: "nchw",
    }),
    of("planar output of odd channels", {
      x: [2, 32, 9, 9],
      w: [21, 32, 3, 3],
      outputLayout: "nchw",
      affine: "bias",
    }),
    of("a slice into a slice", {
      x: [2, 16, 9, 9],
      w: [16, 16, 3, 3],
      layout: "wide",
      outputLayout: "wide",
      residual: { type: "float32", layout: "wide" },
    }),
    of("residual, then an activation", {
      x: [2, 32, 9, 9],
      w: [48, 32, 3, 3],
      pads: [1, 1, 1, 1],
      affine: "bias",
      activation: activation("hardSwish", 1 / 6, 0.5),
      residual: { type: storage[math], layout: "nhwc" },
      last: activation("relu"),
    }),
    of("planar residual", {
      x: [2, 32, 9, 9],
      w: [48, 32, 3, 3],
      residual: { type: "float32", layout: "nchw" },
      last: activation("clip", -1, 2),
    }),
    of("float32 output", { x: [2, 32, 9, 9], w: [48, 32, 3, 3], output: "float32", affine: "bias" }),
    ...(["repeated", "mirrored"] as const).flatMap((layout) => [
      of(`${layout}`, { x: [2, 64, 14, 14], w: [64, 64, 3, 3], pads: [1, 1, 1, 1], layout }),
      of(`1x1, ${layout}`, { x: [2, 64, 14, 14], w: [64, 64, 1, 1], layout }),
    ]),
    ...depthwiseSpecs(math),
    ...transposedSpecs(math),
  ];
}

function depthwiseSpecs(math: ConvMath): Spec[] {
  const of = (name: string, spec: Omit<Spec, "name" | "math">): Spec => ({
    name: `depthwise ${name}, ${math}`,
    math,
    groups: spec.x[1] ?? 1,
    affine: "bias",
    ...spec,
  });
  const square = [3, 5, 7].flatMap((taps) =>
    [1, 2].map((stride) =>
      of(`${taps}x${taps} of stride ${stride}`, {
        x: [2, 40, 13, 15],
        w: [40, 1, taps, taps],
        strides: [stride, stride],
        pads: new Array<number>(4).fill((taps - 1) / 2),
        activation: activation("silu", 1),
      }),
    ),
  );
  return [
    ...square,
    // Enough positions for strips.
    of("3x3 of many positions", { x: [2, 64, 185, 187], w: [64, 1, 3, 3], pads: [1, 1, 1, 1] }),
    of("5x5 of stride 2, many positions", {
      x: [1, 64, 363, 363],
      w: [64, 1, 5, 5],
      strides: [2, 2],
      pads: [2, 2, 2, 2],
    }),
    of("4 along one axis, causal", { x: [2, 48, 100], w: [48, 1, 4], pads: [3, 0] }),
    of("dilated", { x: [1, 32, 17, 16], w: [32, 1, 3, 3], dilations: [2, 3], pads: [2, 3, 2, 3] }),
    of("three axes", { x: [1, 16, 5, 9, 10], w: [16, 1, 3, 3, 3], pads: [1, 1, 1, 1, 1, 1] }),
    of("odd channels", {
      x: [2, 37, 9, 10],
      w: [37, 1, 3, 3],
      pads: [1, 1, 1, 1],
      residual: { type: "float32", layout: "nhwc" },
    }),
    of("two filters a channel", { x: [2, 12, 9, 10], w: [24, 1, 3, 3], groups: 12, pads: [1, 1, 1, 1] }),
    of("planar", { x: [2, 16, 9, 10], w: [16, 1, 3, 3], layout: "nchw", outputLayout: "nchw" }),
    ...[3, 5, 7].flatMap((taps) => [
      of(`${taps}x${taps} of volumes`, {
        x: [2, 16, 3, 14, 15],
        w: [16, 1, 1, taps, taps],
        pads: [0, (taps - 1) / 2, (taps - 1) / 2, 0, (taps - 1) / 2, (taps - 1) / 2],
      }),
      ...(["repeated", "mirrored"] as const).map((layout) =>
        of(`${taps}x${taps}, ${layout}`, {
          x: [2, 16, 14, 15],
          w: [16, 1, taps, taps],
          pads: new Array<number>(4).fill((taps - 1) / 2),
          layout,
        }),
      ),
    ]),
    of("into a slice, with a residual", {
      x: [2, 16, 9, 10],
      w: [16, 1, 3, 3],
      layout: "wide",
      outputLayout: "wide",
      residual: { type: storage[math], layout: "nhwc" },
      last: activation("tanh"),
    }),
  ];
}

/** A depthwise kernel on sizes that fill no tile, with all that an epilogue has. */
function depthwiseTileSpecs(tile: TileRow, math: ConvMath): Spec[] {
  const { taps, stride, wide, high } = tile;
  const of = (name: string, spec: Omit<Spec, "name" | "math" | "tile" | "w"> & { w?: number[] }): Spec => ({
    name: `depthwise k${taps}s${stride}_${wide}x${high} ${name}, ${math}`,
    ...{ math, tile, groups: spec.x[1] ?? 1, w: [spec.x[1] ?? 1, 1, taps, taps] },
    ...{ strides: [stride, stride], affine: "both" },
    ...spec,
  });
  return [
    of("padded unevenly", {
      x: [2, 20, 19, 31],
      pads: [2, taps - 1, 0, 1],
      activation: activation("silu", 1),
      residual: { type: storage[math], layout: "nhwc" },
      last: activation("relu"),
    }),
    of("of less than a tile", {
      x: [3, 6, 2, 3],
      pads: new Array<number>(4).fill(taps - 2),
      activation: activation("tanh"),
    }),
    of("of more channels than lanes", { x: [1, 140, 8, 9], pads: [1, 3, 3, 3], output: "float32" }),
    of("of a slice into a slice", {
      x: [2, 10, 9, 16],
      pads: [3, 1, 3, 2],
      layout: "wide",
      outputLayout: "wide",
      residual: { type: "float32", layout: "nchw" },
    }),
    of("another stride along the height", { x: [1, 4, 23, 18], strides: [3, stride], pads: [1, 1, 2, 2] }),
    of("3 axes", {
      x: [2, 8, 5, 11, 13],
      w: [8, 1, 3, 2, taps],
      strides: [2, 1, stride],
      dilations: [2, 1, 1],
      pads: [1, 1, 0, 2, 1, 1],
    }),
  ];
}

/** Products with zeros are none there, and channels are summed beside each other. */
const besideInfinity = {
  x: [2, 16, 19, 17],
  activation: activation("clip", -1, 1),
  odd: [
    [700, Number.POSITIVE_INFINITY],
    [2100, Number.NEGATIVE_INFINITY],
    [5000, Number.NaN],
  ],
} as const satisfies Partial<Spec>;

/** Blocks of whole planes and of parts of them, of few channels and of many. */
function diagonalSpecs(tile: DiagonalRow, math: ConvMath): Spec[] {
  const { taps, stride, high } = tile;
  const of = (name: string, spec: Omit<Spec, "name" | "math" | "tile" | "w">): Spec => ({
    name: `depthwise diagonal_k${taps}s${stride}_${high} ${name}, ${math}`,
    ...{ math, tile, groups: spec.x[1] ?? 1, w: [spec.x[1] ?? 1, 1, taps, taps] },
    ...{ strides: [stride, stride], affine: "bias" },
    needs: ({ features }) => features.bf16,
    ...spec,
  });
  const same = new Array<number>(4).fill((taps - 1) / 2);
  return [
    of("padded unevenly, in parts", {
      x: [3, 40, 29, 41],
      pads: [2, taps - 1, 0, 1],
      affine: "both",
      activation: activation("silu", 1),
      cut: (choice) => choice.vector === 40 && choice.wide === 8 && choice.high === high,
    }),
    of("of less than a unit", {
      x: [3, 8, 2, 3],
      pads: new Array<number>(4).fill(taps - 2),
      activation: activation("tanh"),
    }),
    of("of whole planes", {
      x: [1, 144, 30, 45],
      pads: same,
      activation: activation("clip", 0, 6),
      needs: ({ sharedBytesPerBlock }) => sharedBytesPerBlock > 2 ** 17,
      cut: (choice) => choice.vector === 16 && choice.wide * stride >= 45 && choice.high * stride >= 30,
    }),
    of("of 64 channels", {
      x: [32, 64, 7, 7],
      pads: same,
      activation: activation("hardSwish", 1 / 6, 0.5),
      cut: (choice) => choice.vector === 64,
    }),
    of("beside an infinity", { ...besideInfinity, pads: same }),
    of("of blocks that stay", {
      x: [8, 48, 29, 33],
      pads: same,
      activation: activation("geluTanh"),
      multiprocessors: 3,
      cut: ({ vector, diagonal }) => vector === 24 && diagonal?.stage !== 0,
    }),
  ];
}

/** Tiles of each width, more of them than the ring has stages; channels that fill no block. */
function ringSpecs(tile: RingRow, math: ConvMath): Spec[] {
  const { taps, stride, high } = tile;
  const of = (name: string, spec: Omit<Spec, "name" | "math" | "tile" | "w">): Spec => ({
    name: `depthwise ring_k${taps}s${stride}_${high} ${name}, ${math}`,
    ...{ math, tile, groups: spec.x[1] ?? 1, w: [spec.x[1] ?? 1, 1, taps, taps] },
    ...{ strides: [stride, stride], affine: "bias", multiprocessors: 3 },
    needs: ({ features }) => features.wgmma,
    ...spec,
  });
  const same = new Array<number>(4).fill((taps - 1) / 2);
  const inRounds = (vector: number) => (choice: DepthwiseChoice) =>
    choice.vector === vector && choice.wide === 8 && choice.high === high;
  return [
    of("padded unevenly, in parts", {
      x: [3, 40, 29, 41],
      pads: [2, taps - 1, 0, 1],
      affine: "both",
      activation: activation("silu", 1),
      cut: inRounds(32),
    }),
    of("of less than a unit", {
      x: [3, 8, 2, 3],
      pads: new Array<number>(4).fill(taps - 2),
      activation: activation("tanh"),
    }),
    of("of 16 channels", { x: [4, 16, 29, 33], pads: same, cut: inRounds(16) }),
    of("of 32 channels in whole rows", {
      x: [4, 64, 30, 45],
      pads: same,
      activation: activation("clip", 0, 6),
      cut: ({ vector, wide }) => vector === 32 && wide * stride >= 45,
    }),
    of("of 64 channels and 8 more", {
      x: [9, 72, 14, 15],
      pads: same,
      activation: activation("hardSwish", 1 / 6, 0.5),
      cut: inRounds(64),
    }),
    of("of whole planes, one a block", {
      x: [2, 64, 14, 14],
      pads: same,
      activation: activation("geluTanh"),
      multiprocessors: 132,
      cut: ({ vector, wide, high: rows }) => vector === 64 && wide * stride >= 14 && rows * stride >= 14,
    }),
    of("beside an infinity", { ...besideInfinity, pads: same }),
  ];
}

function transposedSpecs(math: ConvMath): Spec[] {
  const of = (name: string, spec: Omit<Spec, "name" | "math">): Spec => ({
    name: `transposed ${name}, ${math}`,
    math,
    affine: "bias",
    ...spec,
  });
  return [
    of("2x2 of stride 2", { x: [2, 24, 6, 7], w: [24, 16, 2, 2], strides: [2, 2], transposedTo: [12, 14] }),
    of("4x4 of stride 2, padded", {
      x: [2, 24, 6, 7],
      w: [24, 16, 4, 4],
      strides: [2, 2],
      pads: [1, 1],
      transposedTo: [12, 14],
      activation: activation("relu"),
      residual: { type: "float32", layout: "nhwc" },
    }),
    of("3x2 of stride 3, more output than taps reach", {
      x: [1, 10, 4, 5],
      w: [10, 6, 3, 2],
      strides: [3, 3],
      transposedTo: [14, 15],
    }),
    of("stride and dilation with a common factor", {
      x: [1, 8, 5, 6],
      w: [8, 8, 3, 4],
      strides: [2, 4],
      dilations: [2, 6],
      pads: [1, 2],
      transposedTo: [11, 36],
    }),
    of("2 groups", {
      x: [1, 12, 5, 6],
      w: [12, 4, 3, 3],
      groups: 2,
      strides: [2, 2],
      pads: [1, 0],
      transposedTo: [10, 12],
    }),
    of("depthwise", {
      x: [1, 16, 5, 6],
      w: [16, 1, 4, 4],
      groups: 16,
      strides: [2, 2],
      pads: [1, 1],
      transposedTo: [10, 12],
    }),
    of("along one axis", { x: [1, 9, 20], w: [9, 5, 5], strides: [3], transposedTo: [62] }),
    of("three axes", { x: [1, 8, 3, 4, 3], w: [8, 8, 2, 2, 2], strides: [2, 2, 2], transposedTo: [6, 8, 6] }),
  ];
}

const activationSpecs: readonly Spec[] = (
  [
    ["leakyRelu", 0.1],
    ["sigmoid"],
    ["tanh"],
    ["geluTanh"],
    ["hardSigmoid", 0.2, 0.5],
    ["elu", 0.7],
    ["softplus"],
    ["affine", 2, -0.5],
    ["clip", 0, 6],
  ] as const
).map(([kind, a, b]) => ({
  name: kind,
  math: "f16",
  x: [1, 16, 8, 8],
  w: [24, 16, 3, 3],
  output: "float32",
  affine: "both",
  activation: activation(kind, a, b),
}));

export const cases: readonly KernelCase[] = [
  ...convTiles.flatMap(tileSpecs),
  ...(["f16", "bf16"] as const).flatMap((math) => [
    ...walkSpecs(math),
    ...widenedSpecs(math),
    ...patchSpecs(math),
  ]),
  ...maths.flatMap(shapeSpecs),
  ...tileRows.flatMap((tile) =>
    (["f16", "bf16", "f32"] as const).flatMap((math) => depthwiseTileSpecs(tile, math)),
  ),
  ...ringRows.flatMap((row) => (["f16", "bf16"] as const).flatMap((math) => ringSpecs(row, math))),
  ...diagonalRows.flatMap((row) => (["f16", "bf16"] as const).flatMap((math) => diagonalSpecs(row, math))),
  ...activationSpecs,
].map((spec) => ({ name: spec.name, run: check(spec) }));
