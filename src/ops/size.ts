/** @file Sizes that come from elements and attributes, which a broken model may have made negative. */

import { type Dim, unknownDim } from "../ir/dim.ts";
import { textOf } from "../ir/message.ts";
import { type Fact, type OpContext, ShapeError } from "./op.ts";
import { elementsAt } from "./shape.ts";

/** The size itself. Throws where it is a number that no axis has. */
export function checkedSize(size: Dim, what: string): Dim {
  if (typeof size === "number" && !isSize(size)) {
    throw new ShapeError(textOf`${what} is ${size}, expected a size`);
  }
  return size;
}

function isSize(size: number): boolean {
  return Number.isSafeInteger(size) && size >= 0;
}

/** The single element of input `index` as a size. */
export function scalarSize(context: OpContext, index: number, what: string): Dim {
  return checkedSize(elementsAt(context, index)?.[0] ?? unknownDim(), what);
}

/** All elements of input `index` as sizes; undefined where they are not known. */
export function elementSizes(context: OpContext, index: number, what: string): readonly Dim[] | undefined {
  return elementsAt(context, index)?.map((size) => checkedSize(size, what));
}

/**
 * The facts themselves. Throws where a tensor has a size that no tensor has: whatever a broken model made an
 * operator compute, it ends here. By index: asked of every node.
 */
export function checkedOutputs(outputs: readonly (Fact | undefined)[]): readonly (Fact | undefined)[] {
  for (let index = 0; index < outputs.length; index++) {
    const output = outputs[index];
    if (output?.kind !== "tensor" || output.shape === undefined) continue;
    for (let axis = 0; axis < output.shape.length; axis++) {
      const size = output.shape[axis] ?? 0;
      if (typeof size === "number" && !isSize(size)) checkedSize(size, `a size of output ${index}`);
    }
  }
  return outputs;
}
