import type { OpDefinition } from "../op.ts";

export const microsoftOps: readonly OpDefinition[] = [];
