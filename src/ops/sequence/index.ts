/** @file Operators on sequences, optionals and dictionaries. */
import type { OpDefinition } from "../op.ts";
import { concatFromSequence } from "./concat-from-sequence.ts";
import { mapOps } from "./maps.ts";
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
  ...mapOps,
];
