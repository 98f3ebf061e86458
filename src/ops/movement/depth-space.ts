/** @file DepthToSpace and SpaceToDepth: blocks of b × b pixels from channels, and back. NCHW. */
import { type Dim, floorDivDims, mulDims, type Shape } from "../../ir/dim.ts";
import { defineOp, type OpContext, type OpDefinition, ShapeError } from "../op.ts";
import { tensor, tensorAt, unknownShape } from "../shape.ts";
import { requiredInt } from "./elements.ts";

export const depthSpaceOps: readonly OpDefinition[] = [
  {
    domain: "",
    type: "DepthToSpace",
    infer: (context: OpContext) => [
      rearranged(context, ([batch, channels, height, width], block) => [
        batch,
        divided(channels, block * block, "channels"),
        mulDims(height, block),
        mulDims(width, block),
      ]),
    ],
  },
  {
    domain: "",
    type: "SpaceToDepth",
    infer: (context: OpContext) => [
      rearranged(context, ([batch, channels, height, width], block) => [
        batch,
        mulDims(channels, block * block),
        divided(height, block, "height"),
        divided(width, block, "width"),
      ]),
    ],
  },
].map(defineOp);

type Image = readonly [Dim, Dim, Dim, Dim];

function rearranged(context: OpContext, sizesOf: (image: Image, block: number) => Shape) {
  const { dtype, shape } = tensorAt(context, 0);
  const block = requiredInt(context, "blocksize");
  if (block < 1) throw new ShapeError(`blocksize ${block} is not positive`);
  if (shape === undefined) return tensor(dtype, unknownShape(4));
  const [batch, channels, height, width, ...more] = shape;
  if (
    batch === undefined ||
    channels === undefined ||
    height === undefined ||
    width === undefined ||
    more.length
  ) {
    throw new ShapeError(`${context.node.opType} of a tensor of rank ${shape.length}, not 4`);
  }
  return tensor(dtype, sizesOf([batch, channels, height, width], block));
}

function divided(dim: Dim, by: number, what: string): Dim {
  if (typeof dim === "number" && dim % by !== 0)
    throw new ShapeError(`${what} of ${dim} do not divide by ${by}`);
  return floorDivDims(dim, by);
}
