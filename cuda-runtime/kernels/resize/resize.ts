/** @file Axes resized by tables of taps: linear and cubic, in one launch or one an axis. */

import { bytesMoved } from "../../cost/predict.ts";
import type { Emitter } from "../../ir/emitter.ts";
import { writeParams } from "../../ir/param-table.ts";
import { bytesOfType, type FloatStorage } from "../../ir/storage.ts";
import { elementCount, orderOf, type View } from "../../ir/view.ts";
import { walkFields, walkLaunch } from "../movement/launch.ts";
import { stridesAlong, type Walk, type WalkAxis, type Width, walkOver } from "../movement/walk.ts";
import { tapsMicroseconds, tapsOf } from "./cost.ts";
import { tapsStruct } from "./params.table.ts";
import type { TapTable } from "./taps.ts";

export interface ResizeRequest {
  readonly from: View;
  /** Of the same type. */
  readonly to: View;
  /** By axis; undefined where output and input agree. */
  readonly tables: readonly (TapTable | undefined)[];
  readonly extrapolation: number;
}

/** One launch reads at most so many elements for one of the output; more are cheaper axis by axis. */
const maxFusedTaps = 64;
/** Axes with a table that a launch takes. */
const maxSlots = 3;

/** Vector widths of the kernels by type, in bytes. */
const widthsOf: Readonly<Record<FloatStorage | "float64", readonly Width[]>> = {
  float32: [16, 4],
  float16: [16, 2],
  bfloat16: [16, 2],
  float64: [8],
};

export type ResizedType = keyof typeof widthsOf;

export function isResizedType(type: string): type is ResizedType {
  return Object.hasOwn(widthsOf, type);
}

/** Whether one launch takes all of them. */
export function resizesAtOnce(tables: ResizeRequest["tables"]): boolean {
  const resized = tables.filter((table) => table !== undefined).length;
  return resized <= 1 || (resized <= maxSlots && tapsOf(tables) <= maxFusedTaps);
}

export function emitResize(emitter: Emitter, request: ResizeRequest): void {
  const { from, to, tables, extrapolation } = request;
  if (elementCount(to.shape) === 0) return;
  const resized = tables.flatMap((table, axis) => (table === undefined ? [] : [{ table, axis }]));
  if (resizesAtOnce(tables)) return emitFused(emitter, request);
  // The axis that shrinks most first: what follows has less to do.
  const growth = (axis: number) => (to.shape[axis] ?? 1) / (from.shape[axis] ?? 1);
  let data = from;
  const inOrder = resized.toSorted((a, b) => growth(a.axis) - growth(b.axis));
  for (const [at, { table, axis }] of inOrder.entries()) {
    const type = from.type === "float64" ? "float64" : "float32";
    const source = data.type === type ? data : emitter.packed(data, { type, order: orderOf(data) });
    const shape = source.shape.with(axis, to.shape[axis] ?? 1);
    const isLast = at === inOrder.length - 1;
    const target = isLast && to.type === type ? to : emitter.temporary(type, shape, orderOf(to));
    const only = shape.map((_, each) => (each === axis ? table : undefined));
    emitFused(emitter, { from: source, to: target, tables: only, extrapolation });
    data = target;
  }
  if (data !== to) emitter.copy(data, to);
}

interface Slot {
  readonly table: TapTable;
  readonly stride: number;
}

const unusedSlot: Slot = { table: { taps: 1, indices: [0], weights: [1] }, stride: 0 };

function emitFused(emitter: Emitter, { from, to, tables, extrapolation }: ResizeRequest): void {
  const type = from.type;
  if (!isResizedType(type)) throw new RangeError(`tc-lint bug: ${type} is resized by taps`);
  const used = tables.flatMap((table, axis) => (table === undefined ? [] : [axis]));
  const first = maxSlots - used.length;
  const slots = Array.from({ length: maxSlots }, (_, slot): Slot => {
    const axis = used[slot - first];
    const table = axis === undefined ? undefined : tables[axis];
    return table === undefined || axis === undefined
      ? unusedSlot
      : { table, stride: from.strides[axis] ?? 0 };
  });
  const { walk, slotOf } = walkOf({ from, to, used, slots: slots.map(({ stride }) => stride) });
  const indices = slots.flatMap(({ table }) => table.indices);
  const weights = slots.flatMap(({ table }) => table.weights);
  const indexView = emitter.constant("int32", [indices.length], indices);
  const weightView = emitter.constant("float32", [weights.length], weights);
  const params = writeParams(tapsStruct, {
    from,
    to,
    indices: indexView,
    weights: weightView,
    walk: walkFields(walk),
    fromStrides: stridesAlong(walk, 0),
    toStrides: stridesAlong(walk, 1),
    slots: slotOf,
    tableAt: startsOf(slots),
    taps: slots.map(({ table }) => table.taps),
    slotStrides: slots.map(({ stride }) => stride / walk.factor),
    extrapolation,
  });
  const work = {
    ...{ bytes: bytesMoved([from, to]), threads: walk.count },
    ...{ lanes: walk.width / bytesOfType(type), taps: tapsOf(tables) },
  };
  emitter.launch({
    ...walkLaunch({
      entry: entryOf(type, walk, slots),
      count: walk.count,
      params,
      reads: [from, indexView, weightView],
      writes: [to],
      family: "resize",
    }),
    predictedMicroseconds: tapsMicroseconds(work, emitter.target),
  });
}

function walkOf({
  from,
  to,
  used,
  slots,
}: {
  readonly from: View;
  readonly to: View;
  readonly used: readonly number[];
  readonly slots: readonly number[];
}): { readonly walk: Walk; readonly slotOf: readonly number[] } {
  const axes = to.shape.map((size, axis): WalkAxis & { readonly slot: number } => {
    const at = used.indexOf(axis);
    return {
      size,
      strides: [at < 0 ? (from.strides[axis] ?? 0) : 0, to.strides[axis] ?? 0],
      isFixed: at >= 0,
      slot: at < 0 ? -1 : at + maxSlots - used.length,
    };
  });
  const choices = isResizedType(from.type) ? widthsOf[from.type] : [];
  const moved = [
    { view: from, operand: 0, more: slots },
    { view: to, operand: 1, more: [] },
  ];
  const walk = walkOver(axes, 1, moved, choices);
  return {
    walk,
    slotOf: walk.axes.map((axis) => ("slot" in axis && typeof axis.slot === "number" ? axis.slot : -1)),
  };
}

/** Two axes of two taps each have a kernel of their own. */
function entryOf(type: ResizedType, walk: Walk, slots: readonly Slot[]): string {
  const [first, ...others] = slots.map(({ table }) => table.taps);
  const isBilinear = type !== "float64" && first === 1 && others.every((taps) => taps === 2);
  const lanes = walk.width / bytesOfType(type);
  return `taps${isBilinear ? 2 : 0}_${type}_v${lanes}`;
}

function startsOf(slots: readonly Slot[]): number[] {
  let end = 0;
  return slots.map(({ table }) => {
    const start = end;
    end += table.indices.length;
    return start;
  });
}
