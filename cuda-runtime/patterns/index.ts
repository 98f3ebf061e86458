/** @file All recognisers, the more specific first. */
import type { Recogniser } from "../plan/lowering.ts";
import { recogniseAttention } from "./attention.ts";
import { recogniseGroupNorm } from "./group-norm.ts";
import { recogniseRowNorm } from "./row-norm.ts";

export const recognisers: readonly Recogniser[] = [recogniseAttention, recogniseGroupNorm, recogniseRowNorm];
