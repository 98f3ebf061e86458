/** @file An output of a loop that is made slice by slice: each is written where it belongs, where that is possible. */
import type { Node, Value } from "../../src/ir/model.ts";
import { isIdentity } from "../../src/ops/ask.ts";
import { dataError } from "../graph/check.ts";
import { sizesOfFact } from "../graph/known.ts";
import type { View } from "../ir/view.ts";
import type { Frame } from "./frame.ts";
import type { Slot } from "./slots.ts";
import type { PlanValues } from "./values.ts";

/** The part of the whole that a slice is. */
export type Part = (whole: View) => View;

export class Stack {
  readonly shape: readonly number[];
  readonly #output: Value;
  readonly #order: readonly number[];
  readonly #frame: Frame;
  readonly #values: PlanValues;
  #whole: View | undefined;

  /** `axes`: those that slices are taken of. They are the outermost in memory, so that a slice is packed. */
  constructor(node: Node, output: Value, axes: readonly number[], frame: Frame, values: PlanValues) {
    const shape = sizesOfFact(frame.scope.fact(output));
    if (shape === undefined) throw dataError(node, `"${output.name}" has a shape that depends on data`);
    this.shape = shape;
    this.#output = output;
    this.#order = [...axes, ...Array.from(shape.keys()).filter((axis) => !axes.includes(axis))];
    this.#frame = frame;
    this.#values = values;
  }

  /** Before a body is lowered: its output `value` may be computed in place. */
  reserve(value: Value, body: Frame, part: Part): void {
    const whole = this.#wholeOf(this.#values.slotOf(value, body).type);
    // Exporters put an Identity between a carried value and the output that is the same.
    for (let at: Value | undefined = value; at !== undefined; at = beforeIdentity(at)) {
      if (this.#values.slotOf(at, body).type === whole.type) body.homes.set(at, part(whole));
    }
  }

  /** After it is. */
  place(value: Value, body: Frame, part: Part): void {
    this.placeSlot(this.#values.slotOf(value, body), part);
  }

  placeSlot(slot: Slot, part: Part): void {
    this.#values.place(slot, part(this.#wholeOf(slot.type)));
  }

  /** Zeroes all of it, for slices that no body makes. */
  clear(): void {
    this.#values.emitter.clear(this.#wholeOf(this.#ownType()));
  }

  finish(): void {
    this.#values.setView(this.#output, this.#wholeOf(this.#ownType()), this.#frame);
  }

  #ownType(): View["type"] {
    return this.#values.slotOf(this.#output, this.#frame).type;
  }

  #wholeOf(type: View["type"]): View {
    this.#whole ??= this.#values.emitter.temporary(type, this.shape, this.#order);
    return this.#whole;
  }
}

/** What an Identity of the same graph hands on. */
function beforeIdentity({ producer, graph }: Value): Value | undefined {
  if (producer === undefined || !isIdentity(producer)) return undefined;
  const [input] = producer.inputs;
  return input?.graph === graph && input.producer !== undefined ? input : undefined;
}
