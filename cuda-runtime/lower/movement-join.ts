/** @file Concat, Tile, Pad, CenterCropPad, Compress: tensors made larger, or of several parts. */

import type { Emitter } from "../ir/emitter.ts";
import { maxRank } from "../ir/params.ts";
import { expanded, sliced, type View } from "../ir/view.ts";
import { emitSelect, outside } from "../kernels/movement/select.ts";
import type { Lower, LowerContext, LowerTable } from "./context.ts";
import {
  allAxes,
  axisAttribute,
  axisOf,
  keptOrder,
  listedAxes,
  listOf,
  mustReshape,
  reshapedOrCopied,
  writeOutput,
  writePlaced,
} from "./movement-arguments.ts";

/** Each input into its part of `to` along `axis`. */
function emitConcat(emitter: Emitter, inputs: readonly View[], axis: number, to: View): void {
  let start = 0;
  for (const input of inputs) {
    const size = input.shape[axis] ?? 0;
    if (!input.shape.includes(0)) emitter.copy(input, sliced(to, axis, start, size));
    start += size;
  }
}

const concat: Lower = (context) => {
  const shape = context.outputShape(0);
  // Axis is an attribute that older opsets may leave out.
  const axis = axisAttribute(context, 1, shape.length);
  const inputs = allAxes(context.inputCount)
    .filter((index) => context.hasInput(index))
    .map((index) => context.input(index));
  const [first] = inputs;
  if (inputs.length === 1 && first !== undefined) return context.setOutput(0, first);
  emitConcat(context, inputs, axis, context.output(0, sharedOrder(inputs)));
};

/** The memory order of the largest input. */
function sharedOrder(inputs: readonly View[]): readonly number[] | undefined {
  const count = ({ shape }: View) => shape.reduce((total, size) => total * size, 1);
  const [largest] = inputs.toSorted((a, b) => count(b) - count(a));
  return largest === undefined ? undefined : keptOrder(largest);
}

/** Repeats since opset 6; before, one axis (input 2) as often as input 1 says. */
const tile: Lower = (context) => {
  const view = context.input(0);
  const shape = context.outputShape(0);
  const repeats = shape.map((size, axis) => size / (view.shape[axis] || 1));
  if (shape.length !== view.shape.length || !repeats.every(Number.isInteger))
    return context.fail(
      `tiles [${view.shape.join(",")}] to [${shape.join(",")}], which is no multiple of it`,
    );
  const grown = allAxes(shape.length).filter((axis) => repeats[axis] !== 1 && view.shape[axis] !== 1);
  if (grown.length === 0) return context.setOutput(0, expanded(view, shape));
  const to = context.output(0, keptOrder(view));
  if (!shape.includes(0)) emitTile(context, { from: expandOnes(view, shape), to, grown });
};

/** Axes of one element repeat without a copy of their own. */
function expandOnes(view: View, shape: readonly number[]): View {
  return expanded(
    view,
    view.shape.map((size, axis) => (size === 1 ? (shape[axis] ?? 1) : size)),
  );
}

interface TileRequest {
  readonly from: View;
  readonly to: View;
  /** Axes of more than one element that repeat. */
  readonly grown: readonly number[];
}

/** One copy over [repeat, element] pairs; more axes than a copy takes are done one after the other. */
function emitTile(context: LowerContext, { from, to, grown }: TileRequest): void {
  const [last = 0] = grown;
  if (grown.length > 1 && from.shape.length + grown.length > maxRank) {
    const between = context.temporary(from.type, from.shape.with(last, to.shape[last] ?? 1));
    emitTile(context, { from, to: between, grown: [last] });
    return emitTile(context, { from: between, to, grown: grown.slice(1) });
  }
  const isGrown = (axis: number) => grown.includes(axis);
  const shape = to.shape.flatMap((size, axis) => {
    const own = from.shape[axis] ?? 1;
    return isGrown(axis) ? [size / own, own] : [size];
  });
  const strides = from.strides.flatMap((stride, axis) => (isGrown(axis) ? [0, stride] : [stride]));
  context.copy({ ...from, shape, strides }, mustReshape(context, to, shape));
}

type PadMode = "constant" | "edge" | "reflect" | "wrap";
const padModes: readonly string[] = ["constant", "edge", "reflect", "wrap"];

function isPadMode(mode: string): mode is PadMode {
  return padModes.includes(mode);
}

interface Pads {
  readonly begins: readonly number[];
  readonly ends: readonly number[];
}

/** Attributes before opset 11; inputs (data, pads, value, axes) from then on. */
const pad: Lower = (context) => {
  const rank = context.inputShape(0).length;
  const mode = context.string("mode") ?? "constant";
  if (!isPadMode(mode)) return context.fail(`mode is "${mode}", supported are ${padModes.join(", ")}`);
  const given =
    (context.opset < 2 ? context.ints("paddings") : listOf(context, "pads", { index: 1, since: 11 })) ??
    context.fail("has no pads");
  const axes =
    (context.opset < 18 ? undefined : listedAxes(context, { index: 3, since: 18, rank })) ?? allAxes(rank);
  emitPad(context, padsOf(given, axes, rank), mode, fillerOf(context));
};

/** The same as ai.onnx's since opset 11, whatever version its domain has. */
const microsoftPad: Lower = (context) => {
  const rank = context.inputShape(0).length;
  const mode = context.string("mode") ?? "constant";
  if (!isPadMode(mode)) return context.fail(`mode is "${mode}", supported are ${padModes.join(", ")}`);
  const pads = context.knownElements(1);
  emitPad(
    context,
    padsOf(pads, allAxes(rank), rank),
    mode,
    context.hasInput(2) ? fillInput(context) : undefined,
  );
};

/** Positions are looked up in a table, which is made while planning. */
const maxTableEntries = 2 ** 24;

function padsOf(given: readonly number[], axes: readonly number[], rank: number): Pads {
  const begins = new Array<number>(rank).fill(0);
  const ends = new Array<number>(rank).fill(0);
  for (const [at, axis] of axes.entries()) {
    begins[axis] = given[at] ?? 0;
    ends[axis] = given[at + axes.length] ?? 0;
  }
  return { begins, ends };
}

function fillerOf(context: LowerContext): View | undefined {
  if (context.opset >= 11) return context.hasInput(2) ? fillInput(context) : undefined;
  const value = context.float("value") ?? 0;
  return value === 0 ? undefined : context.constant(context.input(0).type, [], [value]);
}

function fillInput(context: LowerContext): View | undefined {
  // An empty tensor stands for an omitted one.
  if (context.inputShape(2).includes(0)) return undefined;
  return context.packed(context.input(2), { type: context.input(0).type });
}

function emitPad(context: LowerContext, pads: Pads, mode: PadMode, fill: View | undefined): void {
  const given = context.input(0);
  const data = cropped(given, pads);
  const begins = pads.begins.map((size) => Math.max(0, size));
  const shape = context.outputShape(0);
  if (shape.every((size, axis) => size === data.shape[axis])) return context.setOutput(0, data);
  const tables = shape.map((size, axis) => {
    const own = data.shape[axis] ?? 1;
    const isPadded = size !== own;
    if (isPadded && own === 0 && mode !== "constant") context.fail(`pads an empty axis in mode "${mode}"`);
    const begin = begins[axis] ?? 0;
    if (isPadded && size > maxTableEntries)
      context.fail(`pads an axis to ${size} elements, supported are up to ${maxTableEntries}`);
    return isPadded ? allAxes(size).map((at) => paddedPosition(at - begin, own, mode)) : undefined;
  });
  writePlaced(context, data, keptOrder(given), (to) => emitSelect(context, { from: data, to, tables, fill }));
}

/** Negative pads cut. */
function cropped(view: View, { begins, ends }: Pads): View {
  return view.shape.reduce((data, size, axis) => {
    const front = Math.max(0, -(begins[axis] ?? 0));
    const back = Math.max(0, -(ends[axis] ?? 0));
    return front + back === 0 ? data : sliced(data, axis, front, Math.max(0, size - front - back));
  }, view);
}

/** Where an element of the padded axis comes from, `at` counted from the data's first. */
export function paddedPosition(at: number, size: number, mode: PadMode): number {
  if (at >= 0 && at < size) return at;
  if (mode === "constant") return outside;
  if (mode === "edge") return at < 0 ? 0 : size - 1;
  if (mode === "wrap") return ((at % size) + size) % size;
  // Reflected at the outermost elements, which are not repeated; as often as it takes.
  if (size === 1) return 0;
  const period = 2 * (size - 1);
  const phase = ((at % period) + period) % period;
  return phase < size ? phase : period - phase;
}

/** Cut or padded with zeros around the middle. */
const centerCropPad: Lower = (context) => {
  const rank = context.inputShape(0).length;
  const shape = context.outputShape(0);
  const axes = (context.ints("axes") ?? allAxes(rank)).map((axis) => axisOf(axis, rank));
  const begins = new Array<number>(rank).fill(0);
  const ends = new Array<number>(rank).fill(0);
  for (const axis of axes) {
    const growth = (shape[axis] ?? 0) - (context.inputShape(0)[axis] ?? 0);
    // The odd element is cut from, or added to, the end.
    const begin = growth > 0 ? Math.floor(growth / 2) : -Math.floor(-growth / 2);
    begins[axis] = begin;
    ends[axis] = growth - begin;
  }
  emitPad(context, { begins, ends }, "constant", undefined);
};

/** Slices whose condition holds; the condition has to be known, as it makes the shape. */
const compress: Lower = (context) => {
  const condition = context.knownElements(1);
  const given = context.input(0);
  const named = context.int("axis");
  const data = named === undefined ? reshapedOrCopied(context, given, [count(given)]) : given;
  const axis = axisOf(named ?? 0, data.shape.length);
  const kept = condition.flatMap((holds, at) => (holds === 0 ? [] : [at]));
  const tables = data.shape.map((_, at) => (at === axis ? kept : undefined));
  writeOutput(context, data, keptOrder(data), (to) =>
    emitSelect(context, { from: data, to, tables, fill: undefined }),
  );
};

function count({ shape }: View): number {
  return shape.reduce((total, size) => total * size, 1);
}

export const joinLowerings: LowerTable = {
  Concat: concat,
  Tile: tile,
  Pad: pad,
  "com.microsoft::Pad": microsoftPad,
  CenterCropPad: centerCropPad,
  Compress: compress,
};
