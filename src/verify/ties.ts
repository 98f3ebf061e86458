/**
 * @file Decisions that rounding may turn: which of two values is larger, or where the largest is. They are ties where the
 * original's values are nearer to each other than their budget lets them move; any other must come out the same.
 */
import { maxOf } from "../ir/lists.ts";
import type { Graph, Value } from "../ir/model.ts";
import { decisionAt, isReshaping } from "../ops/ask.ts";
import type { Decision } from "../ops/traits.ts";
import { countOf, isFloatTensor, numbersOf, type Tensor } from "./tensor.ts";

/** A value that others decide. */
export interface Decided {
  readonly decision: Decision;
  readonly operands: readonly Value[];
}

/** A value in the original, its largest finite element, and how far it may be from that. */
export interface Operand {
  readonly tensor: Tensor;
  readonly largest: number;
  readonly budget: number;
}

export interface Ties {
  /** What decides, by name. */
  readonly of: string;
  /** By how much values may be apart to be a tie. */
  readonly within: number;
  /** The largest value that decides. */
  readonly largest: number;
  readonly isTie: (index: number) => boolean;
  /** Whether a tie explains that element `index` is this. */
  readonly explains: (index: number, found: number) => boolean;
}

/** What decides an output, element by element; undefined where that is not known. */
export function decidedBehind({ outputs }: Graph, name: string): Decided | undefined {
  return decidedAt(outputs.find((output) => output.name === name));
}

function decidedAt(value: Value | undefined): Decided | undefined {
  const { producer } = value ?? {};
  if (value === undefined || producer === undefined) return undefined;
  const decision = decisionAt(producer, producer.outputs.indexOf(value));
  if (decision === undefined) return isReshaping(producer) ? decidedAt(producer.inputs[0]) : undefined;
  // A decision in another type is the same decision.
  const before = decision.kind === "whole" ? decidedAt(producer.inputs[0]) : undefined;
  if (before !== undefined) return before;
  if (decision.kind === "place" && !decision.inOrder) return undefined;
  const operands = producer.inputs.slice(0, decision.kind === "order" ? 2 : 1);
  return { decision, operands: operands.filter((input) => input !== undefined) };
}

/** Undefined where the operands do not decide by being near each other: they are whole numbers, or of other sizes. */
export function tiesOf(
  { decision, operands }: Decided,
  expected: Tensor,
  given: readonly Operand[],
): Ties | undefined {
  if (given.length !== operands.length || !given.every(({ tensor }) => isFloatTensor(tensor)))
    return undefined;
  const [first, second] = given;
  if (first === undefined) return undefined;
  const common = {
    of: operands.map(({ name }) => `"${name}"`).join(" and "),
    largest: maxOf(given.map(({ largest }) => largest)),
  };
  // Of a place that is told as truth, nothing is left.
  if (decision.kind === "place" && expected.dtype === "bool") return undefined;
  if (decision.kind === "place") return { ...common, ...placeTies(decision.axis, expected, first) };
  if (decision.kind === "whole") return { ...common, ...wholeTies(expected, first) };
  return second && { ...common, ...orderTies(expected, first, second) };
}

type Found = Omit<Ties, "of" | "largest">;

/** NaN is near everything: it has no order. */
function isNear(a: number, b: number, within: number): boolean {
  return a === b || !(Math.abs(a - b) > within);
}

function placeTies(axis: number, expected: Tensor, { tensor, budget }: Operand): Found {
  const numbers = numbersOf(tensor);
  const places = numbersOf(expected);
  const { dims } = tensor;
  const at = axis < 0 ? axis + dims.length : axis;
  const size = dims[at] ?? 1;
  const inner = countOf(dims.slice(at + 1));
  // As many in a row of the result as are sought.
  const sought = Math.max(1, places.length / Math.max(1, numbers.length / size));
  const valueAt = (index: number, place: number) => {
    const outer = Math.floor(index / (sought * inner));
    return numbers[(outer * size + place) * inner + (index % inner)] ?? Number.NaN;
  };
  const within = 2 * budget;
  const explains = (index: number, found: number) =>
    found >= 0 && found < size && isNear(valueAt(index, places[index] ?? -1), valueAt(index, found), within);
  const isTie = (index: number) => {
    for (let place = 0; place < size; place++)
      if (place !== places[index] && explains(index, place)) return true;
    return false;
  };
  return { within, explains, isTie };
}

function orderTies({ dims }: Tensor, first: Operand, second: Operand): Found {
  const [a, b] = [broadcastTo(dims, first.tensor), broadcastTo(dims, second.tensor)];
  const within = first.budget + second.budget;
  const isTie = (index: number) => isNear(a(index), b(index), within);
  return { within, isTie, explains: isTie };
}

/** Towards zero, as Cast does; of truth, whether anything is left. */
function wholeTies({ dtype }: Tensor, { tensor, budget: within }: Operand): Found {
  const numbers = numbersOf(tensor);
  const isTruth = dtype === "bool";
  const low = (index: number) => Math.trunc((numbers[index] ?? 0) - within);
  const high = (index: number) => Math.trunc((numbers[index] ?? 0) + within);
  const isTie = (index: number) =>
    isTruth ? isNear(numbers[index] ?? 0, 0, within) : low(index) !== high(index);
  const explains = (index: number, found: number) =>
    isTruth ? isTie(index) : found >= low(index) && found <= high(index);
  return { within, isTie, explains };
}

/** An element of a tensor where it is broadcast to a shape. */
function broadcastTo(dims: readonly number[], tensor: Tensor): (index: number) => number {
  const numbers = numbersOf(tensor);
  if (numbers.length === countOf(dims)) return (index) => numbers[index] ?? Number.NaN;
  const missing = dims.length - tensor.dims.length;
  const axes = dims.map((size, axis) => {
    const own = axis < missing ? 1 : (tensor.dims[axis - missing] ?? 1);
    const stride = own === 1 ? 0 : countOf(tensor.dims.slice(axis - missing + 1));
    return { inner: countOf(dims.slice(axis + 1)), size, stride };
  });
  return (index) => {
    const place = axes.reduce(
      (sum, { inner, size, stride }) => sum + (Math.floor(index / inner) % size) * stride,
      0,
    );
    return numbers[place] ?? Number.NaN;
  };
}
