/** @file Operators of com.microsoft that move, look up or compare elements, each with a shape rule of its own. */

import { addDims, floorDivDims, mulDims, type Shape, subDims, unknownDim } from "../../ir/dim.ts";
import { textOf } from "../../ir/message.ts";
import {
  defineOp,
  type Fact,
  type OpContext,
  type OpDefinition,
  ShapeError,
  type TensorFact,
} from "../op.ts";
import { dimAt, requireRank, shared, sharedOr, sharedType } from "../product/operands.ts";
import { broadcast, elementsAt, normalizeAxis, numbersAt, tensor, tensorAt } from "../shape.ts";
import { computed, computes, half, noHalf } from "../traits.ts";
import type { TrafficPattern } from "../work.ts";
import { microsoft } from "./domain.ts";

function op(
  type: string,
  traffic: TrafficPattern | "none",
  infer: (context: OpContext) => readonly (Fact | undefined)[],
  traits = computed,
  domain = microsoft,
): OpDefinition {
  return defineOp({ domain, type, traits, traffic, infer });
}

/** One axis of size 1 at the place a scalar tells. */
function expandDims(context: OpContext): readonly TensorFact[] {
  const { dtype, shape } = tensorAt(context, 0);
  const [axis] = numbersAt(context, 1) ?? [];
  if (shape === undefined || axis === undefined) return [tensor(dtype, undefined)];
  const at = normalizeAxis(axis, shape.length + 1);
  return [tensor(dtype, [...shape.slice(0, at), 1, ...shape.slice(at)])];
}

/** Values in order of occurrence, the place of each element among them, and their counts. */
function unique(context: OpContext): readonly TensorFact[] {
  const { dtype, shape } = tensorAt(context, 0);
  requireRank(tensorAt(context, 0), [1], "x");
  const count = unknownDim();
  return [tensor(dtype, [count]), tensor("int64", shape ?? [unknownDim()]), tensor("int64", [count])];
}

/** [M,D] and [K,D] give the distances [M,K]. */
function distances(context: OpContext): readonly TensorFact[] {
  const [a, b] = [tensorAt(context, 0), tensorAt(context, 1)];
  requireRank(a, [2], "A");
  requireRank(b, [2], "B");
  shared("columns of A and B", dimAt(a.shape, 1), dimAt(b.shape, 1));
  return [
    tensor(sharedType("A and B", a, b), [sharedOr("M", dimAt(a.shape, 0)), sharedOr("K", dimAt(b.shape, 0))]),
  ];
}

/** X [N,C,H,W] sampled at a grid [N,H',W',2]. */
function gridSample(context: OpContext): readonly TensorFact[] {
  const [x, grid] = [tensorAt(context, 0), tensorAt(context, 1)];
  requireRank(x, [4], "X");
  requireRank(grid, [4], "grid");
  const batch = sharedOr("batch of X and grid", dimAt(x.shape, 0), dimAt(grid.shape, 0));
  const [height, width] = [sharedOr("height", dimAt(grid.shape, 1)), sharedOr("width", dimAt(grid.shape, 2))];
  return [tensor(x.dtype, [batch, sharedOr("channels", dimAt(x.shape, 1)), height, width])];
}

/** data, pads as [begin…, end…] in one or two axes. */
function pad(context: OpContext): readonly TensorFact[] {
  const { dtype, shape } = tensorAt(context, 0);
  const pads = elementsAt(context, 1);
  if (shape === undefined) return [tensor(dtype, undefined)];
  if (pads !== undefined && pads.length !== 2 * shape.length) {
    throw new ShapeError(textOf`${pads.length} pads for a tensor of rank ${shape.length}`);
  }
  const padded = shape.map((dim, at) => {
    const [begin, end] = [pads?.[at], pads?.[at + shape.length]];
    return begin === undefined || end === undefined ? unknownDim() : addDims(dim, addDims(begin, end));
  });
  return [tensor(dtype, padded)];
}

/** X [N,C,H,W], rois [R,4], batch indices, crop size of two elements. */
function cropAndResize(context: OpContext): readonly TensorFact[] {
  const x = tensorAt(context, 0);
  const [height, width] = elementsAt(context, 3) ?? [];
  const rois = sharedOr("rois", dimAt(tensorAt(context, 1).shape, 0), dimAt(tensorAt(context, 2).shape, 0));
  const channels = sharedOr("channels", dimAt(x.shape, 1));
  return [tensor(x.dtype, [rois, channels, height ?? unknownDim(), width ?? unknownDim()])];
}

/** A border [left, top, right, bottom] off X [N,C,H,W], or a window of `scale` at its corner. */
function crop(context: OpContext): readonly TensorFact[] {
  const { dtype, shape } = tensorAt(context, 0);
  requireRank(tensorAt(context, 0), [4], "X");
  const [left, top, right, bottom] = context.ints("border") ?? [];
  if (left === undefined || top === undefined || right === undefined || bottom === undefined) {
    throw new ShapeError("the attribute border needs 4 entries");
  }
  const [batch, channels, height, width] = shape ?? [unknownDim(), unknownDim(), unknownDim(), unknownDim()];
  const [scaledHeight, scaledWidth] = context.ints("scale") ?? [];
  const rest = (size: typeof height, off: number) => (size === undefined ? unknownDim() : subDims(size, off));
  const cropped = [scaledHeight ?? rest(height, top + bottom), scaledWidth ?? rest(width, left + right)];
  return [tensor(dtype, [batch ?? unknownDim(), channels ?? unknownDim(), ...cropped])];
}

/** Rows of a table [N,M] for indices of any shape. */
function embedding(context: OpContext): readonly TensorFact[] {
  const [table, indices] = [tensorAt(context, 0), tensorAt(context, 1)];
  requireRank(table, [2], "weight");
  const width = sharedOr("width", dimAt(table.shape, 1));
  return [tensor(table.dtype, indices.shape && [...indices.shape, width])];
}

/** data, indices, scales: a Gather that expands codes; bytes may hold several. */
function gatherBlockQuantized(context: OpContext): readonly TensorFact[] {
  const [data, indices] = [tensorAt(context, 0), tensorAt(context, 1)];
  const { dtype } = tensorAt(context, 2);
  if (data.shape === undefined || indices.shape === undefined) return [tensor(dtype, undefined)];
  const axis = normalizeAxis(context.int("gather_axis") ?? 0, data.shape.length);
  const bits = context.int("bits") ?? 4;
  if (![2, 4, 8].includes(bits)) throw new ShapeError(textOf`bits is ${bits}, expected 2, 4 or 8`);
  const codesPerByte = data.dtype === "uint8" ? 8 / bits : 1;
  const last = data.shape.length - 1;
  const elements = data.shape.map((dim, at) => (at === last ? mulDims(dim, codesPerByte) : dim));
  const shape = [...elements.slice(0, axis), ...indices.shape, ...elements.slice(axis + 1)];
  // How many codes a byte holds is not known before its type is.
  return [tensor(dtype, data.dtype === undefined ? undefined : shape)];
}

/** Windows of `size` along one axis become a new last axis. */
function unfold(context: OpContext): readonly TensorFact[] {
  const { dtype, shape } = tensorAt(context, 0);
  const size = context.int("size");
  if (size === undefined) throw new ShapeError("the attribute size is missing");
  if (shape === undefined) return [tensor(dtype, undefined)];
  const axis = normalizeAxis(context.int("dim") ?? -1, shape.length, "dim");
  const step = context.int("step") ?? 1;
  if (step < 1) throw new ShapeError(textOf`step is ${step}, expected at least 1`);
  const windows = shape.map((dim, at) =>
    at === axis ? addDims(floorDivDims(subDims(dim, size), step), 1) : dim,
  );
  return [tensor(dtype, [...windows, size])];
}

/** Half of the last axis gates the other. */
function biasSplitGelu(context: OpContext): readonly TensorFact[] {
  const { dtype, shape } = tensorAt(context, 0);
  const last = dimAt(shape, -1);
  return [
    tensor(dtype, last === undefined ? undefined : [...(shape ?? []).slice(0, -1), floorDivDims(last, 2)]),
  ];
}

function complexProduct(context: OpContext): readonly TensorFact[] {
  const [a, b] = [tensorAt(context, 0), tensorAt(context, 1)];
  return [tensor(sharedType("A and B", a, b), broadcast(a.shape, b.shape))];
}

/** [B,S,H] without its padding: tokens, their places [B,S], cumulated lengths [B + 1], the longest one. */
function removePadding(context: OpContext): readonly TensorFact[] {
  const { dtype, shape } = tensorAt(context, 0);
  requireRank(tensorAt(context, 0), [3], "input");
  const [batch, length, hidden]: Shape = shape ?? [unknownDim(), unknownDim(), unknownDim()];
  const rows = batch ?? unknownDim();
  return [
    tensor(dtype, [unknownDim(), hidden ?? unknownDim()]),
    tensor("int32", [rows, length ?? unknownDim()]),
    tensor("int32", [addDims(rows, 1)]),
    tensor("int32", [1]),
  ];
}

/** [tokens, H] and their places [B,S]. */
function restorePadding(context: OpContext): readonly TensorFact[] {
  const [input, places] = [tensorAt(context, 0), tensorAt(context, 1)];
  requireRank(input, [2], "input");
  requireRank(places, [2], "token offset");
  const hidden = sharedOr("hidden size", dimAt(input.shape, 1));
  return [tensor(input.dtype, places.shape && [...places.shape, hidden])];
}

/** A table [buckets, heads] and two scalar lengths give [1, heads, query length, key length]. */
function relativePositionBias(context: OpContext): readonly TensorFact[] {
  const table = tensorAt(context, 0);
  const [query] = elementsAt(context, 1) ?? [];
  const [key] = elementsAt(context, 2) ?? [];
  const heads = sharedOr("heads", dimAt(table.shape, 1));
  return [tensor(table.dtype, [1, heads, query ?? unknownDim(), key ?? unknownDim()])];
}

/** Query, its bias, and relative positions [1, heads, S, S]. */
function gatedRelativePositionBias(context: OpContext): readonly TensorFact[] {
  const [query, positions] = [tensorAt(context, 0), tensorAt(context, 2)];
  requireRank(positions, [4], "rel_pos");
  const packed = context.inputs[6] !== undefined;
  const rows = packed ? tensorAt(context, 6).shape : query.shape;
  const heads = sharedOr("heads", context.int("num_heads"), dimAt(positions.shape, 1));
  const length = sharedOr("length", dimAt(positions.shape, 2), dimAt(rows, 1));
  return [tensor(query.dtype, [sharedOr("batch", dimAt(rows, 0)), heads, length, length])];
}

function dropout(maskType: "bool" | "uint32") {
  return (context: OpContext): readonly TensorFact[] => {
    const { dtype, shape } = tensorAt(context, 0);
    // Bits of the mask are packed into words, how many of them depends on the kernel.
    return [tensor(dtype, shape), tensor(maskType, maskType === "bool" ? shape : [unknownDim()])];
  };
}

export const tensorOps: readonly OpDefinition[] = [
  op("ExpandDims", "none", expandDims, computes(half(1, undefined))),
  op("Unique", "copy", unique),
  op("CDist", "reduction", distances),
  op("GridSample", "copy", gridSample),
  op("Pad", "copy", pad),
  op("CropAndResize", "copy", cropAndResize),
  op("Crop", "copy", crop, computed, ""),
  op("TorchEmbedding", "copy", embedding),
  op(
    "GatherBlockQuantized",
    "copy",
    gatherBlockQuantized,
    computes(noHalf(), { uses: { 1: { kind: "index", table: 0, axis: "attribute" } } }),
  ),
  op("UnfoldTensor", "copy", unfold),
  op("BiasSplitGelu", "elementwise", biasSplitGelu, computes(half(1, undefined))),
  op("ComplexMul", "elementwise", complexProduct, computes(half(1, undefined))),
  op("ComplexMulConj", "elementwise", complexProduct, computes(half(1, undefined))),
  op("RemovePadding", "copy", removePadding),
  op("RestorePadding", "copy", restorePadding),
  op("RelativePositionBias", "copy", relativePositionBias, computes(half(1, undefined))),
  op("GatedRelativePositionBias", "elementwise", gatedRelativePositionBias),
  op("BiasDropout", "elementwise", dropout("bool")),
  op("BitmaskDropout", "elementwise", dropout("uint32")),
  op("BitmaskBiasDropout", "elementwise", dropout("uint32")),
];
