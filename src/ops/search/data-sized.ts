/** @file Operators whose result is as large as what they find: NonZero, NonMaxSuppression, Unique. */
import { addDims, type Dim, isUnknown, mulDims, product, type Shape, unknownDim } from "../../ir/dim.ts";
import { type DType, dtypes } from "../../ir/dtype.ts";
import { defineOp, maxFoldedElements, type OpDefinition, type WorkContext } from "../op.ts";
import { withSize } from "../reduction/axes.ts";
import { normalizeAxis, numbersOf, stridesOf, tensor, tensorAt, unknownShape } from "../shape.ts";
import { half, noHalf } from "../traits.ts";
import type { TrafficWork, Work } from "../work.ts";
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
  work: nonZeroWork,
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

/** The input twice, once to count and once to write; nobody knows how many of the elements are found. */
function nonZeroWork(context: WorkContext): readonly Work[] | undefined {
  const { shape, dtype } = tensorAt(context, 0);
  if (shape === undefined || dtype === undefined) return undefined;
  const elements = product(shape);
  const coordinate = bytesOfInt64 * Math.max(shape.length, 1);
  return passOf(elements, [[elements, 2 * bytesIn(dtype)]], { mostBytes: mulDims(elements, coordinate) });
}

/** Operations that tell how far two boxes overlap, and whether that is too much. */
const perPair = 16;

/** Boxes and scores once; of each image and class every box is compared with those behind it, unless scores leave few. */
function nonMaxSuppressionWork(context: WorkContext): readonly Work[] | undefined {
  const [boxes, scores] = [tensorAt(context, 0), tensorAt(context, 1)];
  if (boxes.shape === undefined || scores.shape === undefined || scores.dtype === undefined) return undefined;
  const candidates = product(scores.shape);
  const each = scores.shape.at(-1) ?? 1;
  const read = [
    [product(boxes.shape), bytesIn(scores.dtype)],
    [candidates, bytesIn(scores.dtype)],
  ] as const;
  return passOf(candidates, read, { mostOperations: mulDims(mulDims(candidates, each), perPair / 2) });
}

type Most = Pick<TrafficWork, "mostOperations" | "mostBytes">;

/** Of indices, which half precision leaves as they are. Undefined where a size is not known. */
function passOf(
  elements: Dim,
  read: readonly (readonly [elements: Dim, bytes: number])[],
  most: Most,
): readonly Work[] | undefined {
  const bytesRead = read.reduce<Dim>((sum, [count, bytes]) => addDims(sum, mulDims(count, bytes)), 0);
  if (isUnknown(elements) || isUnknown(bytesRead)) return undefined;
  const pass = { kind: "traffic", pattern: "copy", rows: 1, columns: elements, bytesRead } as const;
  return [{ ...pass, bytesWritten: 0, dtype: "int64", ...most }];
}

const bytesOfInt64 = 8;

function bytesIn(dtype: DType): number {
  return Math.max(1, dtypes[dtype].bits / 8);
}

/** Selected (batch, class, box) triples. */
const nonMaxSuppression = defineOp({
  domain: "",
  type: "NonMaxSuppression",
  traits: { elements: "computed", half: noHalf(), layout: "fixed", sameSince: 11 },
  infer: () => [tensor("int64", [unknownDim(), 3])],
  work: nonMaxSuppressionWork,
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
