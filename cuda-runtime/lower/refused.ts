/** @file Operators that no plan can hold, each with the reason. */
import type { Lower, LowerTable } from "./context.ts";

function refused(reason: string): Lower {
  return (context) => context.fail(reason);
}

const random = refused("draws random numbers: no two runs compute the same");
const dataSized = refused("the size of its output depends on data, and has to be known while planning");

export const refusedLowerings: LowerTable = {
  Bernoulli: random,
  Multinomial: random,
  RandomNormal: random,
  RandomNormalLike: random,
  RandomUniform: random,
  RandomUniformLike: random,
  NonMaxSuppression: dataSized,
  "com.microsoft::Unique": dataSized,
};
