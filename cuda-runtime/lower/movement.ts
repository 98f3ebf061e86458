/** @file Operators that move, select, repeat or resample elements. */
import type { LowerTable } from "./context.ts";
import { gatherLowerings } from "./movement-gather.ts";
import { imageLowerings } from "./movement-image.ts";
import { joinLowerings } from "./movement-join.ts";
import { resizeLowerings } from "./movement-resize.ts";
import { scatterLowerings } from "./movement-scatter.ts";
import { viewLowerings } from "./movement-views.ts";
import { nonZeroLowerings } from "./nonzero.ts";

export const movementLowerings: LowerTable = {
  ...viewLowerings,
  ...joinLowerings,
  ...gatherLowerings,
  ...scatterLowerings,
  ...resizeLowerings,
  ...imageLowerings,
  ...nonZeroLowerings,
};
