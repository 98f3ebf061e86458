/**
 * @file Operands that an operator takes, and results that it gives, at their true size: inside the graph, a Slice in front of the one and
 * a Pad behind the other are what lets the value itself be padded.
 */
import type { Scope } from "../../facts/scope.ts";
import { isStored } from "../../facts/stored.ts";
import { type Axis, type PaddedSizes, paddedSize, sizeOfAxis } from "../../ir/axis.ts";
import type { Node, Value } from "../../ir/model.ts";
import { zeroForm } from "./zero-lanes.ts";

/** Positions of axes. */
export type Positions = ReadonlySet<number>;

const nowhere: Positions = new Set();

/** Who reads a padded value without the padding along some of its axes. */
export interface Cut {
  readonly positions: readonly number[];
  readonly readers: readonly { readonly node: Node; readonly index: number }[];
}

/** What stands at one value once it is padded. */
export interface Conversions {
  /** Axes along which its producer gives the true size, which are padded behind it. */
  readonly widened: readonly number[];
  /** One Slice for each, whoever reads it. */
  readonly cuts: readonly Cut[];
  /** Its readers take what is there at its true size anyway: a model's input or output, or what is widened. */
  readonly before: Cut | undefined;
}

export class InnerEdges {
  readonly #taken = new Map<Node, Map<number, Set<number>>>();
  readonly #given = new Map<Value, Set<number>>();
  readonly #readers = new Map<Value, Set<Node>>();

  take(node: Node, index: number, position: number): void {
    const value = node.inputs[index];
    if (value === undefined) return;
    const taken = this.#taken.get(node) ?? new Map<number, Set<number>>();
    this.#taken.set(node, taken);
    taken.set(index, (taken.get(index) ?? new Set()).add(position));
    this.#readers.set(value, (this.#readers.get(value) ?? new Set()).add(node));
  }

  give(value: Value, position: number): void {
    this.#given.set(value, (this.#given.get(value) ?? new Set()).add(position));
  }

  /** Along which axes an input comes at its true size. */
  takenBy(node: Node, index: number): Positions {
    return this.#taken.get(node)?.get(index) ?? nowhere;
  }

  /** Along which axes a value comes at its true size to all that read it among some nodes. */
  takenByAll(nodes: readonly Node[], value: Value): Positions {
    if (!this.#readers.has(value)) return nowhere;
    const [first = nowhere, ...others] = nodes.flatMap((node) =>
      node.inputs.flatMap((input, index) => (input === value ? [this.takenBy(node, index)] : [])),
    );
    return new Set([...first].filter((at) => others.every((other) => other.has(at))));
  }

  /** Along which axes the producer of a value gives the true size. */
  givenOf(value: Value | undefined): Positions {
    return (value && this.#given.get(value)) ?? nowhere;
  }

  /** Values that a Slice or a Pad may stand at. */
  values(): ReadonlySet<Value> {
    return new Set([...this.#given.keys(), ...this.#readers.keys()]);
  }

  /** Operators around which one may stand at the value. */
  nodesAt(value: Value): readonly Node[] {
    const { producer } = value;
    const readers = [...(this.#readers.get(value) ?? [])];
    return producer !== undefined && this.#given.has(value) ? [producer, ...readers] : readers;
  }

  /** What `sizes` make necessary at a value with these axes. */
  conversionsAt(value: Value, axes: readonly Axis[], sizes: PaddedSizes): Conversions {
    const padded = [...axes.keys()].filter((at) => isPaddedAt(axes, at, sizes));
    const widened = padded.filter((at) => this.givenOf(value).has(at));
    const cuts = this.#cutsOf(value, padded);
    const there = value.isInput || value.isOutput ? padded : widened;
    const isThere = ({ positions }: Cut) => there.length > 0 && positions.join() === there.join();
    return { widened, cuts: cuts.filter((cut) => !isThere(cut)), before: cuts.find(isThere) };
  }

  #cutsOf(value: Value, padded: readonly number[]): readonly Cut[] {
    const cuts = new Map<
      string,
      { positions: readonly number[]; readers: { node: Node; index: number }[] }
    >();
    for (const node of this.#readers.get(value) ?? []) {
      for (const [index, positions] of this.#taken.get(node) ?? []) {
        const own = node.inputs[index] === value ? padded.filter((at) => positions.has(at)) : [];
        if (own.length === 0) continue;
        const cut = cuts.get(own.join()) ?? { positions: own, readers: [] };
        cuts.set(own.join(), cut);
        cut.readers.push({ node, index });
      }
    }
    return [...cuts.values()];
  }
}

export function isPaddedAt(axes: readonly Axis[], at: number, sizes: PaddedSizes): boolean {
  const axis = axes[at];
  return axis !== undefined && paddedSize(axis, sizes) !== sizeOfAxis(axis);
}

/** Whether a Slice can stand before a reader of the value: it is computed or given, and of a size that is known. */
export function canSlice(value: Value, position: number, scope: Scope): boolean {
  return !isStored(value, scope) && isKnownAt(value, position, scope);
}

/** Whether zeros can be appended to what a node of the graph gives. An output of the model is what it is. */
export function canPad(value: Value, position: number, scope: Scope): boolean {
  const fact = scope.fact(value);
  const dtype = fact?.kind === "tensor" ? fact.dtype : undefined;
  const hasZeros = zeroForm(dtype, scope.opsets.get("") ?? 1) !== undefined;
  return !value.isOutput && hasZeros && isKnownAt(value, position, scope);
}

function isKnownAt(value: Value, position: number, scope: Scope): boolean {
  const fact = scope.fact(value);
  if (fact?.kind !== "tensor" || fact.dtype === undefined) return false;
  return typeof fact.shape?.[position] === "number";
}
