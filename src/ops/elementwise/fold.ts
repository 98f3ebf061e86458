/** @file Constant folding, lane by lane, with broadcasting. */
import { type Dim, type Shape, unknownDim } from "../../ir/dim.ts";
import type { DType } from "../../ir/dtype.ts";
import { maxFoldedElements, type TensorFact } from "../op.ts";
import { numbersOf, sizeOf, stridesOf } from "../shape.ts";

/** One output element, of type `dtype`, from one element of every input. */
export type Fold = (values: readonly Dim[], dtype: DType) => Dim;

/** Elements of a lane-wise result; undefined where an input has none or where there are too many to keep. */
export function foldLanes(
  inputs: readonly TensorFact[],
  shape: Shape | undefined,
  dtype: DType | undefined,
  fold: Fold,
): readonly Dim[] | undefined {
  const size = sizeOf(shape);
  const sizes = numbersOf(shape);
  if (size === undefined || sizes === undefined || size > maxFoldedElements) return undefined;
  if (dtype === undefined) return undefined;
  const lanes = inputs.map((input) => lanesOf(input, sizes));
  if (!lanes.every((lane) => lane !== undefined)) return undefined;
  return Array.from({ length: size }, (_, at) =>
    fold(
      lanes.map((lane) => lane(at)),
      dtype,
    ),
  );
}

/** Reads an input at a row-major position of the broadcast result. */
function lanesOf(input: TensorFact, sizes: readonly number[]): ((at: number) => Dim) | undefined {
  const { elements } = input;
  const own = numbersOf(input.shape);
  if (elements === undefined || own === undefined || own.length > sizes.length) return undefined;
  const read = (index: number) => elements[index] ?? unknownDim();
  const outer = sizes.length - own.length;
  if (own.every((size, axis) => size === sizes[outer + axis])) {
    return (at) => read(elements.length === 0 ? 0 : at % elements.length);
  }
  const outputStrides = stridesOf(sizes).slice(outer);
  const ownStrides = stridesOf(own);
  return (at) => {
    let index = 0;
    for (const [axis, size] of own.entries()) {
      if (size === 1) continue;
      index += (Math.floor(at / (outputStrides[axis] ?? 1)) % size) * (ownStrides[axis] ?? 1);
    }
    return read(index);
  };
}
