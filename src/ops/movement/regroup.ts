/** @file Row-major regrouping of axes: what Reshape, Flatten, Squeeze and Unsqueeze do to factors. */
import { type Axis, sizeOfAxis } from "../../ir/axis.ts";
import { pushAll } from "../../ir/lists.ts";
import type { AxisContext } from "../axes.ts";

const notApart = "merges and splits it in a way that does not come apart";

/** States output 0 as input 0 in its own sizes; undefined, and everything blocked, where sizes are not known. */
export function regroupAxes(context: AxisContext): readonly Axis[] | undefined {
  const axes = context.axesOf(0);
  const sizes = context.sizesOf(0);
  const total = sizes?.reduce((product, size) => product * size, 1);
  if (
    axes === undefined ||
    sizes === undefined ||
    !total ||
    total !== sizeOfAxis({ kind: "product", factors: axes })
  ) {
    context.blockAll("has operands of unknown sizes");
    return undefined;
  }
  const wide = axes.filter((axis) => sizeOfAxis(axis) !== 1);
  const regrouped = regroup(
    context,
    wide,
    sizes.filter((size) => size !== 1),
  ).values();
  const result = sizes.map((size) => {
    const next = size === 1 ? undefined : regrouped.next().value;
    return next ?? (size === 1 ? context.solver.atom(1) : context.fixed(size, notApart));
  });
  context.setAxes(0, result);
  return result;
}

/** Runs of axes with one product on both sides come apart on their own. */
function regroup(context: AxisContext, axes: readonly Axis[], sizes: readonly number[]): Axis[] {
  const result: Axis[] = [];
  let [from, to] = [0, 0];
  while (from < axes.length && to < sizes.length) {
    let [i, j] = [from + 1, to + 1];
    let [left, right] = [sizeAt(axes, from), sizes[to] ?? 1];
    while (left !== right && (i < axes.length || j < sizes.length)) {
      if (left < right && i < axes.length) left *= sizeAt(axes, i++);
      else right *= sizes[j++] ?? 1;
    }
    pushAll(result, regroupRun(context, axes.slice(from, i), sizes.slice(to, j)));
    [from, to] = [i, j];
  }
  return result;
}

function sizeAt(axes: readonly Axis[], index: number): number {
  const axis = axes[index];
  return axis === undefined ? 1 : sizeOfAxis(axis);
}

/** The merge of all axes, taken apart from the slowest on. */
function regroupRun(context: AxisContext, axes: readonly Axis[], sizes: readonly number[]): Axis[] {
  const result: Axis[] = [];
  let rest = context.solver.product(axes);
  for (const size of sizes.slice(0, -1)) {
    const parts = context.solver.split(rest, size);
    if (parts === undefined) {
      for (const axis of axes) context.block(axis, notApart);
      return sizes.map((each) => context.fixed(each, notApart));
    }
    result.push(parts[0]);
    rest = parts[1];
  }
  return [...result, rest];
}
