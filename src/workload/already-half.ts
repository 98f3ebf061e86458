/** @file A file that half precision would leave as it is: its products are stored in half, and what it keeps in FP32 beside them stays so. */
import { computeDtype, isOfBytes } from "../cost/precision.ts";
import type { Product } from "../facts/products.ts";
import type { Target } from "../hardware/target.ts";
import { isHalf } from "./account.ts";

/**
 * The target, in the types that the file stores where there is nothing to bring to the half that it asks for. Products of codes are neither way:
 * no precision changes them.
 */
export function asBroughtToHalf(
  target: Target,
  products: readonly Pick<Product, "work" | "codes">[],
): Target {
  const { precision } = target;
  if (!isHalf(precision)) return target;
  const formats = products
    .filter(({ codes }) => codes === undefined)
    .map(({ work }) => computeDtype(work.dtype, "as-is"))
    .filter((format) => !isOfBytes(format));
  const isDone = formats.length > 0 && formats.every((format) => format === precision);
  return isDone ? { ...target, precision: "as-is" } : target;
}
