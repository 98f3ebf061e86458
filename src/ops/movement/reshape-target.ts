/** @file The target of a Reshape once axes are padded. */
import { type Axis, type PaddedSizes, paddedSize } from "../../ir/axis.ts";
import { type Dim, sameDim } from "../../ir/dim.ts";
import type { AxisContext } from "../axes.ts";
import { elementsAt, tensorAt } from "../shape.ts";

/** One entry of the target: a size, or one of the two that Reshape works out itself. */
type Entry = "size" | "copied" | "rest";

/** Writes padded sizes into input 1; blocks the result's axes where symbols leave no way to write it. */
export function rewriteTarget(context: AxisContext, axes: readonly Axis[]): void {
  const target = elementsAt(context, 1);
  const entries = target === undefined ? undefined : entriesOf(context, target);
  if (entries === undefined) {
    for (const axis of axes) context.block(axis, "computes its sizes when the model runs");
    return;
  }
  const input = context.axesOf(0) ?? [];
  for (const [at, entry] of entries.entries()) {
    // A symbol can only be copied from an axis that stays as it is.
    const copied = entry === "copied" && typeof target?.[at] !== "number" ? [input[at], axes[at]] : [];
    for (const axis of copied) if (axis !== undefined) context.block(axis, "copies its symbolic size");
  }
  context.rewriteInput(1, (sizes) => entries.map((entry, at) => entryAt(entry, axes[at], input[at], sizes)));
}

/** Undefined where more than one size is neither a number nor copied. */
function entriesOf(context: AxisContext, target: readonly Dim[]): readonly Entry[] | undefined {
  const allowZero = context.opset >= 14 && context.int("allowzero") === 1;
  const shape = tensorAt(context, 0).shape ?? [];
  const entries = target.map((size, at): Entry => {
    if (size === -1) return "rest";
    if (size === 0) return allowZero ? "size" : "copied";
    if (typeof size === "number") return "size";
    const copied = shape[at];
    return copied !== undefined && sameDim(copied, size) && !allowZero ? "copied" : "rest";
  });
  return entries.filter((entry) => entry === "rest").length > 1 ? undefined : entries;
}

function entryAt(entry: Entry, axis: Axis | undefined, copied: Axis | undefined, sizes: PaddedSizes): number {
  if (entry === "rest") return -1;
  const size = axis === undefined ? 1 : paddedSize(axis, sizes);
  const isCopy = entry === "copied" && copied !== undefined && paddedSize(copied, sizes) === size;
  return isCopy ? 0 : size;
}
