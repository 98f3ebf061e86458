/** @file An output of a loop that is made slice by slice: each is written where it belongs, where that is possible. */
import { type Node, operatorOf, type Value } from "../../src/ir/model.ts";
import { sizesOfFact } from "../graph/known.ts";
import type { View } from "../ir/view.ts";
import { controlError } from "./control-body.ts";
import type { Frame, Planner } from "./planner.ts";
import type { Slot } from "./slots.ts";

/** The part of the whole that a slice is. */
export type Part = (whole: View) => View;

export class Stack {
  readonly shape: readonly number[];
  readonly #output: Value;
  readonly #order: readonly number[];
  readonly #frame: Frame;
  readonly #planner: Planner;
  #whole: View | undefined;

  /** `axes`: those that slices are taken of. They are the outermost in memory, so that a slice is packed. */
  constructor(node: Node, output: Value, axes: readonly number[], frame: Frame, planner: Planner) {
    const shape = sizesOfFact(frame.scope.fact(output));
    if (shape === undefined) throw controlError(node, `"${output.name}" has a shape that depends on data`);
    this.shape = shape;
    this.#output = output;
    this.#order = [...axes, ...Array.from(shape.keys()).filter((axis) => !axes.includes(axis))];
    this.#frame = frame;
    this.#planner = planner;
  }

  /** Before a body is lowered: its output `value` may be computed in place. */
  reserve(value: Value, body: Frame, part: Part): void {
    const whole = this.#wholeOf(this.#planner.slotOf(value, body).type);
    // Exporters put an Identity between a carried value and the output that is the same.
    for (let at: Value | undefined = value; at !== undefined; at = beforeIdentity(at)) {
      if (this.#planner.slotOf(at, body).type === whole.type) body.homes.set(at, part(whole));
    }
  }

  /** After it is. */
  place(value: Value, body: Frame, part: Part): void {
    this.placeSlot(this.#planner.slotOf(value, body), part);
  }

  placeSlot(slot: Slot, part: Part): void {
    this.#planner.place(slot, part(this.#wholeOf(slot.type)));
  }

  /** Zeroes all of it, for slices that no body makes. */
  clear(): void {
    this.#planner.emitter.clear(this.#wholeOf(this.#ownType()));
  }

  finish(): void {
    this.#planner.setView(this.#output, this.#wholeOf(this.#ownType()), this.#frame);
  }

  #ownType(): View["type"] {
    return this.#planner.slotOf(this.#output, this.#frame).type;
  }

  #wholeOf(type: View["type"]): View {
    this.#whole ??= this.#planner.emitter.temporary(type, this.shape, this.#order);
    return this.#whole;
  }
}

/** What an Identity of the same graph hands on. */
function beforeIdentity({ producer, graph }: Value): Value | undefined {
  if (producer === undefined || operatorOf(producer) !== "Identity") return undefined;
  const [input] = producer.inputs;
  return input?.graph === graph && input.producer !== undefined ? input : undefined;
}
