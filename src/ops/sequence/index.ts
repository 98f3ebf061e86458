import type { OpDefinition } from "../op.ts";

export const sequenceOps: readonly OpDefinition[] = [];
