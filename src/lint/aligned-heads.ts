/** @file Heads at the multiple that fused attention kernels take: one answer for all who tell of it. */
import type { Stack } from "../hardware/stacks.ts";
import type { AttentionWork } from "./context.ts";
import { alignUp } from "./padding-sizes.ts";

/** The same attention with padded heads; undefined where they are at the multiple. */
export function alignedHeads(
  work: AttentionWork<number>,
  { attention: { headDimMultiple: multiple } }: Pick<Stack, "attention">,
): AttentionWork<number> | undefined {
  const { headDim, valueHeadDim } = work;
  if (headDim % multiple === 0 && valueHeadDim % multiple === 0) return undefined;
  return { ...work, headDim: alignUp(headDim, multiple), valueHeadDim: alignUp(valueHeadDim, multiple) };
}
