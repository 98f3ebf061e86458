/**
 * @file Concatenation in place: what is concatenated is written where it belongs from the start.
 *
 * A value that goes into several concatenations (DenseNet) lives in the largest; the others are slices of that one
 * where their parts lie side by side in it.
 */
import type { Node, Value } from "../../src/ir/model.ts";
import { operatorOf } from "../../src/ir/model.ts";
import { sizesOfFact } from "../graph/known.ts";
import { elementCount, sliced, type View } from "../ir/view.ts";
import type { Frame } from "./frame.ts";
import type { Slot } from "./slots.ts";
import type { PlanValues } from "./values.ts";

/** Memory of concatenations, made when the first part is. */
export class Concatenations {
  /** A body that runs several times has each of its concatenations several times. */
  readonly #homes = new WeakMap<Frame, Map<Node, View>>();
  readonly #layouts = new WeakMap<Frame, Map<Node, Layout>>();
  readonly #values: PlanValues;

  constructor(values: PlanValues) {
    this.#values = values;
  }

  /** Where `value` lies in the largest concatenation that reads it; undefined where none does. */
  homeOf(value: Value, slot: Slot, order: readonly number[] | undefined, frame: Frame): View | undefined {
    const node = this.#largest(value, frame);
    return node === undefined ? undefined : this.#part(node, value, slot, order, frame);
  }

  /** Lowers a Concat. `copy` writes what is not in place. */
  lower(node: Node, frame: Frame): void {
    const [output] = node.outputs;
    const axis = axisOf(node, frame);
    if (output === undefined || axis === undefined)
      throw new Error("tc-lint bug: a Concat without an axis or output");
    const inputs = node.inputs.filter((input) => input !== undefined);
    const slots = inputs.map((input) => this.#values.slotOf(input, frame));
    this.#gatherInLargest(node, inputs, frame);
    const target =
      this.#homesIn(frame).get(node) ?? this.#asSlice(slots, axis, this.#values.slotOf(output, frame));
    if (target !== undefined && !this.#homesIn(frame).has(node)) {
      this.#values.setView(output, target, frame);
      return;
    }
    const home = target ?? this.#allocate(node, undefined, slots, frame);
    let start = 0;
    for (const slot of slots) {
      const size = slot.shape[axis] ?? 0;
      this.#values.place(slot, sliced(home, axis, start, size));
      start += size;
    }
    this.#values.setView(output, home, frame);
  }

  /** Parts that all go into one larger concatenation are moved there, once; this one may then be a slice of it. */
  #gatherInLargest(node: Node, inputs: readonly Value[], frame: Frame): void {
    const largest = new Set(inputs.map((input) => this.#largest(input, frame)));
    const [only] = largest;
    if (largest.size !== 1 || only === undefined || only === node) return;
    for (const input of inputs) {
      const slot = this.#values.slotOf(input, frame);
      const part = this.#part(only, input, slot, this.#values.orderOf(slot), frame);
      if (part === undefined) return;
      this.#values.place(slot, part);
      if (slot.state.kind === "stored") slot.state = { kind: "stored", view: part };
    }
  }

  #largest(value: Value, frame: Frame): Node | undefined {
    let best: Node | undefined;
    let bestCount = 0;
    for (const node of frame.live.readersOf(value)) {
      if (operatorOf(node) !== "Concat" || node.graph !== value.graph || frame.macros.has(node)) continue;
      if (this.#layoutOf(node, frame).repeated.has(value)) continue;
      const sizes = sizesOfFact(
        node.outputs[0] === undefined ? undefined : frame.scope.fact(node.outputs[0]),
      );
      if (sizes === undefined || elementCount(sizes) <= bestCount) continue;
      best = node;
      bestCount = elementCount(sizes);
    }
    return best;
  }

  #part(
    node: Node,
    value: Value,
    slot: Slot,
    order: readonly number[] | undefined,
    frame: Frame,
  ): View | undefined {
    const axis = axisOf(node, frame);
    const [output] = node.outputs;
    if (axis === undefined || output === undefined) return undefined;
    if (this.#values.slotOf(output, frame).type !== slot.type) return undefined;
    const start = this.#layoutOf(node, frame).starts.get(value);
    if (start === undefined) return undefined;
    const home = this.#homesIn(frame).get(node) ?? this.#allocate(node, order, [], frame);
    return sliced(home, axis, start, slot.shape[axis] ?? 0);
  }

  #allocate(node: Node, order: readonly number[] | undefined, slots: readonly Slot[], frame: Frame): View {
    const [output] = node.outputs;
    if (output === undefined) throw new Error("tc-lint bug: a Concat without an output");
    const { shape, type } = this.#values.slotOf(output, frame);
    const types = new Set(slots.map((slot) => this.#values.typeOf(slot)));
    const [only] = types;
    const kept = types.size === 1 && only !== undefined ? only : type;
    const reserved = frame.homes.get(output);
    const home =
      reserved?.type === kept
        ? reserved
        : this.#values.emitter.temporary(kept, shape, order ?? this.#orderOf(slots));
    this.#homesIn(frame).set(node, home);
    return home;
  }

  #layoutOf(node: Node, frame: Frame): Layout {
    const layouts = this.#layouts.get(frame) ?? new Map<Node, Layout>();
    this.#layouts.set(frame, layouts);
    const layout = layouts.get(node) ?? layoutOf(node, frame);
    layouts.set(node, layout);
    return layout;
  }

  #homesIn(frame: Frame): Map<Node, View> {
    const homes = this.#homes.get(frame) ?? new Map<Node, View>();
    this.#homes.set(frame, homes);
    return homes;
  }

  #orderOf(slots: readonly Slot[]): readonly number[] | undefined {
    for (const slot of slots) {
      const order = this.#values.orderOf(slot);
      if (order?.some((axis, index) => axis !== index)) return order;
    }
    return undefined;
  }

  /** The parts lie side by side already, in another concatenation. */
  #asSlice(slots: readonly Slot[], axis: number, output: Slot): View | undefined {
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
}

/** Where each input of a concatenation begins. */
interface Layout {
  /** Along the axis, by input; absent behind one of unknown size. */
  readonly starts: ReadonlyMap<Value, number>;
  /** Inputs that go in more than once. */
  readonly repeated: ReadonlySet<Value>;
}

function layoutOf(node: Node, frame: Frame): Layout {
  const axis = axisOf(node, frame) ?? 0;
  const starts = new Map<Value, number>();
  const seen = new Set<Value>();
  const repeated = new Set<Value>();
  let start: number | undefined = 0;
  for (const input of node.inputs) {
    if (input !== undefined && seen.has(input)) repeated.add(input);
    else if (input !== undefined && start !== undefined) starts.set(input, start);
    if (input !== undefined) seen.add(input);
    const size: unknown = input === undefined ? undefined : frame.scope.shape(input)?.[axis];
    start = start !== undefined && typeof size === "number" ? start + size : undefined;
  }
  return { starts, repeated };
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

function axisOf(node: Node, frame: Frame): number | undefined {
  const value = node.attributes.find(({ name }) => name === "axis")?.value;
  const [output] = node.outputs;
  const rank = output === undefined ? undefined : frame.scope.shape(output)?.length;
  if (value?.type !== "int" || rank === undefined) return undefined;
  return value.value < 0 ? value.value + rank : value.value;
}
