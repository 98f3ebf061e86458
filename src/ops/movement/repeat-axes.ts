/** @file Axes that an operator makes by repeating one element: sizes are written, so they may be written larger. */
import { type Axis, paddedSize, sizeOfAxis } from "../../ir/axis.ts";
import type { Dim } from "../../ir/dim.ts";
import type { AxisContext } from "../axes.ts";
import { elementsAt, numbersOf, tensorAt } from "../shape.ts";

const notWritten = "computes its sizes when the model runs";

/** Expand: an axis of one element becomes new; any other passes, and its entry is written again, as 1 if symbolic. */
export function expandAxes(context: AxisContext): void {
  const axes = context.axesOf(0);
  const sizes = context.sizesOf(0);
  const target = elementsAt(context, 1);
  if (axes === undefined || sizes === undefined) return context.blockAll("has operands of unknown sizes");
  const shift = sizes.length - axes.length;
  const result = sizes.map((size, at) => {
    const axis = axes[at - shift];
    return axis !== undefined && sizeOfAxis(axis) === size ? axis : context.solver.atom(size);
  });
  context.setAxes(0, result);
  const entries = target === undefined ? undefined : expandEntries(context, target, sizes.length);
  if (entries === undefined) {
    for (const axis of result) context.block(axis, notWritten);
    return;
  }
  context.rewriteInput(1, (padded) =>
    entries.map((entry, at) => {
      const axis = result[at + sizes.length - entries.length];
      return entry === "one" || axis === undefined ? 1 : paddedSize(axis, padded);
    }),
  );
}

/** Undefined where a symbol cannot be left to the input. */
function expandEntries(
  context: AxisContext,
  target: readonly Dim[],
  rank: number,
): readonly ("one" | "size")[] | undefined {
  const shape = tensorAt(context, 0).shape ?? [];
  const entries = target.map((size, at) => {
    if (typeof size === "number") return size === 1 ? "one" : "size";
    const own = shape[at + (rank - target.length) - (rank - shape.length)];
    return own !== undefined && own !== 1 ? "one" : undefined;
  });
  return entries.every((entry) => entry !== undefined) ? entries : undefined;
}

/** Tile: repeats of an axis are an outer factor that stays; repeats of one element are a new axis. */
export function tileAxes(context: AxisContext): void {
  const axes = context.axesOf(0);
  const sizes = context.sizesOf(0);
  const repeats = numbersOf(elementsAt(context, 1));
  if (axes === undefined || sizes === undefined || repeats === undefined) return context.blockAll(notWritten);
  const isNew = (at: number) => axes[at] !== undefined && sizeOfAxis(axes[at]) === 1;
  const result = axes.map((axis, at): Axis => {
    const count = repeats[at] ?? 1;
    if (isNew(at)) return context.solver.atom(sizes[at] ?? 1);
    return count === 1 ? axis : context.solver.product([context.fixed(count, "counts repeats by it"), axis]);
  });
  context.setAxes(0, result);
  context.rewriteInput(1, (padded) =>
    repeats.map((count, at) => {
      const axis = result[at];
      return isNew(at) && axis !== undefined ? paddedSize(axis, padded) : count;
    }),
  );
}

/** ConstantOfShape: every axis is new. */
export function constantAxes(context: AxisContext): void {
  const sizes = context.sizesOf(0);
  if (sizes === undefined || numbersOf(elementsAt(context, 0)) === undefined)
    return context.blockAll(notWritten);
  const axes = sizes.map((size) => context.solver.atom(size));
  context.setAxes(0, axes);
  context.rewriteInput(0, (padded) => axes.map((axis) => paddedSize(axis, padded)));
}
