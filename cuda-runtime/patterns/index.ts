/** @file All recognisers, the more specific first. */
import type { Recogniser } from "../plan/lowering.ts";

export const recognisers: readonly Recogniser[] = [];
