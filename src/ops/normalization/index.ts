import type { OpDefinition } from "../op.ts";
import { localResponseNormalization, lpNormalization, meanVarianceNormalization } from "./axes.ts";
import { batchNormalization } from "./batch.ts";
import { groupNormalization, instanceNormalization, layerNormalization, rmsNormalization } from "./rows.ts";

export const normalizationOps: readonly OpDefinition[] = [
  batchNormalization,
  instanceNormalization,
  groupNormalization,
  layerNormalization,
  rmsNormalization,
  lpNormalization,
  meanVarianceNormalization,
  localResponseNormalization,
];
