/** @file Operators on strings. */

import { type Dim, unknownDim } from "../../ir/dim.ts";
import { textOf } from "../../ir/message.ts";
import { defineOp, type OpContext, type OpDefinition, ShapeError } from "../op.ts";
import { broadcast, tensor, tensorAt } from "../shape.ts";
import { computed } from "../traits.ts";

/** Strings [C] or [1, C]: stop words are dropped, so fewer may be left. */
const stringNormalizer = defineOp({
  domain: "",
  type: "StringNormalizer",
  traits: computed,
  infer(context) {
    const { shape } = tensorAt(context, 0);
    const drops = (context.strings("stopwords")?.length ?? 0) > 0;
    if (shape !== undefined && (shape.length === 0 || shape.length > 2)) {
      throw new ShapeError(textOf`the input has rank ${shape.length}, expected 1 or 2`);
    }
    return [tensor("string", drops ? shape && [...shape.slice(0, -1), unknownDim()] : shape)];
  },
});

/** Tokens [C] or [N, C] to n-gram weights [G] or [N, G]. */
const tfIdfVectorizer = defineOp({
  domain: "",
  type: "TfIdfVectorizer",
  traits: computed,
  infer(context) {
    const { shape } = tensorAt(context, 0);
    return [tensor("float32", shape && [...shape.slice(0, -1), ngramCount(context)])];
  },
});

function ngramCount(context: OpContext): Dim {
  const indexes = context.ints("ngram_indexes");
  return indexes === undefined || indexes.length === 0
    ? unknownDim()
    : indexes.reduce((most, index) => Math.max(most, index)) + 1;
}

const regexFullMatch = defineOp({
  domain: "",
  type: "RegexFullMatch",
  traits: computed,
  infer: (context) => [tensor("bool", tensorAt(context, 0).shape)],
});

const stringConcat = defineOp({
  domain: "",
  type: "StringConcat",
  traits: computed,
  infer: (context) => [tensor("string", broadcast(tensorAt(context, 0).shape, tensorAt(context, 1).shape))],
});

/** Each string to its parts on a new last axis, as long as the longest list; and how many parts it has. */
const stringSplit = defineOp({
  domain: "",
  type: "StringSplit",
  traits: computed,
  infer(context) {
    const { shape } = tensorAt(context, 0);
    return [tensor("string", shape && [...shape, unknownDim()]), tensor("int64", shape)];
  },
});

export const textOps: readonly OpDefinition[] = [
  stringNormalizer,
  tfIdfVectorizer,
  regexFullMatch,
  stringConcat,
  stringSplit,
];
