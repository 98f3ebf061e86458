/** @file All operators that are products of matrices. */
import type { LowerTable } from "./context.ts";
import { bitsLowerings } from "./product-bits.ts";
import { einsumLowerings } from "./product-einsum.ts";
import { integerProductLowerings } from "./product-integer.ts";
import { matMulLowerings } from "./product-matmul.ts";

export const productLowerings: LowerTable = {
  ...matMulLowerings,
  ...einsumLowerings,
  ...integerProductLowerings,
  ...bitsLowerings,
};
