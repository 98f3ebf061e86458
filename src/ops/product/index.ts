import type { OpDefinition } from "../op.ts";

export const productOps: readonly OpDefinition[] = [];
