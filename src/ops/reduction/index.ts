import type { OpDefinition } from "../op.ts";
import { argOps, topK } from "./arg.ts";
import { cumulativeOps } from "./cumulative.ts";
import { reduceOps } from "./reduce.ts";
import { softmaxOps } from "./softmax.ts";

export const reductionOps: readonly OpDefinition[] = [
  ...reduceOps,
  ...argOps,
  topK,
  ...softmaxOps,
  ...cumulativeOps,
];
