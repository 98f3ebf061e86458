/** @file Cast, CastLike and BitCast. */

import { intervalOf } from "../../ir/bounds.ts";
import { type Dim, unknownDim } from "../../ir/dim.ts";
import { type DType, dtypeOfCode, dtypes, isFloat, isIntegral } from "../../ir/dtype.ts";
import { textOf } from "../../ir/message.ts";
import { constantLane, finiteLane, type Lane, type LaneContext, sameAxes } from "../axes.ts";
import { bounded, failing, keepLane } from "../lanes.ts";
import { defineOp, type OpContext, ShapeError, type TensorFact } from "../op.ts";
import { asTensor, tensor, tensorAt } from "../shape.ts";
import { half, noHalf } from "../traits.ts";
import { elementOf } from "./number.ts";

/** The type an attribute names by its code; undefined where it is absent or newer than tc-lint. */
export function dtypeAttribute(context: OpContext, name: string): DType | undefined {
  const code = context.int(name);
  return code === undefined ? undefined : dtypeOfCode(code);
}

export const cast = defineOp({
  domain: "",
  type: "Cast",
  traits: {
    elements: "converted",
    half: half(1, 13, { inputs: { 0: "any" } }),
    layout: "lanewise",
    sameSince: 9,
    decides: () => ({ kind: "whole" }),
  },
  infer: (context) => [castTo(tensorAt(context, 0), dtypeAttribute(context, "to"))],
  axes: sameAxes,
  lanes: castLane,
  traffic: "elementwise",
  pass: "cast",
});

export const castLike = defineOp({
  domain: "",
  type: "CastLike",
  traits: {
    elements: "converted",
    half: half(15, 15, { inputs: { 0: "any" } }),
    layout: "lanewise",
    sameSince: 15,
    decides: () => ({ kind: "whole" }),
  },
  infer: (context) => [castTo(tensorAt(context, 0), tensorAt(context, 1).dtype)],
  axes(context) {
    // Only the type of the second input is read, so its axes may be anything.
    context.axesOf(1);
    sameAxes(context);
  },
  lanes: castLane,
  traffic: "elementwise",
  pass: "cast",
});

/** The same values in another type. */
function castTo(input: TensorFact, dtype: DType | undefined): TensorFact {
  const from = input.dtype;
  if (input.elements === undefined || dtype === undefined || !isNumeric(from)) {
    return tensor(dtype, input.shape);
  }
  return tensor(
    dtype,
    input.shape,
    input.elements.map((value) => castElement(value, from, dtype)),
  );
}

/** What NaN and infinities become as whole numbers is not defined, but they are numbers. */
function castLane(context: LaneContext): Lane {
  const isWhole = isIntegral(asTensor(context.outputs[0]).dtype);
  return isWhole ? bounded(context, convertedLane(context)) : convertedLane(context);
}

function convertedLane(context: LaneContext): Lane {
  const lane = keepLane(context);
  const from = tensorAt(context, 0).dtype;
  const { dtype } = asTensor(context.outputs[0]);
  if (lane.kind !== "constant" || dtype === undefined || !isNumeric(from)) return lane;
  const value = castElement(lane.value, from, dtype);
  return failing(typeof value === "number" ? constantLane(value) : finiteLane, lane.fails);
}

function isNumeric(dtype: DType | undefined): dtype is DType {
  return isFloat(dtype) || isIntegral(dtype);
}

function castElement(value: Dim, from: DType, to: DType): Dim {
  if (from === to) return value;
  if (typeof value !== "number") return castSymbol(value, to);
  if (!isFloat(from) || !isIntegral(to) || to === "bool") return elementOf(value, to);
  // What becomes of a fraction is defined, of a number outside the type is not.
  const truncated = Math.trunc(value);
  return elementOf(truncated, to) === truncated ? truncated + 0 : unknownDim();
}

/** Sizes keep their value in any type wide enough for them. */
function castSymbol(value: Dim, to: DType): Dim {
  const { kind, bits } = dtypes[to];
  if (kind === "bool") return intervalOf(value).low > 0 ? 1 : unknownDim();
  if (kind === "string" || kind === "complex" || bits < 16) return unknownDim();
  return kind === "uint" && intervalOf(value).low < 0 ? unknownDim() : value;
}

/** The same bits read as another type of the same width. */
export const bitCast = defineOp({
  domain: "",
  type: "BitCast",
  traits: { elements: "computed", half: noHalf({ isMixed: true }), layout: "fixed" },
  infer(context) {
    const input = tensorAt(context, 0);
    const to = dtypeAttribute(context, "to");
    if (input.dtype !== undefined && to !== undefined && dtypes[input.dtype].bits !== dtypes[to].bits) {
      throw new ShapeError(
        textOf`${input.dtype} has ${dtypes[input.dtype].bits} bits, ${to} has ${dtypes[to].bits}: expected the same width`,
      );
    }
    return [tensor(to, input.shape, input.dtype === to ? input.elements : undefined)];
  },
  traffic: "none",
});
