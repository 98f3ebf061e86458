import type { OpDefinition } from "../op.ts";
import { globalPools } from "./global.ts";
import { maxRoiPool, roiAlign } from "./regions-of-interest.ts";
import { maxUnpool } from "./unpool.ts";
import { windowedPools } from "./windowed.ts";

export const poolingOps: readonly OpDefinition[] = [
  ...windowedPools,
  ...globalPools,
  maxUnpool,
  roiAlign,
  maxRoiPool,
];
