import type { OpDefinition } from "../op.ts";

export const quantizationOps: readonly OpDefinition[] = [];
