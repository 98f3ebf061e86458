import type { OpDefinition } from "../op.ts";

export const reductionOps: readonly OpDefinition[] = [];
