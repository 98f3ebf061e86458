/** @file Operators on sequences and optionals. */
import type { OpDefinition } from "../op.ts";
import { concatFromSequence } from "./concat-from-sequence.ts";
import { optionalOps } from "./optional.ts";
import { basicSequenceOps } from "./sequence.ts";
import { sequenceMap } from "./sequence-map.ts";
import { splitToSequence } from "./split-to-sequence.ts";

export const sequenceOps: readonly OpDefinition[] = [
  ...basicSequenceOps,
  splitToSequence,
  concatFromSequence,
  sequenceMap,
  ...optionalOps,
];
