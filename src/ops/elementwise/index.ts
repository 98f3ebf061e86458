import type { OpDefinition } from "../op.ts";

export const elementwiseOps: readonly OpDefinition[] = [];
