/** @file Operators that move, select or repeat elements, or only rename their shape. */
import type { OpDefinition } from "../op.ts";
import { centerCropPad } from "./center-crop-pad.ts";
import { compress } from "./compress.ts";
import { concat } from "./concat.ts";
import { constant } from "./constant.ts";
import { constantOfShape } from "./constant-of-shape.ts";
import { depthSpaceOps } from "./depth-space.ts";
import { expand } from "./expand.ts";
import { flatten } from "./flatten.ts";
import { gather } from "./gather.ts";
import { gatherElements } from "./gather-elements.ts";
import { gatherND } from "./gather-nd.ts";
import { oneHot } from "./one-hot.ts";
import { pad } from "./pad.ts";
import { range } from "./range.ts";
import { reshape } from "./reshape.ts";
import { resize, upsample } from "./resize.ts";
import { sameShapeOps } from "./same-shape.ts";
import { scatterOps } from "./scatter.ts";
import { shapeOf, sizeOfTensor } from "./shape-of.ts";
import { slice } from "./slice.ts";
import { split } from "./split.ts";
import { squeeze, unsqueeze } from "./squeeze.ts";
import { tile } from "./tile.ts";
import { transpose } from "./transpose.ts";
import { trilu } from "./trilu.ts";

export const movementOps: readonly OpDefinition[] = [
  shapeOf,
  sizeOfTensor,
  constant,
  constantOfShape,
  range,
  reshape,
  flatten,
  squeeze,
  unsqueeze,
  transpose,
  concat,
  split,
  slice,
  gather,
  gatherElements,
  gatherND,
  ...scatterOps,
  ...sameShapeOps,
  pad,
  centerCropPad,
  expand,
  tile,
  trilu,
  compress,
  oneHot,
  ...depthSpaceOps,
  resize,
  upsample,
];
