/** @file Heads of attention that runs as the products it is written as, off the multiple of their format. */
import type { GemmWork } from "../ops/work.ts";
import type { CostedProduct, LintContext, Saving } from "./context.ts";
import { scale } from "./context.ts";
import { formatNames, isQuantized } from "./formats.ts";
import { alignUp } from "./padding-sizes.ts";
import { type WrittenAttention, writtenAttention } from "./written-attention.ts";

export interface HeadsOffMultiple {
  /** The product of queries and keys. */
  readonly at: CostedProduct;
  /** Both products. */
  readonly covers: readonly CostedProduct[];
  readonly headDim: number;
  readonly heads: number;
  readonly multiple: number;
  readonly padded: number;
  readonly format: string;
  readonly saves: Saving;
}

/** Both products' part of what padding saves; copies of heads around them take a little longer, which the decision knows. */
export function headsOffMultiple(context: LintContext): HeadsOffMultiple[] {
  // To look for attention takes longer than to see that there can be none.
  if (!context.products.some((product) => mayHaveHeads(product, context))) return [];
  return writtenAttention(context).flatMap((attention) => offMultiple(attention, context) ?? []);
}

function mayHaveHeads({ sizes, weight }: CostedProduct, context: LintContext): boolean {
  if (sizes.kind !== "gemm" || weight !== undefined || isQuantized(sizes.dtype)) return false;
  return sizes.k % context.alignment(sizes.dtype) !== 0;
}

function offMultiple(
  { node, work: { headDim, valueHeadDim, heads }, steps, runs }: WrittenAttention,
  context: LintContext,
): HeadsOffMultiple | undefined {
  const products = steps.flatMap(({ product }) => product ?? []);
  const scores = products.find((product) => product.node === node);
  const mixed = products.find((product) => product !== scores);
  if (scores === undefined || mixed === undefined || products.length !== 2) return undefined;
  const [before, after] = [scores.sizes, mixed.sizes];
  if (before.kind !== "gemm" || after.kind !== "gemm" || isQuantized(before.dtype)) return undefined;
  const multiple = context.alignment(before.dtype);
  // Written the other way about, other axes hold them.
  if (before.k !== headDim || after.n !== valueHeadDim || headDim % multiple === 0) return undefined;
  const { decision } = context;
  const decided = decision?.paddedOf<GemmWork<number>>(scores, "gemm")?.work.k;
  const isDecided = decided !== undefined && decided !== headDim;
  const padded = isDecided ? decided : alignUp(headDim, multiple);
  const both = [
    { ...before, k: padded },
    { ...after, n: alignUp(valueHeadDim, multiple) },
  ];
  const covers = [scores, mixed];
  const saves =
    (isDecided ? decision?.savingOver(covers) : undefined) ??
    scale(context.savingOf([before, after], both), runs * context.measure(covers));
  const format = formatNames[context.computeType(before.dtype)];
  return { at: scores, covers, headDim, heads, multiple, padded, format, saves };
}
