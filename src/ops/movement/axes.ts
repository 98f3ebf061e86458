/** @file Axes given as an attribute in older opsets and as an input in newer ones. */
import { textOf } from "../../ir/message.ts";
import type { OpContext } from "../op.ts";
import { ShapeError } from "../op.ts";
import { elementsOf, normalizeAxis, numbersOf, tensorAt } from "../shape.ts";
import { lengthOf } from "./elements.ts";

export type AxesArgument =
  | { readonly kind: "absent" }
  | { readonly kind: "known"; readonly axes: readonly number[] }
  /** Computed by the model; `count` where at least its length is known. */
  | { readonly kind: "unknown"; readonly count: number | undefined };

/** Attribute `axes` before `inputSince`, input `index` from then on. */
export function axesArgument(context: OpContext, index: number, inputSince: number): AxesArgument {
  if (context.opset < inputSince) {
    const axes = context.ints("axes");
    return axes === undefined ? { kind: "absent" } : { kind: "known", axes };
  }
  if (context.inputs[index] === undefined) return { kind: "absent" };
  const fact = tensorAt(context, index);
  const axes = numbersOf(elementsOf(fact));
  return axes === undefined ? { kind: "unknown", count: lengthOf(fact) } : { kind: "known", axes };
}

/** Axes made non-negative. Throws where one is outside the rank or named twice. */
export function normalizeAxes(axes: readonly number[], rank: number): number[] {
  const normalized = axes.map((axis) => normalizeAxis(axis, rank));
  if (new Set(normalized).size !== normalized.length) {
    throw new ShapeError(textOf`axes ${axes} name an axis twice`);
  }
  return normalized;
}
