/**
 * @file What the elements of an input are used for, found by following it through the graph: any integer fits a model's
 * type, but an index beyond its table, or a length beyond its sequence, fits no model.
 */
import { storedTensor } from "../facts/stored.ts";
import { intAttributeOf } from "../ir/attributes.ts";
import { evaluateDim } from "../ir/dim.ts";
import { dtypes } from "../ir/dtype.ts";
import { maxOf, minOf } from "../ir/lists.ts";
import { functionKey, type Model, type Node, operatorOf, type Value } from "../ir/model.ts";
import { carriesElements, traitsOf } from "../ops/ask.ts";
import type { InputUse } from "../ops/traits.ts";

export type Use =
  /** Positions in a table: whole numbers from 0 to `below` - 1. */
  | { readonly kind: "index"; readonly below: number }
  | { readonly kind: "mask" }
  /** Whole numbers from 1 to `most`: lengths of sequences, numbers of rounds. */
  | { readonly kind: "count"; readonly most: number }
  /** Exactly this: what other inputs' sizes make of it. */
  | { readonly kind: "fixed"; readonly value: number }
  | { readonly kind: "value" };

/** Sizes of symbols. */
export type Bindings = ReadonlyMap<string, number>;

/** Of several inputs, whose elements may all come out. */
const joining: ReadonlySet<string> = new Set(["Add", "Concat", "Sum"]);

/** A mask's elements that are summed up, and what may be done to the sum before it is a length. */
const summing = "ReduceSum";
const shifting: ReadonlySet<string> = new Set(["Add", "Sub"]);

/** Values beyond this many are not followed: what they feed is far from the input. */
const maxValues = 500;

/** The strictest use that is made of an input. `bindings` size the tables whose axes are symbolic. */
export function useOf(model: Model, input: Value, bindings: Bindings): Use {
  const found = new Follower(model, bindings).follow(input);
  const indices = found.filter((use) => use.kind === "index");
  const first = found.find((use) => use.kind !== "index" && use.kind !== "mask");
  if (indices.length > 0) return { kind: "index", below: minOf(indices.map(({ below }) => below)) };
  if (first !== undefined) return first;
  const isMask = found.some(({ kind }) => kind === "mask") || /mask/i.test(input.name);
  return isMask ? { kind: "mask" } : { kind: "value" };
}

/** Whether a float input masks by being added to the scores of a softmax. */
export function addsToScores(model: Model, input: Value, bindings: Bindings): boolean {
  const dtype = input.declared?.kind === "tensor" ? input.declared.dtype : undefined;
  const isFloat = dtype !== undefined && dtypes[dtype].kind === "float";
  if (!isFloat) return false;
  const follower = new Follower(model, bindings);
  follower.follow(input);
  return follower.meetsComputedScores || (follower.meetsScores && /mask/i.test(input.name));
}

class Follower {
  readonly #model: Model;
  readonly #bindings: Bindings;
  readonly #seen = new Set<Value>();
  readonly #uses: Use[] = [];
  /** What callers pass for the inputs of local functions, which have no shapes of their own. */
  readonly #passed = new Map<Value, Value | undefined>();
  meetsScores = false;
  /** Of two inputs that are added, only a name tells which is the mask. */
  meetsComputedScores = false;

  constructor(model: Model, bindings: Bindings) {
    this.#model = model;
    this.#bindings = bindings;
  }

  follow(input: Value): readonly Use[] {
    /** Values, what was added to the input's elements on the way, and whether they were summed up. */
    const queue: { readonly value: Value; readonly added: number; readonly isSum: boolean }[] = [
      { value: input, added: 0, isSum: false },
    ];
    for (let item = queue.pop(); item !== undefined; item = queue.pop()) {
      const { value, added, isSum } = item;
      if (this.#seen.has(value) || this.#seen.size > maxValues) continue;
      this.#seen.add(value);
      for (const node of new Set(value.consumers)) {
        for (const [index, operand] of node.inputs.entries()) {
          if (operand !== value) continue;
          if (isSum) this.#noteSum(node, index);
          else this.#note(node, index, added);
          const sums = isSum || (operatorOf(node) === summing && index === 0);
          const isShifted = isSum && shifting.has(operatorOf(node)) && index === 0;
          const nexts = sums !== isSum || isShifted ? definedIn(node.outputs) : this.#passedOn(node, index);
          for (const next of nexts) {
            queue.push({ value: next, added: added + this.#addedBy(node, index), isSum: sums });
          }
        }
      }
    }
    return this.#uses;
  }

  /** Where a sum is a sequence's length, all of it counts. */
  #noteSum(node: Node, index: number): void {
    if (traitsOf(node)?.uses?.[index]?.kind === "length") this.#uses.push({ kind: "fixed", value: 1 });
  }

  #note(node: Node, index: number, added: number): void {
    const use = traitsOf(node)?.uses?.[index];
    if (use !== undefined) this.#noteUse(use, node, added);
    if (!isAddedToScores(node)) return;
    this.meetsScores = true;
    this.meetsComputedScores ||= node.inputs[1 - index]?.producer !== undefined;
  }

  #noteUse(use: InputUse, node: Node, added: number): void {
    switch (use.kind) {
      case "index": {
        const size = this.#tableSize(node, use);
        if (size !== undefined) this.#uses.push({ kind: "index", below: Math.max(1, size - added) });
        return;
      }
      case "count": {
        const most = use.of === undefined ? 1 : (this.#size(node.inputs[use.of], use.axis ?? 0) ?? 1);
        this.#uses.push({ kind: "count", most });
        return;
      }
      case "length": {
        const length = (this.#size(node.inputs[0], 1) ?? 1) + (this.#size(node.inputs[3], 2) ?? 0);
        this.#uses.push({ kind: "fixed", value: length + use.offset });
        return;
      }
      case "mask":
        this.#uses.push({ kind: "mask" });
        return;
      case "scores":
        this.meetsComputedScores = true;
        return;
      case "whole":
        return;
    }
  }

  #tableSize(node: Node, { table, axis }: Extract<InputUse, { kind: "index" }>): number | undefined {
    const value = node.inputs[table];
    return this.#size(value, axis === "first" ? 0 : (intAttributeOf(node, "axis") ?? 0));
  }

  /** The size of an axis as stored or declared. */
  #size(value: Value | undefined, axis: number): number | undefined {
    if (value === undefined) return undefined;
    const declared = value.declared?.kind === "tensor" ? value.declared.shape : undefined;
    const dim = ((value.initializer ?? storedTensor(value))?.dims ?? declared)?.at(axis);
    return dim === undefined ? this.#size(this.#passed.get(value), axis) : evaluateDim(dim, this.#bindings);
  }

  /** Where the elements go from here. */
  #passedOn(node: Node, index: number): readonly Value[] {
    const operator = operatorOf(node);
    const key = functionKey(node.domain, node.opType, node.overload);
    const inner = this.#model.functions.get(key)?.graph.inputs;
    if (inner !== undefined) {
      for (const [position, value] of inner.entries()) this.#passed.set(value, node.inputs[position]);
      return inner.slice(index, index + 1);
    }
    const isPicked = traitsOf(node)?.elements === "picked" && traitsOf(node)?.uses?.[index] === undefined;
    const isMoved = (carriesElements(node) && index === 0) || isPicked || joining.has(operator);
    return isMoved ? definedIn(node.outputs) : [];
  }

  /** Adding a constant to ids moves their end of the table: `Add(ids, offsets)`. */
  #addedBy(node: Node, index: number): number {
    if (operatorOf(node) !== "Add") return 0;
    const other = node.inputs[1 - index];
    const maxOffsets = 4096;
    const stored = other && storedTensor(other);
    const elements = stored && this.#model.reader.elements(stored, maxOffsets);
    return elements === undefined ? 0 : Math.max(0, maxOf(elements));
  }
}

function definedIn(values: readonly (Value | undefined)[]): readonly Value[] {
  return values.filter((value) => value !== undefined);
}

/** `Softmax(Add(scores, mask))`. */
function isAddedToScores(node: Node): boolean {
  const readers = operatorOf(node) === "Add" ? (node.outputs[0]?.consumers ?? []) : [];
  return readers.some((reader) => operatorOf(reader) === "Softmax");
}
