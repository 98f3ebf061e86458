import type { OpDefinition } from "../op.ts";

export const normalizationOps: readonly OpDefinition[] = [];
