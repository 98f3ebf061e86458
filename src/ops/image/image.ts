/** @file GridSample, AffineGrid, Col2Im, ImageDecoder. */

import { attributeOf, hasAttribute, stringOf } from "../../ir/attributes.ts";
import { type Dim, divideExactly, product, unknownDim } from "../../ir/dim.ts";
import { textOf } from "../../ir/message.ts";
import { defineOp, type OpDefinition, ShapeError } from "../op.ts";
import { numbersOf, tensor, tensorAt, unify, unknownShape } from "../shape.ts";
import { elementSizes } from "../size.ts";
import { computed, half, losesDigits } from "../traits.ts";

/** Of GridSample, by their names before opset 20. */
const newModes: ReadonlyMap<string, string> = new Map([
  ["bilinear", "linear"],
  ["nearest", "nearest"],
  ["bicubic", "cubic"],
]);

/** x [N, C, …in] sampled at grid [N, …out, r] to [N, C, …out]. */
const gridSample = defineOp({
  domain: "",
  type: "GridSample",
  traits: {
    elements: "computed",
    half: half(16, 22, {
      inputs: { 1: "float" },
      risk: losesDigits("coordinates need more digits than half has"),
    }),
    layout: "fixed",
    turnsToNhwc: true,
    sameSince: 20,
    // The names of its modes are others since then.
    sameIf: { since: 16, applies: (node) => !hasAttribute(node, "mode") },
    newForm: (node, opset) => {
      const mode = newModes.get(stringOf(attributeOf(node, "mode")) ?? "");
      return opset < 16 || opset >= 20 || mode === undefined ? undefined : { attributes: { mode } };
    },
  },
  infer(context) {
    const { dtype, shape } = tensorAt(context, 0);
    const grid = tensorAt(context, 1).shape;
    if (shape !== undefined && grid !== undefined && shape.length !== grid.length) {
      throw new ShapeError(textOf`the grid has rank ${grid.length}, expected the input's ${shape.length}`);
    }
    const rank = shape?.length ?? grid?.length;
    if (rank === undefined) return [tensor(dtype, undefined)];
    const [batch = unknownDim(), channels = unknownDim()] = shape ?? [];
    const samples = unify(batch, grid?.[0] ?? unknownDim(), "batch of the input and of the grid");
    const positions = grid?.slice(1, -1) ?? unknownShape(rank - 2);
    return [tensor(dtype, [samples, channels, ...positions])];
  },
});

/** Matrices [N, r, r + 1] and a size (N, C, …) to a grid [N, …, r]. */
const affineGrid = defineOp({
  domain: "",
  type: "AffineGrid",
  traits: {
    elements: "computed",
    half: half(20, 20, { risk: losesDigits("coordinates need more digits than half has"), isWide: true }),
    layout: "fixed",
    sameSince: 20,
  },
  infer(context) {
    const theta = tensorAt(context, 0);
    const size = elementSizes(context, 1, "size");
    const length = size?.length ?? numbersOf(tensorAt(context, 1).shape)?.[0];
    const axes = theta.shape?.[1] ?? (length === undefined ? undefined : length - 2);
    if (typeof axes !== "number") return [tensor(theta.dtype, undefined)];
    if (length !== undefined && length !== axes + 2) {
      throw new ShapeError(textOf`size has ${length} entries, expected ${axes + 2} for ${axes} spatial axes`);
    }
    const batch = unify(
      theta.shape?.[0] ?? unknownDim(),
      size?.[0] ?? unknownDim(),
      "batch of theta and of size",
    );
    return [tensor(theta.dtype, [batch, ...(size?.slice(2) ?? unknownShape(axes)), axes])];
  },
});

/** Columns [N, C × block, L] to an image [N, C, …image_shape]. */
const col2Im = defineOp({
  domain: "",
  type: "Col2Im",
  traits: { elements: "computed", half: half(18, 18), layout: "fixed", sameSince: 18 },
  infer(context) {
    const { dtype, shape } = tensorAt(context, 0);
    const image = elementSizes(context, 1, "image_shape");
    const block = elementSizes(context, 2, "block_shape");
    const axes = image?.length ?? numbersOf(tensorAt(context, 1).shape)?.[0] ?? block?.length;
    if (axes === undefined) return [tensor(dtype, undefined)];
    const [batch = unknownDim(), columns] = shape ?? [];
    return [tensor(dtype, [batch, channelsOf(columns, block), ...(image ?? unknownShape(axes))])];
  },
});

function channelsOf(columns: Dim | undefined, block: readonly Dim[] | undefined): Dim {
  if (columns === undefined || block === undefined) return unknownDim();
  const taps = product(block);
  const channels = divideExactly(columns, taps);
  if (channels === undefined && typeof columns === "number" && typeof taps === "number") {
    throw new ShapeError(textOf`${columns} columns are not a multiple of the block's ${taps} elements`);
  }
  return channels ?? unknownDim();
}

/** Encoded bytes to pixels [height, width, channels]. */
const imageDecoder = defineOp({
  domain: "",
  type: "ImageDecoder",
  traits: computed,
  infer(context) {
    const channels = context.string("pixel_format") === "Grayscale" ? 1 : 3;
    return [tensor("uint8", [unknownDim(), unknownDim(), channels])];
  },
});

export const imageOps: readonly OpDefinition[] = [gridSample, affineGrid, col2Im, imageDecoder];
