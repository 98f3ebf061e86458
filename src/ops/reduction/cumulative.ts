/** @file CumSum and CumProd: running totals along one axis. */
import { addDims, type Dim, mulDims, unknownDim } from "../../ir/dim.ts";
import { isIntegral } from "../../ir/dtype.ts";
import { passBesideTrue } from "../axes.ts";
import { elementOf } from "../elementwise/number.ts";
import { isWhole } from "../elementwise/order.ts";
import { finiteLanes } from "../lanes.ts";
import { defineOp, type OpContext, type OpDefinition } from "../op.ts";
import { normalizeAxis, numbersAt, numbersOf, stridesOf, tensor, tensorAt } from "../shape.ts";
import { computes, half, losesDigits, type Traits } from "../traits.ts";

export const cumulativeOps: readonly OpDefinition[] = [
  cumulativeOp(
    "CumSum",
    0,
    addDims,
    computes(
      half(14, 14, { risk: losesDigits("a running sum adds small terms to a large one"), isWide: true }),
      { sameSince: 11, keepsDigits: true },
    ),
  ),
  cumulativeOp(
    "CumProd",
    1,
    mulDims,
    computes(half(26, 26, { risk: losesDigits("a running product leaves the range"), isWide: true })),
  ),
];

function cumulativeOp(
  type: string,
  neutral: Dim,
  combine: (a: Dim, b: Dim) => Dim,
  traits: Traits,
): OpDefinition {
  return defineOp({
    domain: "",
    type,
    traits,
    infer(context) {
      const { dtype, shape } = tensorAt(context, 0);
      return [tensor(dtype, shape, running(context, neutral, combine))];
    },
    axes(context) {
      const named = numbersAt(context, 1)?.[0];
      if (named === undefined) return context.blockAll("walks along an axis that is not known");
      const at = normalizeAxis(named, tensorAt(context, 0).shape?.length ?? 1);
      passBesideTrue(context, (axis) => axis !== at, "walks along it");
    },
    lanes: finiteLanes,
  });
}

function running(
  context: OpContext,
  neutral: Dim,
  combine: (a: Dim, b: Dim) => Dim,
): readonly Dim[] | undefined {
  const { dtype, shape, elements } = tensorAt(context, 0);
  const sizes = numbersOf(shape);
  const named = numbersAt(context, 1)?.[0];
  if (elements === undefined || sizes === undefined || named === undefined) return undefined;
  if (dtype === undefined || !isIntegral(dtype)) return undefined;
  const axis = normalizeAxis(named, sizes.length);
  const step = stridesOf(sizes)[axis] ?? 1;
  const length = sizes[axis] ?? 1;
  const exclusive = context.int("exclusive") === 1;
  const results: Dim[] = new Array<Dim>(elements.length).fill(neutral);
  for (const start of elements.keys()) {
    if (Math.floor(start / step) % length !== 0) continue;
    let total = neutral;
    for (let count = 0; count < length; count++) {
      const at = start + step * (context.int("reverse") === 1 ? length - 1 - count : count);
      const element = elements[at] ?? unknownDim();
      const next: Dim = isWhole(total) && isWhole(element) ? combine(total, element) : unknownDim();
      results[at] = exclusive ? total : next;
      total = next;
    }
  }
  return results.map((value) => (typeof value === "number" ? elementOf(value, dtype) : value));
}
