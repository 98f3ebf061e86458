/** @file Concat: tensors joined along one axis. */

import { addDims, type Dim, type Shape, unknownDim } from "../../ir/dim.ts";
import { type DType, isIntegral } from "../../ir/dtype.ts";
import { listText, textOf } from "../../ir/message.ts";
import { type AxisContext, allInputAxes, type Lane, type LaneContext } from "../axes.ts";
import { joinLanes } from "../lanes.ts";
import { defineOp, ShapeError, type TensorFact } from "../op.ts";
import { asTensor, normalizeAxis, sizeOf, unify } from "../shape.ts";
import { half } from "../traits.ts";
import { elementAt, type Folded, fill, folded, requiredInt } from "./elements.ts";

export const concat = defineOp({
  domain: "",
  type: "Concat",
  traits: { elements: "moved", half: half(1, 13), layout: "axis", sameSince: 7, scale: "all" },
  infer: (context) => [concatenated(context.inputs.map(asTensor), requiredInt(context, "axis"))],
  axes: concatAxes,
  lanes: concatLane,
  pass: "concat",
});

function concatAxes(context: AxisContext): void {
  const lists = allInputAxes(context);
  const [first] = lists ?? [];
  if (lists === undefined || first === undefined) return;
  const { solver } = context;
  const along = normalizeAxis(requiredInt(context, "axis"), first.length);
  const axes = first.map((axis, at) => {
    const aligned = lists.flatMap((list) => list[at] ?? []);
    if (at === along) return solver.sum(aligned);
    for (const other of aligned.slice(1))
      solver.unify(axis, other, "concatenated tensors differ in structure");
    return axis;
  });
  context.setAxes(0, axes);
}

/** The lanes of every part that has the atom. */
function concatLane(context: LaneContext): Lane {
  return joinLanes(context.inputs.flatMap((_, index) => context.laneOf(index) ?? []));
}

/** Throws where ranks, element types or sizes off the axis differ. */
function concatenated(parts: readonly TensorFact[], givenAxis: number): TensorFact {
  const dtype = sharedDType(parts);
  const rank = sharedRank(parts);
  if (rank === undefined) return fill(dtype, undefined, undefined);
  const axis = normalizeAxis(givenAxis, rank);
  const shape = joinedShape(parts, rank, axis);
  return fill(dtype, shape, elementsOf(parts, axis, isIntegral(dtype)));
}

function sharedDType(parts: readonly TensorFact[]): DType | undefined {
  const known = [...new Set(parts.map((part) => part.dtype).filter((dtype) => dtype !== undefined))];
  if (known.length > 1) throw new ShapeError(textOf`cannot concatenate element types ${known.join(" and ")}`);
  return known[0];
}

function sharedRank(parts: readonly TensorFact[]): number | undefined {
  const ranks = new Set(parts.flatMap(({ shape }) => (shape === undefined ? [] : [shape.length])));
  if (ranks.size > 1) {
    const shapes = parts.map(({ shape }) => (shape === undefined ? "[?]" : listText(shape)));
    throw new ShapeError(textOf`cannot concatenate tensors of different ranks: ${shapes.join(", ")}`);
  }
  return [...ranks][0];
}

function joinedShape(parts: readonly TensorFact[], rank: number, axis: number): Shape {
  return Array.from({ length: rank }, (_, at) => {
    const sizes = parts.map(({ shape }) => shape?.[at] ?? unknownDim());
    return at === axis
      ? sizes.reduce(addDims, 0)
      : sizes.reduce((a, b) => unify(a, b, `sizes of axis ${at} to concatenate along axis ${axis}`));
  });
}

/**
 * Where each element comes from. Beside known integers an unknown part counts as unknown elements, so that a target
 * shape with one computed size keeps the others.
 */
function elementsOf(
  parts: readonly TensorFact[],
  axis: number,
  mayMix: boolean,
): ((position: readonly number[]) => Dim) | undefined {
  const sources: { readonly begin: number; readonly data: Folded | undefined }[] = [];
  let begin = 0;
  for (const part of parts) {
    const size = part.shape?.[axis];
    if (typeof size !== "number" || sizeOf(part.shape) === undefined) return undefined;
    sources.push({ begin, data: folded(part) });
    begin += size;
  }
  const known = sources.filter(({ data }) => data !== undefined).length;
  if (known === 0 || (known < sources.length && !mayMix)) return undefined;
  return (position) => {
    const index = position[axis] ?? 0;
    const source = sources.findLast((candidate) => candidate.begin <= index);
    if (source?.data === undefined) return unknownDim();
    return elementAt(source.data, position.with(axis, index - source.begin));
  };
}
