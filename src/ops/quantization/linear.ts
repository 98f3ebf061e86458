/** @file QuantizeLinear, DequantizeLinear and DynamicQuantizeLinear: between real numbers and codes, lane by lane. */

import { sizeOfAxis } from "../../ir/axis.ts";
import { type Shape, sameDim } from "../../ir/dim.ts";
import { type DType, dtypeOfCode } from "../../ir/dtype.ts";
import { textOf } from "../../ir/message.ts";
import { type AxisContext, finiteLane, isZero, type Lane, type LaneContext, zeroLane } from "../axes.ts";
import { bounded, failing, finiteIfKnown, joinLanes, operandLane } from "../lanes.ts";
import { type CodeProduct, defineOp, type OpContext, type OpDefinition, ShapeError } from "../op.ts";
import { asTensor, normalizeAxis, tensor, tensorAt } from "../shape.ts";
import { noHalf, type Traits } from "../traits.ts";

/** Of a product whose operands are each followed by scale and zero point. */
export const qLinearCodes: CodeProduct = {
  activation: { codes: 0, scale: 1, zero: 2 },
  weights: [{ codes: 3, scale: 4, zero: 5 }],
};

/** x, scale, zero point; one scale, one for each position of an axis, or one for each block of it. */
export function quantizeOp(domain: string, traits: Traits): OpDefinition {
  return defineOp({
    domain,
    type: "QuantizeLinear",
    traits,
    traffic: "elementwise",
    infer(context) {
      requireScaleFits(context);
      requireZeroFits(context);
      return [tensor(codeType(context), tensorAt(context, 0).shape)];
    },
    axes: codeAxes,
    lanes(context) {
      const [x, zero] = [codeOperand(context, 0), codeOperand(context, 2)];
      return bounded(context, isZero(x) ? failing(zero, x.fails) : finiteIfKnown(x));
    },
  });
}

export function dequantizeOp(domain: string, traits: Traits): OpDefinition {
  return defineOp({
    domain,
    type: "DequantizeLinear",
    traits,
    traffic: "elementwise",
    infer(context) {
      requireScaleFits(context);
      requireZeroFits(context);
      requireZeroOfCodes(context);
      return [tensor(statedType(context) ?? tensorAt(context, 1).dtype, tensorAt(context, 0).shape)];
    },
    axes: codeAxes,
    lanes(context) {
      const [code = finiteLane, scale = finiteLane, zero = finiteLane] = [0, 1, 2].map((index) =>
        codeOperand(context, index),
      );
      const distance = code.kind === "constant" && zero.kind === "constant" && code.value === zero.value;
      const { kind, fails } = joinLanes([code, scale, zero]);
      return distance && kind !== "unknown"
        ? failing(zeroLane, fails)
        : finiteIfKnown(joinLanes([code, scale]));
    },
  });
}

/** One scale for all, or one for each position of an axis; a padded position has scale 1 and zero point 0. */
function codeAxes(context: AxisContext): void {
  const axes = context.axesOf(0);
  const scale = context.axesOf(1);
  if (axes === undefined || scale === undefined || scale.length > 1)
    return context.blockAll("scales it in blocks");
  const [along] = scale;
  if (along !== undefined && sizeOfAxis(along) > 1) {
    const at = axes.length === 1 ? 0 : normalizeAxis(context.int("axis") ?? 1, axes.length);
    for (const axis of [along, ...(context.axesOf(2) ?? [])]) {
      context.solver.unify(axes[at] ?? along, axis, "scales differ in structure");
    }
    context.fill(1, along, 1);
  }
  context.setAxes(0, axes);
}

/** The scale, or the zero point, 0 where there is none. */
function codeOperand(context: LaneContext, index: number): Lane {
  return context.inputs[index] === undefined ? zeroLane : operandLane(context, index);
}

export const dynamicQuantizeLinear = defineOp({
  domain: "",
  type: "DynamicQuantizeLinear",
  traits: { elements: "computed", half: noHalf({ isWide: true }), layout: "fixed", sameSince: 11 },
  traffic: "reduction",
  infer: (context) => [
    tensor("uint8", tensorAt(context, 0).shape),
    tensor("float32", []),
    tensor("uint8", []),
  ],
});

function statedType(context: OpContext): DType | undefined {
  return dtypeOfCode(context.int("output_dtype") ?? 0);
}

/** The zero point's type, else the stated one, else uint8. */
function codeType(context: OpContext): DType | undefined {
  const stated = statedType(context);
  const zeroPoint = context.inputs[2];
  if (zeroPoint === undefined) return stated ?? "uint8";
  const { dtype } = asTensor(zeroPoint);
  if (stated !== undefined && dtype !== undefined && stated !== dtype) {
    throw new ShapeError(textOf`output_dtype is ${stated}, the zero point ${dtype}`);
  }
  return dtype ?? stated;
}

function requireScaleFits(context: OpContext): void {
  const x = tensorAt(context, 0).shape;
  const scale = tensorAt(context, 1).shape;
  if (x === undefined || scale === undefined || scale.length === 0) return;
  if (scale.length > 1) requireBlocks(x, scale, context.int("axis") ?? 1);
  else if (scale[0] !== 1) requireOneForEach(x, scale, context.int("axis") ?? 1);
}

/** A zero point for each scale. */
function requireZeroFits(context: OpContext): void {
  const [scale, zero] = [1, 2].map((index) => context.inputs[index] && asTensor(context.inputs[index]).shape);
  if (scale === undefined || zero === undefined || (isOne(scale) && isOne(zero))) return;
  const isSame = scale.length === zero.length && scale.every((size, axis) => sameDim(size, zero[axis] ?? -1));
  const isKnown = [...scale, ...zero].every((size) => typeof size === "number");
  if (!isSame && isKnown)
    throw new ShapeError(textOf`zero points of shape ${zero}, expected that of the scales, ${scale}`);
}

function isOne(shape: Shape): boolean {
  return shape.length <= 1 && shape.every((size) => size === 1);
}

function requireZeroOfCodes(context: OpContext): void {
  const [codes, , zero] = context.inputs.map((input) => input && asTensor(input).dtype);
  if (codes === undefined || zero === undefined || codes === zero) return;
  throw new ShapeError(textOf`a zero point of ${zero}, expected that of the codes, ${codes}`);
}

function requireOneForEach(x: Shape, scale: Shape, stated: number): void {
  // A vector is quantized along its one axis, whatever the default says.
  const axis = x.length === 1 ? 0 : normalizeAxis(stated, x.length);
  const [length, scales] = [x[axis], scale[0]];
  if (typeof length === "number" && typeof scales === "number" && length !== scales) {
    throw new ShapeError(textOf`${scales} scales for axis ${axis} of size ${length}`);
  }
}

function requireBlocks(x: Shape, scale: Shape, stated: number): void {
  if (x.length !== scale.length) {
    throw new ShapeError(textOf`scales of rank ${scale.length} for a tensor of rank ${x.length}`);
  }
  const axis = normalizeAxis(stated, x.length);
  const off = x.findIndex((dim, at) => at !== axis && differ(dim, scale[at] ?? dim));
  if (off >= 0) throw new ShapeError(textOf`axis ${off}: ${scale[off]} scales for a size of ${x[off]}`);
}

function differ(a: Shape[number], b: Shape[number]): boolean {
  return typeof a === "number" && typeof b === "number" && !sameDim(a, b);
}
