import type { OpDefinition } from "../op.ts";
import { arithmeticOps } from "./arithmetic.ts";
import { bitCast, cast, castLike } from "./cast.ts";
import { prelu, swiglu } from "./gated.ts";
import { logicOps } from "./logic.ts";
import { clip, dropout, identity, where } from "./select.ts";
import { unaryOps } from "./unary.ts";

export const elementwiseOps: readonly OpDefinition[] = [
  ...unaryOps,
  ...arithmeticOps,
  ...logicOps,
  cast,
  castLike,
  bitCast,
  where,
  clip,
  identity,
  dropout,
  prelu,
  swiglu,
];
