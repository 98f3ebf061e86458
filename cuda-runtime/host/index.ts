/** @file Which operators the host computes between the graphs of a plan. */
import { distinctElements } from "../../src/ops/search/distinct.ts";
import { elementCount, stridesOf } from "../ir/view.ts";
import { nonMaxSuppression } from "./non-max-suppression.ts";
import { HostError, type HostOperator, inputAt } from "./operator.ts";

/** Coordinates [rank, found] of the elements that are not zero, in row-major order. */
const nonZero: HostOperator = {
  nanosecondsPerElement: 5,
  largest: ([input]) => {
    const axes = axesOf(input?.shape ?? []);
    return [[axes.length, elementCount(axes)]];
  },
  run(inputs) {
    const { shape, values } = inputAt(inputs, 0);
    const axes = axesOf(shape);
    const strides = stridesOf(axes);
    const found: number[] = [];
    for (let at = 0; at < values.length; at++) if (values[at] !== 0) found.push(at);
    const rows = axes.map((size, axis) => found.map((at) => Math.floor(at / (strides[axis] ?? 1)) % size));
    return [{ type: "int64", shape: [axes.length, found.length], values: rows.flat() }];
  },
};

/** A scalar counts as a vector of one element. */
function axesOf(shape: readonly number[]): readonly number[] {
  return shape.length === 0 ? [1] : shape;
}

/** Distinct elements, or slices along an axis; where each first was; which one each is; how often each occurs. */
const unique: HostOperator = {
  nanosecondsPerElement: 200,
  largest([input], attributes) {
    const shape = input?.shape ?? [];
    const named = attributes.int("axis");
    const count = named === undefined ? elementCount(shape) : (shape.at(named) ?? 0);
    return [named === undefined ? [count] : shape, [count], [count], [count]];
  },
  run(inputs, attributes) {
    const { type, shape, values } = inputAt(inputs, 0);
    if ((type === "int64" || type === "uint64") && !Array.from(values).every(Number.isSafeInteger))
      throw new HostError("input 0 holds integers of more than 53 bits, which the host does not tell apart");
    const named = attributes.int("axis");
    const isSorted = attributes.int("sorted") !== 0;
    const list = (elements: readonly number[]) =>
      ({ type: "int64", shape: [elements.length], values: elements }) as const;
    if (values.length === 0) {
      const empty = named === undefined ? [0] : shape.with(named, 0);
      return [{ type, shape: empty, values: [] }, list([]), list([]), list([])];
    }
    const found = distinctElements(Array.from(values), shape, { named, isSorted });
    return [
      { type, shape: found.shape, values: found.elements },
      list(found.first),
      list(found.inverse),
      list(found.counts),
    ];
  },
};

/** By operator, as `operatorOf` prints it. */
export const hostOperators: Readonly<Record<string, HostOperator>> = {
  NonMaxSuppression: nonMaxSuppression,
  NonZero: nonZero,
  Unique: unique,
};
