import type { OpDefinition } from "../op.ts";

export const poolingOps: readonly OpDefinition[] = [];
