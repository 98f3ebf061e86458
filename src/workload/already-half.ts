/** @file A file that half precision would leave as it is: its products are stored in half, and what it keeps in FP32 beside them stays so. */
import { computeDtype, isOfBytes } from "../cost/precision.ts";
import type { Facts } from "../facts/infer.ts";
import type { Product } from "../facts/products.ts";
import type { ComputeType, Target } from "../hardware/target.ts";
import { isFloat } from "../ir/dtype.ts";
import { isHalf } from "../ir/fix-command.ts";

/** Of the products' time: what half would still save of those that a file keeps in FP32 (a head of one row); Casts to them take more. */
const leastLeft = 0.005;

/**
 * The target, in the types that the file stores where there is nothing to bring to the half that it asks for: its products are in half, either
 * one, for no fix makes one of the other. Products of codes and those in FP64 are neither way: no precision changes them. Without a product it is what is computed
 * at all (`storedIn`). `timeOf` is what a product takes on a target.
 */
export function asBroughtToHalf<P extends Pick<Product, "work" | "codes">>(
  target: Target,
  products: readonly P[],
  timeOf: (product: P, on: Target) => number,
  storedIn: () => ReadonlySet<ComputeType>,
): Target {
  if (!isHalf(target.precision)) return target;
  if (products.length === 0) return isOfHalfAlone(storedIn()) ? asStoredTarget(target) : target;
  const floats = products
    .filter(({ codes }) => codes === undefined)
    .map((product) => ({ product, format: computeDtype(product.work.dtype, "as-is") }))
    .filter(({ format }) => format !== "fp64" && !isOfBytes(format));
  const kept = floats.filter(({ format }) => format !== "fp16" && format !== "bf16");
  if (kept.length === floats.length) return target;
  const stored = asStoredTarget(target);
  if (kept.length === 0) return stored;
  const total = (of: typeof floats, on: Target) =>
    of.reduce((sum, { product }) => sum + timeOf(product, on), 0);
  const left = total(kept, stored) - total(kept, target);
  return left < leastLeft * total(floats, stored) ? stored : target;
}

export function asStoredTarget(target: Target): Target {
  return { ...target, precision: "as-is" };
}

/** Formats of all floats that are given or computed; those of subgraphs and functions with them. */
export function floatsOf(facts: Facts): ReadonlySet<ComputeType> {
  const formats = new Set<ComputeType>();
  for (const scope of facts.scopes()) {
    for (const value of [...scope.graph.inputs, ...scope.graph.nodes.flatMap(({ outputs }) => outputs)]) {
      const fact = value === undefined ? undefined : scope.fact(value);
      if (fact?.kind === "tensor" && fact.dtype !== undefined && isFloat(fact.dtype))
        formats.add(computeDtype(fact.dtype, "as-is"));
    }
  }
  return formats;
}

function isOfHalfAlone(formats: ReadonlySet<ComputeType>): boolean {
  return formats.size > 0 && [...formats].every((format) => format === "fp16" || format === "bf16");
}
