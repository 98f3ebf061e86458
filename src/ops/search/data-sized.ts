/** @file Operators whose result is as large as what they find: NonZero, NonMaxSuppression, Unique. */
import { type Dim, product, type Shape, unknownDim } from "../../ir/dim.ts";
import { defineOp, maxFoldedElements, type OpDefinition } from "../op.ts";
import { withSize } from "../reduction/axes.ts";
import { normalizeAxis, numbersOf, stridesOf, tensor, tensorAt, unknownShape } from "../shape.ts";
import { half, noHalf } from "../traits.ts";
import { distinctElements } from "./distinct.ts";

/** x of rank r to the coordinates [r, found] of its non-zero elements. */
const nonZero = defineOp({
  domain: "",
  type: "NonZero",
  traits: { elements: "computed", half: half(9, 13), layout: "fixed", sameSince: 9 },
  infer(context) {
    const { shape, elements } = tensorAt(context, 0);
    const sizes = numbersOf(shape);
    const numbers = numbersOf(elements);
    if (sizes !== undefined && numbers !== undefined) return [coordinates(numbers, sizes)];
    if (shape === undefined) return [tensor("int64", unknownShape(2))];
    // A scalar counts as a vector of one element.
    return [tensor("int64", [Math.max(shape.length, 1), unknownDim()])];
  },
});

function coordinates(elements: readonly number[], sizes: readonly number[]) {
  const found = [...elements.keys()].filter((at) => elements[at] !== 0);
  const axes = sizes.length === 0 ? [1] : sizes;
  const strides = stridesOf(axes);
  const result = axes.flatMap((size, axis) =>
    found.map((at) => Math.floor(at / (strides[axis] ?? 1)) % size),
  );
  return tensor("int64", [axes.length, found.length], result.length > maxFoldedElements ? undefined : result);
}

/** Selected (batch, class, box) triples. */
const nonMaxSuppression = defineOp({
  domain: "",
  type: "NonMaxSuppression",
  traits: { elements: "computed", half: noHalf(), layout: "fixed", sameSince: 11 },
  infer: () => [tensor("int64", [unknownDim(), 3])],
});

/** Distinct elements, or slices along `axis`; where each first was; which one each input is; how often each occurs. */
const unique = defineOp({
  domain: "",
  type: "Unique",
  traits: { elements: "computed", half: half(11, undefined), layout: "fixed", sameSince: 11 },
  infer(context) {
    const { dtype, shape, elements } = tensorAt(context, 0);
    const named = context.int("axis");
    const sizes = numbersOf(shape);
    const numbers = numbersOf(elements);
    if (sizes !== undefined && numbers !== undefined && numbers.length > 0) {
      const isSorted = (context.int("sorted") ?? 1) !== 0;
      const found = distinctElements(numbers, sizes, { named, isSorted });
      const list = (values: readonly number[]) => tensor("int64", [values.length], values);
      const values = tensor(dtype, found.shape, found.elements);
      return [values, list(found.first), list(found.inverse), list(found.counts)];
    }
    const count = unknownDim();
    const perFound = tensor("int64", [count]);
    const inverse = tensor("int64", [inverseLength(shape, named)]);
    return [tensor(dtype, distinct(shape, named, count)), perFound, inverse, perFound];
  },
});

function distinct(shape: Shape | undefined, named: number | undefined, count: Dim): Shape | undefined {
  if (named === undefined) return [count];
  return shape && withSize(shape, normalizeAxis(named, shape.length), count);
}

function inverseLength(shape: Shape | undefined, named: number | undefined): Dim {
  if (shape === undefined) return unknownDim();
  if (named !== undefined) return shape[normalizeAxis(named, shape.length)] ?? unknownDim();
  return product(shape);
}

export const dataSizedOps: readonly OpDefinition[] = [nonZero, nonMaxSuppression, unique];
