import type { OpDefinition } from "../op.ts";

export const controlOps: readonly OpDefinition[] = [];
