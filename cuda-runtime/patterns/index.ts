/** @file All recognisers, the more specific first. */

import { recogniseAttention } from "./attention.ts";
import { recogniseChannelShuffle } from "./channel-shuffle.ts";
import { recogniseCodePool } from "./code-pool.ts";
import { recogniseGroupNorm } from "./group-norm.ts";
import type { Recogniser } from "./macro.ts";
import { recogniseResample } from "./resample.ts";
import { recogniseRoll } from "./roll.ts";
import { recogniseRotation } from "./rotation.ts";
import { recogniseRowNorm } from "./row-norm.ts";

export const recognisers: readonly Recogniser[] = [
  recogniseAttention,
  recogniseGroupNorm,
  recogniseRowNorm,
  recogniseRotation,
  recogniseRoll,
  recogniseChannelShuffle,
  recogniseResample,
  recogniseCodePool,
];
