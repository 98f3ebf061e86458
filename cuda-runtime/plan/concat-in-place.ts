/**
 * @file Concatenation in place: what is concatenated is written where it belongs from the start.
 *
 * The largest concatenation that a value goes into has memory; smaller ones are slices of that where their parts lie side
 * by side in it.
 */
import type { Node, Value } from "../../src/ir/model.ts";
import { isReshaping } from "../../src/ops/ask.ts";
import { isCall } from "../graph/calls.ts";
import { reshaped, sliced, type View } from "../ir/view.ts";
import { axisOf } from "./concat-layout.ts";
import type { Frame } from "./frame.ts";
import type { Slot } from "./slots.ts";
import type { PlanValues } from "./values.ts";

/** Where `value` lies in the largest concatenation that reads it; undefined where none does. */
export function homeInConcat(
  value: Value,
  slot: Slot,
  order: readonly number[] | undefined,
  frame: Frame,
  values: PlanValues,
): View | undefined {
  const place = frame.places.get(value);
  if (place === undefined) return homeBehindAxes(value, slot, order, frame, values);
  const { concat, axis, start } = place;
  const [output] = concat.outputs;
  if (axis === undefined || output === undefined) return undefined;
  if (values.slotOf(output, frame).type !== slot.type || start === undefined) return undefined;
  const home = frame.concats.get(concat) ?? allocate(concat, order, [], frame, values);
  return sliced(home, axis, start, slot.shape[axis] ?? 0);
}

/** What is only given other axes before it is concatenated belongs where that does. */
function homeBehindAxes(
  value: Value,
  slot: Slot,
  order: readonly number[] | undefined,
  frame: Frame,
  values: PlanValues,
): View | undefined {
  const [reader, ...others] = frame.live.readersOf(value);
  if (reader === undefined || others.length > 0 || frame.live.isSeen(value)) return undefined;
  const [renamed] = reader.outputs;
  const isRenaming = isReshaping(reader) && reader.inputs[0] === value && !isCall(reader, frame.scope);
  if (!isRenaming || renamed === undefined || frame.macros.has(reader)) return undefined;
  if (value.graph !== reader.graph || order?.some((axis, at) => axis !== at)) return undefined;
  const home = homeInConcat(renamed, values.slotOf(renamed, frame), undefined, frame, values);
  // What overflows halves is kept wide, whatever it is renamed to.
  return home?.type === slot.type ? reshaped(home, slot.shape) : undefined;
}

/** Lowers a Concat: what is not in place is copied there. */
export function lowerConcat(node: Node, frame: Frame, values: PlanValues): void {
  const [output] = node.outputs;
  const axis = axisOf(node, frame.scope);
  if (output === undefined || axis === undefined)
    throw new Error("tc-lint bug: a Concat without an axis or output");
  const inputs = node.inputs.filter((input) => input !== undefined);
  const slots = inputs.map((input) => values.slotOf(input, frame));
  gatherInLargest(node, inputs, frame, values);
  const reserved = frame.concats.get(node);
  const slice = reserved === undefined ? asSlice(slots, axis, values.slotOf(output, frame)) : undefined;
  if (slice !== undefined) {
    values.setView(output, slice, frame);
    return;
  }
  const home = reserved ?? allocate(node, undefined, slots, frame, values);
  let start = 0;
  for (const slot of slots) {
    const size = slot.shape[axis] ?? 0;
    values.place(slot, sliced(home, axis, start, size));
    start += size;
  }
  values.setView(output, home, frame);
}

/** Parts that all go into one larger concatenation are moved there, once; this one may then be a slice of it. */
function gatherInLargest(node: Node, inputs: readonly Value[], frame: Frame, values: PlanValues): void {
  const largest = new Set(inputs.map((input) => frame.places.get(input)?.concat));
  const [only] = largest;
  if (largest.size !== 1 || only === undefined || only === node) return;
  for (const input of inputs) {
    const slot = values.slotOf(input, frame);
    const part = homeInConcat(input, slot, values.orderOf(slot), frame, values);
    if (part === undefined) return;
    values.place(slot, part);
    if (slot.state.kind === "stored") slot.state = { kind: "stored", view: part };
  }
}

/** Memory for all of a concatenation, when its first part is. */
function allocate(
  node: Node,
  order: readonly number[] | undefined,
  slots: readonly Slot[],
  frame: Frame,
  values: PlanValues,
): View {
  const [output] = node.outputs;
  if (output === undefined) throw new Error("tc-lint bug: a Concat without an output");
  const { shape, type } = values.slotOf(output, frame);
  const types = new Set(slots.map((slot) => values.typeOf(slot)));
  const [only] = types;
  const kept = types.size === 1 && only !== undefined ? only : type;
  const reserved = frame.homes.get(output);
  const home =
    reserved?.type === kept
      ? reserved
      : values.emitter.temporary(kept, shape, order ?? orderOfParts(slots, values));
  frame.concats.set(node, home);
  return home;
}

function orderOfParts(slots: readonly Slot[], values: PlanValues): readonly number[] | undefined {
  for (const slot of slots) {
    const order = values.orderOf(slot);
    if (order?.some((axis, index) => axis !== index)) return order;
  }
  return undefined;
}

/** The parts lie side by side already, in another concatenation. */
function asSlice(slots: readonly Slot[], axis: number, output: Slot): View | undefined {
  let end: View | undefined;
  let first: View | undefined;
  for (const { state, shape } of slots) {
    if (state.kind !== "stored") return undefined;
    const { view } = state;
    if (end !== undefined && !follows(end, view, axis)) return undefined;
    first ??= view;
    end = sliced(view, axis, shape[axis] ?? 0, 0);
    end = { ...end, offset: view.offset + (shape[axis] ?? 0) * (view.strides[axis] ?? 0) };
  }
  return first === undefined ? undefined : { ...first, shape: output.shape };
}

function follows(end: View, next: View, axis: number): boolean {
  return (
    end.buffer === next.buffer &&
    end.type === next.type &&
    end.offset === next.offset &&
    end.strides[axis] !== 0 &&
    end.strides.every((stride, at) => stride === next.strides[at])
  );
}
