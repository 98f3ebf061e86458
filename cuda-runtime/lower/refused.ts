/** @file Operators that no plan can hold, each with the reason. */
import type { LowerTable } from "./context.ts";

const random = "draws random numbers, which no two runs share";
const found = "gives as many elements as it finds in the data: sizes have to be known while planning";

export const refusedLowerings: LowerTable = {
  ...failing(random, [
    "Bernoulli",
    "Multinomial",
    "RandomNormal",
    "RandomNormalLike",
    "RandomUniform",
    "RandomUniformLike",
  ]),
  ...failing(found, ["NonMaxSuppression", "com.microsoft::Unique"]),
};

function failing(reason: string, operators: readonly string[]): LowerTable {
  return Object.fromEntries(operators.map((operator) => [operator, (context) => context.fail(reason)]));
}
