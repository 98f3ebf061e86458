import type { OpDefinition } from "../op.ts";

export const movementOps: readonly OpDefinition[] = [];
