/** @file DepthToSpace and SpaceToDepth: blocks of b × b pixels from channels, and back. NCHW. */

import { type Dim, floorDivDims, mulDims, type Shape } from "../../ir/dim.ts";
import { textOf } from "../../ir/message.ts";
import type { AxisContext } from "../axes.ts";
import { keepLane } from "../lanes.ts";
import { defineOp, type OpContext, type OpDefinition, ShapeError } from "../op.ts";
import { tensor, tensorAt, unknownShape } from "../shape.ts";
import { half, type Traits } from "../traits.ts";
import { requiredInt } from "./elements.ts";

const traits: Traits = {
  elements: "permuted",
  half: half(1, 13),
  layout: "channels",
  turnsToNhwc: true,
  sameSince: 7,
  scale: "first",
};

export const depthSpaceOps: readonly OpDefinition[] = [
  {
    domain: "",
    type: "DepthToSpace",
    traits,
    infer: (context: OpContext) => [
      rearranged(context, ([batch, channels, height, width], block) => [
        batch,
        divided(channels, block * block, "channels"),
        mulDims(height, block),
        mulDims(width, block),
      ]),
    ],
    axes: depthToSpaceAxes,
    lanes: keepLane,
  },
  {
    domain: "",
    type: "SpaceToDepth",
    traits,
    infer: (context: OpContext) => [
      rearranged(context, ([batch, channels, height, width], block) => [
        batch,
        mulDims(channels, block * block),
        divided(height, block, "height"),
        divided(width, block, "width"),
      ]),
    ],
    axes: spaceToDepthAxes,
    lanes: keepLane,
  },
].map(defineOp);

const notApart = "moves blocks of it";

/** C = b × b × C' (DCR) or C' × b × b (CRD); the blocks' own axes stay. */
function depthToSpaceAxes(context: AxisContext): void {
  const { solver } = context;
  const [batch, channels, height, width] = context.axesOf(0) ?? [];
  const block = requiredInt(context, "blocksize");
  const sizes = context.sizesOf(0);
  const area = block * block;
  const isDepthFirst = (context.string("mode") ?? "DCR") === "DCR";
  const outer = isDepthFirst ? area : (sizes?.[1] ?? 0);
  const parts = channels === undefined ? undefined : solver.split(channels, outer);
  const blocks = parts === undefined ? undefined : solver.split(parts[isDepthFirst ? 0 : 1], block);
  if (batch === undefined || height === undefined || width === undefined || !parts || !blocks) {
    return context.blockAll(notApart);
  }
  for (const axis of blocks) context.block(axis, notApart);
  const kept = parts[isDepthFirst ? 1 : 0];
  context.setAxes(0, [batch, kept, solver.product([height, blocks[0]]), solver.product([width, blocks[1]])]);
}

/** Blocks of positions become the outer channels. */
function spaceToDepthAxes(context: AxisContext): void {
  const { solver } = context;
  const [batch, channels, height, width] = context.axesOf(0) ?? [];
  const [, , rows, columns] = context.sizesOf(0) ?? [];
  const [down, across] = [
    height && rows ? solver.split(height, rows) : undefined,
    width && columns ? solver.split(width, columns) : undefined,
  ];
  if (batch === undefined || channels === undefined || down === undefined || across === undefined) {
    return context.blockAll(notApart);
  }
  for (const axis of [down[1], across[1]]) context.block(axis, notApart);
  context.setAxes(0, [batch, solver.product([down[1], across[1], channels]), down[0], across[0]]);
}

type Image = readonly [Dim, Dim, Dim, Dim];

function rearranged(context: OpContext, sizesOf: (image: Image, block: number) => Shape) {
  const { dtype, shape } = tensorAt(context, 0);
  const block = requiredInt(context, "blocksize");
  if (block < 1) throw new ShapeError(textOf`blocksize ${block} is not positive`);
  if (shape === undefined) return tensor(dtype, unknownShape(4));
  const [batch, channels, height, width, ...more] = shape;
  if (
    batch === undefined ||
    channels === undefined ||
    height === undefined ||
    width === undefined ||
    more.length
  ) {
    throw new ShapeError(textOf`input 0 has rank ${shape.length}, expected 4`);
  }
  return tensor(dtype, sizesOf([batch, channels, height, width], block));
}

function divided(dim: Dim, by: number, what: string): Dim {
  if (typeof dim === "number" && dim % by !== 0)
    throw new ShapeError(textOf`${what} of ${dim} do not divide by ${by}`);
  return floorDivDims(dim, by);
}
