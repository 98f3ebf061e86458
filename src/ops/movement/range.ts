/** @file Range: start, start + delta, … below limit. */
import { addDims, ceilDivDims, type Dim, mulDims, subDims, unknownDim } from "../../ir/dim.ts";
import { isIntegral } from "../../ir/dtype.ts";
import { defineOp, ShapeError } from "../op.ts";
import { tensorAt } from "../shape.ts";
import { noHalf } from "../traits.ts";
import { fill, scalarOf } from "./elements.ts";

export const range = defineOp({
  domain: "",
  type: "Range",
  traits: {
    elements: "computed",
    half: noHalf({ isMixed: true, isWide: true }),
    layout: "fixed",
    sameSince: 11,
    uses: { 0: { kind: "whole" }, 1: { kind: "count" }, 2: { kind: "whole" } },
  },
  infer(context) {
    const facts = [0, 1, 2].map((index) => tensorAt(context, index));
    const dtype = facts.find((fact) => fact.dtype !== undefined)?.dtype;
    const [start, limit, delta] = facts.map(scalarOf);
    if (start === undefined || limit === undefined || delta === undefined) {
      return [fill(dtype, [unknownDim()], undefined)];
    }
    // Elements of a float range are rounded in its own type; only whole numbers are exact in all of them.
    const exact = isIntegral(dtype) || [start, delta].every(Number.isInteger);
    const elementOf = ([index = 0]: readonly number[]) => addDims(start, mulDims(delta, index));
    return [fill(dtype, [rangeLength(start, limit, delta)], exact ? elementOf : undefined)];
  },
});

/** ⌈(limit − start) / delta⌉. A length in symbols is taken not to be below zero: an empty range is of no use. */
function rangeLength(start: Dim, limit: Dim, delta: Dim): Dim {
  if (delta === 0) throw new ShapeError("Range has a delta of 0");
  if (typeof delta !== "number") return unknownDim();
  if (typeof start === "number" && typeof limit === "number") {
    return Math.max(0, Math.ceil((limit - start) / delta));
  }
  if (!Number.isInteger(delta)) return unknownDim();
  return delta > 0 ? ceilDivDims(subDims(limit, start), delta) : ceilDivDims(subDims(start, limit), -delta);
}
