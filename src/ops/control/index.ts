import type { OpDefinition } from "../op.ts";
import { ifOp } from "./if.ts";
import { loopOp } from "./loop.ts";
import { scanOp } from "./scan.ts";

export const controlOps: readonly OpDefinition[] = [ifOp, loopOp, scanOp];
