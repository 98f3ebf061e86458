import type { OpDefinition } from "../op.ts";
import { classicOps } from "./classic.ts";
import { foundOps } from "./found.ts";
import { fourierOps } from "./fourier.ts";
import { imageOps } from "./image.ts";
import { lossOps } from "./loss.ts";
import { matrixOps } from "./matrix.ts";
import { randomOps } from "./random.ts";
import { textOps } from "./text.ts";
import { trainingOps } from "./training.ts";

export const miscOps: readonly OpDefinition[] = [
  ...foundOps,
  ...matrixOps,
  ...randomOps,
  ...fourierOps,
  ...imageOps,
  ...lossOps,
  ...textOps,
  ...trainingOps,
  ...classicOps,
];
