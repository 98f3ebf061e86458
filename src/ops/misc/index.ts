import type { OpDefinition } from "../op.ts";

export const miscOps: readonly OpDefinition[] = [];
